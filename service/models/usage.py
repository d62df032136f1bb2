"""Calls of language models that were made, and what is left of the day's budget."""

from datetime import date
from uuid import UUID

from db.models import calls
from db.models.calls import ModelCallRow, ModelUsageRow
from db.pool import Transaction
from service.paging import Page, make_page


async def list_model_calls(
    tx: Transaction, *, limit: int, cursor: UUID | None = None, purpose: str | None = None, job_id: UUID | None = None
) -> Page[ModelCallRow]:
    """Calls of models, newest first."""
    rows = await calls.list_model_calls(tx, limit=limit + 1, cursor=cursor, purpose=purpose, job_id=job_id)
    return make_page(rows, limit, "id")


async def model_usage(tx: Transaction, *, day: date | None) -> ModelUsageRow:
    """Use of models on a day (UTC; None: today), and the rest of its budget."""
    return await calls.model_usage(tx, day=day)
