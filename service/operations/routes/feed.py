"""The change feed: by polling with a cursor, and as a stream of server-sent events."""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, nullcontext
from typing import Annotated, Any

import psycopg
from fastapi import Header, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from db.errors import FieldError, Invalid, LociError, Unavailable, translate_error
from loci.models.fields import Text
from loci.models.operations import ChangePage
from loci.sse import HEARTBEAT, Event
from service.http.caller import Caller, CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import dump_json, reply_json
from service.http.large_bodies import Router
from service.http.problems import problem_of
from service.http.sse import MEDIA, format_event, format_heartbeat, format_opening
from service.observability.metrics import EVENT_STREAMS
from service.operations.feed import ALL, BEGINNING, Batch, FeedQuestion, Place, Read, read_batch

router = Router(tags=["changes"])
LATEST = "latest"
STREAMS = "streams and waiting polls of this key"
CURSOR = re.compile(r"0|[0-9a-f]{12}-[0-9]{1,18}", re.ASCII)
CHANGE_KINDS = (
    *("memory", "placement", "link", "entity", "edge", "aspect", "attribute", "supersession", "merge", "edge_type", "turn"),
    *("namespace", "key", "grant", "invitation", "working_memory"),
)
PLACE = "must be the next_cursor of a page, the cursor of a change, or latest"
CHANGES_PER_BATCH = 100  # changes that a stream holds in memory, of 4 MiB at most

After = Annotated[
    Text | None,
    Query(max_length=40, description="Changes after this cursor; `latest`: from now on. Default: from the oldest that is kept"),
]
Word = Annotated[Text, Field(max_length=64)]
Kind = Annotated[Word, Field(json_schema_extra={"enum": [*CHANGE_KINDS]})]  # the database says which are wrong
Kinds = Annotated[list[Kind] | None, Query(max_length=20, description="Only changes of these kinds; repeatable")]
Namespaces = Annotated[
    list[Word] | None,
    Query(max_length=100, description="Of these namespaces; repeatable. `*`: all that you may read. Default: as X-Namespace"),
]


@router.get("/changes", response_model=ChangePage, responses=document_problems(404, 410))
async def list_changes(
    caller: CallerDependency,
    after: After = None,
    kind: Kinds = None,
    namespace: Namespaces = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Changes of a page")] = 100,
    wait: Annotated[float, Query(ge=0, le=30, description="Seconds to wait for a change where there is none yet")] = 0,
) -> Response:
    """List changes after a cursor, oldest first: each committed change once, in an order that never changes.

    All that was committed before the request is there. A cursor after which changes were swept since is 410.
    """
    read = _make_reader(caller, FeedQuestion(namespace, kind, limit), sequence=True)
    start = place_of("after", after)
    with caller.state.streams.hold_slot(caller.owner, STREAMS) if wait else nullcontext():
        batch = await caller.state.feed.poll_changes(read, start, wait)
    return reply_json({"items": batch.items, "next_cursor": batch.read_to.cursor})


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"description": "The stream", "content": {MEDIA: {}}}, **document_problems(404, 410)},
)
async def stream_changes(
    caller: CallerDependency,
    after: After = None,
    kind: Kinds = None,
    namespace: Namespaces = None,
    last_event_id: Annotated[Text | None, Header(max_length=40, description="As `after`, which it goes before")] = None,
) -> Response:
    """Stream changes as server-sent events: `id` is the cursor, `event` is kind.action, `data` the change as JSON.

    A reader that comes back with the Last-Event-ID misses nothing and gets nothing twice. A stream whose rights end says so in
    an event `problem`, and ends.
    """
    read = _make_reader(caller, FeedQuestion(namespace, kind, CHANGES_PER_BATCH), sequence=False)
    start = place_of("after", after) if last_event_id is None else place_of("Last-Event-ID", last_event_id)
    stream = _open_stream(caller, read, start, all_namespaces=namespace == ALL)
    first = await anext(stream, None)  # what is wrong with the request is raised here, before the status is sent
    if first is None:
        raise Unavailable("the service is shutting down", hint="Try again in a moment.")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_chain_first(first, stream), media_type=MEDIA, headers=headers)


def place_of(field: str, text: str | None) -> Place | None:
    """Where a reader wants to begin; None: at the end."""
    if text == LATEST:
        return None
    if text is None:
        return BEGINNING
    if not CURSOR.fullmatch(text):
        raise Invalid(f"{field} {PLACE}", [FieldError(field, PLACE)])
    return Place(text)


def _make_reader(caller: Caller, question: FeedQuestion, *, sequence: bool) -> Read:
    """Reads of one reader, each a short transaction under its rights as they are then."""
    if question.namespaces is None and caller.namespace is not None:
        question = FeedQuestion([caller.namespace], question.kinds, question.limit)

    async def read_next(after: Place | None) -> Batch:
        async with caller.transaction(None) as tx:
            return await read_batch(tx, question, after, sequence=sequence)

    return read_next


async def _open_stream(caller: Caller, read: Read, start: Place | None, *, all_namespaces: bool) -> AsyncIterator[bytes]:
    told = _generate_events(caller, read, start, all_namespaces=all_namespaces)
    with caller.state.streams.hold_slot(caller.owner, STREAMS):
        async with aclosing(told):
            async for data in told:
                yield data


async def _generate_events(caller: Caller, read: Read, start: Place | None, *, all_namespaces: bool) -> AsyncGenerator[bytes]:
    opened = False
    try:
        batches = caller.state.feed.follow_changes(read, start, idle=HEARTBEAT, all_namespaces=all_namespaces)
        async with aclosing(batches):
            async for batch in batches:
                if not opened:
                    opened = True
                    EVENT_STREAMS.inc()
                    yield format_opening((start or batch.read_to).cursor)
                if batch.items:
                    yield b"".join(_frame_item(item) for item in batch.items)
                else:
                    yield format_heartbeat(batch.read_to.cursor)
    except (LociError, psycopg.Error) as error:
        known = error if isinstance(error, LociError) else translate_error(error)
        if not opened or known is None:
            raise
        yield format_event(Event("problem", dump_json(problem_of(known, caller.request.state.request_id))))
    finally:
        if opened:
            EVENT_STREAMS.dec()


def _frame_item(item: dict[str, Any]) -> bytes:
    return format_event(Event(f"{item['kind']}.{item['action']}", dump_json(item), item["cursor"]))


async def _chain_first(first: bytes, rest: Any) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for data in rest:
            yield data
