"""What stands above and under a memory."""

from fastapi import APIRouter
from fastapi.responses import Response

from db import hierarchy
from loci.models.hierarchy import PlacedPage
from service.http.caller import CallerDependency
from service.http.parameters import AsOf, Cursor, KnownAt, Limit, MemoryId
from service.http.replies import page, reply, without_cursor
from service.http.responses import problems

router = APIRouter(tags=["memories"])


@router.get("/memories/{id}/subtree", response_model=PlacedPage, responses=problems(404))
async def memory_subtree(
    id: MemoryId, caller: CallerDependency, limit: Limit = 100, cursor: Cursor = None, as_of: AsOf = None, known_at: KnownAt = None
) -> Response:
    """Memories under this one, nearest first, with their depth."""
    rows = await caller.read(
        lambda tx: hierarchy.subtree(tx, id=id, limit=limit + 1, cursor=cursor, as_of=as_of, known_at=known_at)
    )
    return page(rows, limit, "position")


@router.get("/memories/{id}/ancestors", response_model=PlacedPage, responses=problems(404))
async def memory_ancestors(id: MemoryId, caller: CallerDependency, as_of: AsOf = None, known_at: KnownAt = None) -> Response:
    """Memories above this one, nearest first, with their depth."""
    rows = await caller.read(lambda tx: hierarchy.ancestors(tx, id=id, as_of=as_of, known_at=known_at))
    return reply({"items": [without_cursor(row) for row in rows], "next_cursor": None})
