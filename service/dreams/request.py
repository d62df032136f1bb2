"""Asking for a dream."""

from collections.abc import Collection
from typing import Any

from db.errors import NeedsModel
from db.jobs import jobs
from db.pool import Transaction
from service.resources import Resources


async def request_dream(tx: Transaction, resources: Resources, *, passes: Collection[str] | None, dry_run: bool) -> dict[str, Any]:
    """Make the job, or find the one that asks for the same and waits: (job_id, created). Raises NeedsModel."""
    if resources.model is None:
        raise NeedsModel
    named = sorted(set(passes or ()))
    arguments = {"passes": named or None, "dry_run": dry_run}
    key = f"{','.join(named) or 'all'}{' dry' if dry_run else ''}"
    made = await jobs.enqueue_job(tx, kind="dream", arguments=arguments, key=key, turn="dream")
    return {"job_id": made["id"], "created": made["created"]}
