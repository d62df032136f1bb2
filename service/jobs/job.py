"""A job that was begun, and why one is put off."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from db.jobs import jobs
from db.pool import Transaction
from service.resources import Resources

MENDED_AFTER = timedelta(minutes=10)  # the operator may mend the endpoint, of which no setting tells


@dataclass(frozen=True)
class Job:
    """A job that was begun. `settings` are those of its namespace."""

    namespace_id: int
    id: UUID
    namespace: str
    kind: str
    arguments: dict[str, Any]
    tries: int
    failures: int
    postponed: int
    agent_id: UUID | None
    created_at: datetime
    settings: dict[str, Any]

    @asynccontextmanager
    async def hold_alone(self, resources: Resources, action: str, *, operation_id: str | None = None) -> AsyncIterator[Transaction]:
        """A transaction that does the work of a job, which nobody else does meanwhile. Raises JobOver, also if others have it."""
        async with resources.transaction(action, self.namespace, "admin", operation_id=operation_id) as tx:
            await jobs.lock_job(tx, id=self.id, tries=self.tries)
            yield tx


class Postponed(Exception):
    """The job cannot be done now; `at`: when to try again; None: after the pause for busy namespaces. It has not failed."""

    def __init__(self, reason: str, at: datetime | None = None) -> None:
        super().__init__(reason)
        self.at = at


class Refused(Postponed):
    """The job cannot be done before the operator has mended something. It goes on when the settings are others, or in a while."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, datetime.now(UTC) + MENDED_AFTER)
