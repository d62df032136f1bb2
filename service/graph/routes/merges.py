"""Entities that are the same: merges, splits, duplicates."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from fastapi.responses import Response

from loci.models.fields import Text
from loci.models.graph import (
    Duplicates,
    DuplicatesInput,
    EntityMerged,
    MergeInput,
    MergePage,
    SplitInput,
    UndoMergeInput,
    Undone,
)
from service.graph import merges
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import Cursor, EntityRef, Limit

router = Router(tags=["entities"])


@router.post("/entities/merge-duplicates", response_model=Duplicates, responses=document_problems())
async def merge_duplicate_entities(body: DuplicatesInput, caller: CallerDependency) -> Response:
    """Merge entities whose names differ in spelling only; with `dry_run` say which, and which others mean the same."""
    return await caller.write(lambda tx: merges.merge_duplicate_entities(tx, dry_run=body.dry_run, limit=body.limit))


@router.post("/entities/{ref:path}/merge", response_model=EntityMerged, responses=document_problems(404, 409))
async def merge_entities(ref: EntityRef, body: MergeInput, caller: CallerDependency) -> Response:
    """Make one entity of two: the other's names, edges, mentions and aspects go to this one. `merge_id` undoes it."""
    return await caller.write(lambda tx: merges.merge_entities(tx, into=ref, other=body.other, reason=body.reason))


@router.post("/entities/{ref:path}/split", status_code=201, response_model=EntityMerged, responses=document_problems(404, 409))
async def split_entity(ref: EntityRef, body: SplitInput, caller: CallerDependency) -> Response:
    """Make a new entity of a part of one: edges, mentions, aspects and aliases that are its own. `merge_id` undoes it."""
    return await caller.write(lambda tx: merges.split_entity(tx, ref=ref, split=body.stated()), status=201)


@router.get("/merges", response_model=MergePage, responses=document_problems(404))
async def list_merges(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    entity: Annotated[Text | None, Query(description="Merges and splits of this entity: id, name or alias")] = None,
) -> Response:
    """Merges and splits of the namespace, or of an entity, newest first; undone ones too."""
    return reply_json(await caller.read(lambda tx: merges.list_merges(tx, entity=entity, limit=limit, cursor=cursor)))


@router.post("/merges/{id}/undo", response_model=Undone, responses=document_problems(404, 409))
async def undo_merge(
    id: Annotated[UUID, Path(description="Id of the merge or split")], caller: CallerDependency, body: UndoMergeInput | None = None
) -> Response:
    """Undo a merge, or a split. Edges that were written to the kept entity since stay with it, but for `edge_ids`.

    The names of a part stay as aliases of the whole, unless `keep_names` is false. The reply says what stays.
    """
    choice = body.stated() if body else {}
    return await caller.write(lambda tx: merges.undo_merge(tx, id=id, choice=choice))
