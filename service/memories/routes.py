"""Memories: write, read, change, forget, erase; history, links, categories."""

from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Request
from fastapi.responses import Response

from db.errors import FieldError, Invalid
from loci.models.fields import EdgeType, Layer, Text
from loci.models.memories import (
    BatchWritten,
    CategoryPage,
    DependentPage,
    Erased,
    EraseInput,
    ForgottenMemory,
    LineagesInput,
    Link,
    LinkEnded,
    LinkInput,
    LinkPage,
    MemoryChanges,
    MemoryOut,
    MemoryPage,
    MemorySave,
    MemoryStored,
    Versions,
)
from loci.models.retain import Settled, SettleInput, UnsettledPage
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router, beside_loop
from service.http.parameters import AsOf, Cursor, KnownAt, Limit, MemoryId, json_object
from service.memories import memories
from service.memories.bulk_writes import read_batch, write_each
from service.memories.save import item_to_compare, save_memory
from service.paging import parse_position

router = Router(tags=["memories"])
version_routes = Router(tags=["memories"])
MemoryRef = Annotated[Text, Path(description="Id of any of its versions, or the name of the lineage")]


@router.post("/memories", status_code=201, response_model=MemoryStored, responses=document_problems(404, 409, 410))
async def write_memory(body: MemorySave, caller: CallerDependency) -> Response:
    """Write a memory. An existing lineage gets a new version; an exact duplicate reinforces the memory that is there.

    A write that names another lineage, states its validity or is an episode is no duplicate. `on_duplicate` says otherwise of one;
    `ignored` in the reply names what a duplicate stated and the memory did not take over. A stated validity ends where a later
    version of the lineage begins; `cut_short` says so. With `enrich`, a language model expands it later, in the background, into
    well-formed memories that say the same. With `compare`, the reply names what it may outdate (`unsettled`).
    """
    item = {key: value for key, value in body.stated().items() if key not in {"enrich", "compare"}}
    resources, compared = caller.state.resources, None
    if body.compare:
        if (kept := await caller.find_replay()) is not None:
            return kept
        compared = await item_to_compare(resources, item, lambda work: caller.read(work, role="writer", creates=True))
    save = partial(save_memory, item=item, enrich=body.enrich, has_model=resources.model is not None, compared=compared)
    return await caller.write(save, status=201, single=not (body.enrich or body.compare))


@router.post(
    "/memories/batch",
    response_model=BatchWritten,
    responses=document_problems(409, 410),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/MemoryBatch"}},
                "application/x-ndjson": {"schema": {"type": "string", "minLength": 1, "description": "One memory a line"}},
            },
        }
    },
)
async def write_batch(
    request: Request,
    caller: CallerDependency,
    atomic: Annotated[bool | None, Query(description="True: all or nothing. False: each item gets its own result")] = None,
) -> Response:
    """Write up to 10,000 memories, as JSON or NDJSON. Atomic: all or nothing; otherwise each item has its own result."""
    body = await request.body()
    items, all_or_nothing = await beside_loop(request, read_batch, request.headers.get("content-type"), body, atomic)
    return await caller.write(lambda tx: write_each(tx, items, atomic=all_or_nothing))


@router.get("/memories", response_model=MemoryPage, responses=document_problems())
async def list_memories(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    category: Annotated[Text | None, Query(description="This category and all below it")] = None,
    tag: Annotated[list[Text] | None, Query(description="Any of these")] = None,
    layer: Annotated[list[Layer] | None, Query(description="Of these layers")] = None,
    lineage: Annotated[Text | None, Query(description="Of this lineage")] = None,
    session_id: Annotated[Text | None, Query(description="From this conversation")] = None,
    source: Annotated[Text | None, Query(description="Said by this one")] = None,
    entity: Annotated[Text | None, Query(description="Mentions this entity: id, name or alias")] = None,
    about: Annotated[Text | None, Query(description="About this entity: id, name or alias")] = None,
    under: Annotated[UUID | None, Query(description="This memory and everything under it")] = None,
    metadata: Annotated[Text | None, Query(description="JSON object that the memory's metadata contains")] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    all_versions: Annotated[bool, Query(description="Superseded and forgotten ones too")] = False,
) -> Response:
    """List memories, newest first: those that are current, or were at `as_of` as believed at `known_at`."""
    filters = {
        "category": category,
        "tags": tag,
        "layers": layer,
        "lineage": lineage,
        "session_id": session_id,
        "source": source,
        "entity": entity,
        "about": about,
        "under": str(under) if under else None,
        "metadata": json_object("metadata", metadata),
    }
    after = parse_position(cursor)
    return reply_json(
        await caller.read(
            lambda tx: memories.list_memories(
                tx,
                filters=filters,
                limit=limit,
                cursor=after,
                as_of=as_of,
                known_at=known_at,
                all_versions=all_versions,
            )
        )
    )


