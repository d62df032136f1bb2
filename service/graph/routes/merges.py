"""Entities that are the same: merges, splits, duplicates."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from db.graph import entities, merges
from db.pool import Transaction
from loci.models.fields import Text
from loci.models.graph import (
    Duplicates,
    DuplicatesInput,
    EntitiesFound,
    EntityMerged,
    EntitySearch,
    MergeInput,
    MergePage,
    SplitInput,
    Undone,
)
from service.embedding.active import embed_question, find_active_model
from service.http.caller import CallerDependency, with_retries
from service.http.parameters import Cursor, EntityRef, Limit
from service.http.replies import page, reply
from service.http.responses import problems

router = APIRouter(tags=["entities"])


@router.post("/entities/search", response_model=EntitiesFound, responses=problems())
async def search_entities(body: EntitySearch, caller: CallerDependency) -> Response:
    """Find entities by name (exact, alias, beginning, words, a wrong letter), by meaning, or by both; without a model by name."""

    async def work(tx: Transaction) -> dict[str, Any]:
        embedding, reason, model = body.embedding, None, None
        if embedding is None and body.mode != "name":
            used = await find_active_model(caller.state.provider, tx)
            vector, reason = await embed_question(body.query, used, caller.state.settings.embedding)
            embedding, model = None if vector is None else vector.tolist(), used.model
        mode = "name" if reason is not None else body.mode
        rows = await entities.search_entities(
            tx, query=body.query, embedding=embedding, limit=body.k, type=body.type, mode=mode, model=model
        )
        return {"entities": rows, "skipped": {"semantic": reason} if reason is not None else {}}

    return reply(await with_retries(lambda: caller.read(work)))  # the model may be changed between two statements


@router.post("/entities/merge-duplicates", response_model=Duplicates, responses=problems())
async def merge_duplicates(body: DuplicatesInput, caller: CallerDependency) -> Response:
    """Merge entities whose names differ in spelling only; with `dry_run` say which, and which others mean the same."""

    async def work(tx: Transaction) -> Any:
        return {"items": await merges.merge_duplicate_entities(tx, dry_run=body.dry_run, limit=body.limit)}

    return await caller.write(work)


@router.post("/entities/{ref:path}/merge", response_model=EntityMerged, responses=problems(404, 409))
async def merge_entities(ref: EntityRef, body: MergeInput, caller: CallerDependency) -> Response:
    """Make one entity of two: the other's names, edges, mentions and aspects go to this one. `merge_id` undoes it."""

    async def work(tx: Transaction) -> Any:
        done = await merges.merge_entities(tx, into=ref, other=body.other, reason=body.reason)
        return {**await entities.get_entity(tx, ref=str(done["id"])), "merge_id": done["merge_id"]}

    return await caller.write(work)


@router.post("/entities/{ref:path}/split", status_code=201, response_model=EntityMerged, responses=problems(404, 409))
async def split_entity(ref: EntityRef, body: SplitInput, caller: CallerDependency) -> Response:
    """Make a new entity of a part of one: edges, mentions, aspects and aliases that are its own. `merge_id` undoes it."""

    async def work(tx: Transaction) -> Any:
        done = await merges.split_entity(tx, ref=ref, split=body.stated())
        return {**await entities.get_entity(tx, ref=str(done["id"])), "merge_id": done["merge_id"]}

    return await caller.write(work, status=201)


@router.get("/merges", response_model=MergePage, responses=problems(404))
async def list_merges(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    entity: Annotated[Text | None, Query(description="Merges and splits of this entity: id, name or alias")] = None,
) -> Response:
    """Merges and splits of the namespace, or of an entity, newest first; undone ones too."""
    rows = await caller.read(lambda tx: merges.list_merges(tx, entity=entity, limit=limit + 1, cursor=cursor))
    return page(rows, limit)


@router.post("/merges/{id}/undo", response_model=Undone, responses=problems(404, 409))
async def undo_merge(id: Annotated[UUID, Path(description="Id of the merge or split")], caller: CallerDependency) -> Response:
    """Undo a merge, or a split. What was written to the kept entity since stays with it."""
    return await caller.write(lambda tx: merges.undo_merge(tx, id=id))
