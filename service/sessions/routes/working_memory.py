"""Working memory: scratch entries with a time to live, shared by agents, keyed by path."""

from typing import Annotated

from fastapi import Path, Query
from fastapi.responses import Response

from loci.models.fields import Text
from loci.models.sessions import EntriesFound, Entry, EntryInput, EntryOut, EntryPage, EntrySearch, Prefix
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import Cursor, Limit, Space
from service.sessions import entry_search, working_memory

router = Router(prefix="/working-memory", tags=["working memory"])
PLAIN_PATH = r"^[^/\u0000-\u001f\u007f-\u009f]+(/[^/\u0000-\u001f\u007f-\u009f]+)*$"
Key = Annotated[
    Text,
    Path(
        json_schema_extra={"pattern": PLAIN_PATH, "maxLength": 512},
        description="A full path such as session/abc/plan; without a slash it stands under your own space",
    ),
]


@router.get("", response_model=EntryPage, responses=document_problems(404))
async def list_entries(
    caller: CallerDependency,
    space: Space = None,
    prefix: Annotated[Prefix | None, Query(description="Whole segments: session/a never lists session/ab")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List entries in order of their keys, without values. Without a prefix: the space of X-Space, or of the key, else all."""
    return reply_json(
        await caller.read(lambda tx: working_memory.list_entries(tx, prefix=prefix, limit=limit, cursor=cursor, space=space))
    )


@router.post("/search", response_model=EntriesFound, responses=document_problems(404))
async def search_entries(body: EntrySearch, caller: CallerDependency, space: Space = None) -> Response:
    """Find entries by words, meaning, category and tags, best first; without a question the newest first."""
    state = caller.state
    embedding = state.settings.embedding
    return reply_json(
        await entry_search.search_entries(caller.read, body, state.provider, state.entry_vectors, embedding, space=space)
    )


@router.put("/{key:path}", response_model=Entry, responses=document_problems(404, 409))
async def save_entry(key: Key, body: EntryInput, caller: CallerDependency, space: Space = None) -> Response:
    """Write an entry of your own space, or replace it; its time to live begins anew. A full space is a 409, another one a 403."""
    return await caller.write(lambda tx: working_memory.save_entry(tx, body, key=key, space=space))


@router.get("/{key:path}", response_model=EntryOut, responses=document_problems(404))
async def get_entry(key: Key, caller: CallerDependency, space: Space = None) -> Response:
    """Get an entry, from any space. Expired entries are not there."""
    return reply_json(await caller.read(lambda tx: working_memory.get_entry(tx, key=key, space=space)))


@router.delete("/{key:path}", status_code=204, responses=document_problems(404))
async def delete_entry(key: Key, caller: CallerDependency, space: Space = None) -> Response:
    """Delete an entry of your own space."""
    async with caller.transaction("writer") as tx:
        await working_memory.delete_entry(tx, key=key, space=space)
    return Response(status_code=204, headers=caller.headers)
