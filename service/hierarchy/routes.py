"""Memories above and under a memory."""

from fastapi.responses import Response

from loci.models.hierarchy import PlacedPage
from service.hierarchy import hierarchy
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import AsOf, Cursor, KnownAt, Limit, MemoryId

router = Router(tags=["memories"])


@router.get("/memories/{id}/subtree", response_model=PlacedPage, responses=document_problems(404))
async def memory_subtree(
    id: MemoryId, caller: CallerDependency, limit: Limit = 100, cursor: Cursor = None, as_of: AsOf = None, known_at: KnownAt = None
) -> Response:
    """Memories under this one, nearest first, with their depth."""
    return reply_json(
        await caller.read(lambda tx: hierarchy.subtree(tx, id=id, limit=limit, cursor=cursor, as_of=as_of, known_at=known_at))
    )


@router.get("/memories/{id}/ancestors", response_model=PlacedPage, responses=document_problems(404))
async def memory_ancestors(id: MemoryId, caller: CallerDependency, as_of: AsOf = None, known_at: KnownAt = None) -> Response:
    """Memories above this one, nearest first, with their depth."""
    return reply_json(await caller.read(lambda tx: hierarchy.ancestors(tx, id=id, as_of=as_of, known_at=known_at)))