@router.post("/memories/current", response_model=MemoryPage, responses=document_problems())
async def current_versions(body: LineagesInput, caller: CallerDependency) -> Response:
    """Read lineages by name: of each the version that is visible, in the order asked; those without one are left out."""
    return reply_json(await caller.read(lambda tx: memories.current_versions(tx, **body.model_dump())))


@router.get("/memories/unsettled", response_model=UnsettledPage, responses=document_problems())
async def list_unsettled(caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """List pairs of which the newer memory may outdate the older one and nobody has said which holds, newest first."""
    return reply_json(await caller.read(lambda tx: memories.list_unsettled(tx, limit=limit, cursor=cursor)))


@router.post("/memories/{id}/settle", response_model=Settled, responses=document_problems(404, 409))
async def settle_memories(id: MemoryId, body: SettleInput, caller: CallerDependency) -> Response:
    """Say which of two memories holds: this one replaces or corrects an older one, or both are true.

    Both are current; they need not have been named as unsettled. Earlier beliefs stay askable with `known_at`, and undoing the
    operation opens the pair again.
    """
    return await caller.write(lambda tx: memories.settle_memories(tx, newer=id, older=body.older, verdict=body.verdict))


@router.patch("/memories/{id}", response_model=MemoryOut, responses=document_problems(404, 409))
async def change_memory(id: MemoryId, body: MemoryChanges, caller: CallerDependency) -> Response:
    """Change what is said about a memory, its parent or its validity; what was believed stays askable.

    Content changes by a new version: write it with the lineage ("it changed") or with `corrects` ("we were wrong").
    """
    return await caller.write(lambda tx: memories.change_memory(tx, id=id, changes=body.stated()))


@router.delete("/memories/{id}", response_model=ForgottenMemory | Erased, responses=document_problems(404))
async def forget_memory(
    id: MemoryId,
    caller: CallerDependency,
    erase: Annotated[bool, Query(description="Erase it for good instead")] = False,
    versions: Annotated[
        Versions | None, Query(description="With erase. all: every version of its lineage, the default; this: this version alone")
    ] = None,
    subtree: Annotated[bool, Query(description="With everything that stands under it now")] = False,
    with_turns: Annotated[bool, Query(description="With erase. Erase turns of conversation that hold all its words, too")] = False,
    dry_run: Annotated[bool, Query(description="With erase. Erase nothing, and say what would go")] = False,
) -> Response:
    """Forget a memory: recall no longer finds it, nor what it alone showed. Reversible with restore; nothing is deleted.

    With `erase`, it is deleted for good from every table, by default with all versions of its lineage; the reply is the receipt.
    """
    if (versions or subtree or with_turns or dry_run) and not erase:
        stated = "versions, subtree, with_turns and dry_run need erase=true"
        raise Invalid(stated, [FieldError("erase", "must be true beside versions, subtree, with_turns or dry_run")])
    if erase:
        wanted = EraseInput(ids=[id], versions=versions or "all", subtree=subtree, with_turns=with_turns, dry_run=dry_run)
        return await caller.write(lambda tx: memories.erase_memories(tx, wanted), dry_run=dry_run)
    return await caller.write(lambda tx: memories.forget_memory(tx, id=id))


@router.post("/memories/erase", response_model=Erased, responses=document_problems(404, 410))
async def erase_memories(body: EraseInput, caller: CallerDependency) -> Response:
    """Erase up to 10,000 memories for good, all or none, with what rests on them; the reply is the receipt.

    An entity whose last mention goes with them goes, too, with all its edges, aspects and facts, unless it is pinned. Turns of
    conversation that hold all the words of an erased text are named, and go `with_turns`. A dry run erases nothing: it says
    what would go, by the same work, taken back.
    """
    return await caller.write(lambda tx: memories.erase_memories(tx, body), dry_run=body.dry_run)


@router.get("/memories/{id}/dependents", response_model=DependentPage, responses=document_problems(404))
async def list_dependents(id: MemoryId, caller: CallerDependency, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """List what rests on this version of a memory now: facts drawn from it, edges that it shows, entities that it mentions."""
    return reply_json(await caller.read(lambda tx: memories.list_dependents(tx, id=id, limit=limit, cursor=cursor)))


@router.post("/memories/{id}/restore", response_model=MemoryOut, responses=document_problems(404, 409))
async def restore_memory(id: MemoryId, caller: CallerDependency) -> Response:
    """Take a forgetting back."""
    return await caller.write(lambda tx: memories.restore_memory(tx, id=id))


@router.get("/memories/{id:path}/history", response_model=MemoryPage, responses=document_problems(404))
async def memory_history(
    id: MemoryRef,
    caller: CallerDependency,
    limit: Limit = 1000,
    cursor: Cursor = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """Every version of a memory's lineage, oldest first. `id` is that of any version, or the lineage's name.

    `known_at`: those recorded by then, as they were believed. `as_of`: those that had begun by then.
    """
    after = parse_position(cursor, memories.LAST_VERSION) or 0
    return reply_json(
        await caller.read(lambda tx: memories.list_versions(tx, ref=id, limit=limit, after=after, as_of=as_of, known_at=known_at))
    )


@router.post("/memories/{id}/links", status_code=201, response_model=Link, responses=document_problems(404))
async def link_memory(id: MemoryId, body: LinkInput, caller: CallerDependency) -> Response:
    """Link this memory to another, or change the strength of the link from now on; what it was stays askable."""
    return await caller.write(
        lambda tx: memories.link_memories(tx, source=id, target=body.target_id, type=body.type, strength=body.strength), status=201
    )


@router.get("/memories/{id}/links", response_model=LinkPage, responses=document_problems(404))
async def list_links(
    id: MemoryId,
    caller: CallerDependency,
    limit: Limit = 100,
    cursor: Cursor = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    all_versions: Annotated[bool, Query(description="Past strengths, and links that were taken back, too")] = False,
) -> Response:
    """Links of this memory in both directions, strongest first.

    `as_of`: those whose ends were both valid then, with the strength of then. `known_at`: as they were believed then.
    """
    return reply_json(
        await caller.read(
            lambda tx: memories.list_links(
                tx, id=id, limit=limit, cursor=cursor, as_of=as_of, known_at=known_at, all_versions=all_versions
            )
        )
    )


@router.delete("/memories/{id}/links/{target_id}", response_model=LinkEnded, responses=document_problems(404))
async def unlink_memory(
    id: MemoryId,
    target_id: Annotated[UUID, Path(description="The memory that the link leads to")],
    caller: CallerDependency,
    type: Annotated[EdgeType, Query(description="Type of the link")] = "related_to",
) -> Response:
    """Take the link of this type to another memory back; it stays askable with `known_at`."""
    return await caller.write(lambda tx: memories.unlink_memories(tx, source=id, target=target_id, type=type))


@router.get("/categories", response_model=CategoryPage, responses=document_problems())
async def list_categories(
    caller: CallerDependency,
    under: Annotated[Text | None, Query(description="This category and all below it")] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """Categories in path order, with the number of visible memories in each (`memories`) and in it and below (`total`)."""
    return reply_json(await caller.read(lambda tx: memories.list_categories(tx, under=under, as_of=as_of, known_at=known_at)))


@version_routes.get("/memories/{id:path}", response_model=MemoryOut, responses=document_problems(404))
async def get_memory(id: MemoryRef, caller: CallerDependency, as_of: AsOf = None, known_at: KnownAt = None) -> Response:
    """One version of a memory, whatever its status, as believed at `known_at`. With `as_of`: the version that was valid then.

    For a lineage by name: the version that is valid at both.
    """
    return reply_json(await caller.read(lambda tx: memories.get_memory(tx, ref=id, as_of=as_of, known_at=known_at)))
