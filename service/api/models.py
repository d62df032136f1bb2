"""Calls of language models, and the budget of a day for them (row L5)."""

from datetime import date
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response

from db import model_calls
from loci.models.fields import Label
from loci.models.models import ModelCallPage, ModelUsage
from service.api.common import Limit, problems
from service.caller import CallerDependency
from service.replies import page, reply

router = APIRouter(tags=["models"])


@router.get("/model-calls", response_model=ModelCallPage, responses=problems(404))
async def list_model_calls(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Annotated[UUID | None, Query(description="`next_cursor` of the page before")] = None,
    purpose: Annotated[Label | None, Query(description="Such as memories or retain")] = None,
    job_id: Annotated[UUID | None, Query(description="Of this job")] = None,
) -> Response:
    """List calls of the language model, newest first: what for, tokens, cost and time. Kept for the setting job_days."""
    rows = await caller.read(
        lambda tx: model_calls.list_model_calls(tx, limit=limit + 1, cursor=cursor, purpose=purpose, job_id=job_id)
    )
    return page(rows, limit, "id")


@router.get("/model-usage", response_model=ModelUsage, responses=problems(404))
async def model_usage(
    caller: CallerDependency, day: Annotated[date | None, Query(description="Of this day (UTC); default: today")] = None
) -> Response:
    """Show what calls of the language model have used on a day, and what is left of its budget."""
    return reply(await caller.read(lambda tx: model_calls.model_usage(tx, day=day)))
