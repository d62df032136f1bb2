"""Reports of passes: what each saw, proposed, refused and by which guard, and applied."""

from uuid import UUID

from db import dreams
from db.dreams import PassRow
from db.pool import Transaction
from service.paging import Page, make_page


async def list_passes(tx: Transaction, *, limit: int, cursor: UUID | None, name: str | None, job_id: UUID | None) -> Page[PassRow]:
    """Reports, newest first."""
    return make_page(await dreams.list_passes(tx, limit=limit + 1, cursor=cursor, name=name, job_id=job_id), limit, "id")
