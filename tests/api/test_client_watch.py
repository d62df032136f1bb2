"""Watching changes with the Python client: nothing is lost and nothing comes twice, whatever happens to the service on the way."""

import threading
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest

from loci import Forbidden, Gone, Invalid, LociClient, Unauthorized, Unavailable
from loci.sse import Event, Parser
from loci.watch import Watch, watching
from service.http.sse import format_event, format_heartbeat, format_opening
from tests.api.clients import async_client_of, client_of
from tests.databases import Database, Server
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok, serve


@pytest.fixture
def client(api: Api) -> Iterator[LociClient]:
    """A client in a namespace of its own."""
    with client_of(api.service, api.namespace) as made:
        yield made


def test_pages_go_on_where_the_last_one_ended(client: LociClient) -> None:
    client.memories.write("one")
    page = client.operations.feed(kind="memory")
    assert [(c.kind, c.action, c.content) for c in page.items] == [("memory", "created", "one")]
    assert client.operations.feed(after=page.next_cursor).items == []
    client.memories.write("two")
    assert [c.content for c in client.operations.feed(after=page.next_cursor, kind=["memory", "edge"]).items] == ["two"]


def test_a_watch_yields_what_comes_from_a_position_on(client: LociClient) -> None:
    client.memories.write("one")
    start = client.operations.feed().next_cursor
    client.memories.write("two")
    watch = client.operations.watch(after=start, kind="memory")
    assert next(watch).content == "two"
    written = client.memories.write("three")
    change = next(watch)
    assert (change.content, change.subject_id, change.agent) == ("three", written.id, "operator")
    watch.close()  # type: ignore[attr-defined]


def test_a_watch_of_several_namespaces_names_them(client: LociClient, api: Api) -> None:
    with new_api(api.service) as other:
        start = client.operations.feed(namespace="*", after="latest").next_cursor
        watch = client.operations.watch(after=start, kind="memory", namespace=[api.namespace, other.namespace])
        client.memories.write("here")
        other.write("there")
        assert {(c.namespace, c.content) for c in (next(watch), next(watch))} == {
            (api.namespace, "here"),
            (other.namespace, "there"),
        }


@pytest.mark.anyio
async def test_the_asynchronous_client_watches_too(api: Api) -> None:
    async with async_client_of(api.service, api.namespace) as client:
        start = (await client.operations.feed()).next_cursor
        seen = []
        async with anyio.create_task_group() as group:

            async def write() -> None:
                for number in range(5):
                    await client.memories.write(f"fact {number}", layer=3)

            group.start_soon(write)
            async for change in client.operations.watch(after=start, kind="memory"):
                seen.append(change.content)
                if len(seen) == 5:
                    break
    assert seen == [f"fact {number}" for number in range(5)]


class Moving(httpx.BaseTransport):
    """Leads to the service that runs now, and breaks the connection in the middle of a stream, some times."""

    def __init__(self) -> None:
        self.service: Service | None = None
        self.breaks = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.service is None:
            raise httpx.ConnectError("nobody listens", request=request)
        response = httpx.HTTPTransport(uds=str(self.service.socket), verify=False).handle_request(request)
        if self.breaks and request.url.path.endswith("/events"):
            self.breaks -= 1
            response.stream = Breaking(response.stream)
        return response


class Breaking(httpx.SyncByteStream):
    """A stream that ends in the middle of its first events."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        for block in self._stream:
            if b"data:" in block:
                yield block[: len(block) // 2]
                raise httpx.ReadError("the connection was reset")
            yield block

    def close(self) -> None:
        self._stream.close()


@pytest.fixture
def own(server: Server) -> Iterator[Database]:
    database = server.clone("watch")
    yield database
    server.drop(database)


def test_a_watch_outlives_broken_connections_and_a_service_that_starts_anew(own: Database) -> None:
    transport, seen, total = Moving(), [], 24
    transport.breaks = 3
    writer = LociClient("http://loci", transport=transport, retries=50)
    watcher = LociClient("http://loci", transport=transport)
    done = threading.Event()

    def watch() -> None:
        for change in watcher.operations.watch(after="0", kind="memory", namespace="default"):
            seen.append(change.content)
            if len(seen) == total:
                break
        done.set()

    def write(numbers: range) -> None:
        for number in numbers:
            writer.memories.write(f"fact {number}", layer=3)

    with serve(own) as transport.service:
        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        write(range(12))
        eventually(lambda: len(seen) >= 9)
    transport.service = None
    with serve(own) as transport.service:
        write(range(12, total))
        assert done.wait(PATIENCE)
        thread.join(PATIENCE)
    assert seen == [f"fact {number}" for number in range(total)]
    assert transport.breaks == 0


# What fails


def test_a_watch_that_never_begins_fails_like_any_call(api: Api) -> None:
    nowhere = LociClient("http://loci", transport=Moving(), retries=1)
    with pytest.raises(Unavailable):
        next(nowhere.operations.watch())
    with client_of(api.service, "no-such-namespace") as client, pytest.raises(Exception, match="does not exist"):
        next(client.operations.watch())
    with client_of(api.service, api.namespace) as client, pytest.raises(Invalid):
        next(client.operations.watch(kind="nothing"))


def test_a_watch_ends_with_the_rights_of_its_key(api: Api) -> None:
    made = ok(api.post("/keys", {"role": "reader"}), 201)
    with client_of(api.service, api.namespace, key=made["key"]) as client:
        watch = client.operations.watch(after="0", kind="memory")
        api.write("one")
        assert next(watch).content == "one"
        api.client.delete(f"/keys/{made['id']}")
        api.write("two")
        with pytest.raises((Unauthorized, Forbidden)):
            next(watch)


def test_a_watch_that_was_away_for_too_long_says_so(api: Api, client: LociClient) -> None:
    for number in range(2):
        client.memories.write(f"fact {number}", layer=3)
    first, second = client.operations.feed(kind="memory").items
    with api.service.database.admin() as admin:
        admin.execute(
            """update loci_data.feeds set swept_position = %s where namespace_id = (select id from loci_data.namespaces where name = %s)""",
            [second.position, api.namespace],
        )
    with pytest.raises(Gone, match="were deleted because they are old"):
        next(client.operations.watch(after=first.cursor))


def test_after_one_reply_a_watch_tries_without_end_and_before_it_as_often_as_any_call() -> None:
    watch = Watch(LociClient(retries=2)._options, watching(after="latest"))
    watch.lost(httpx.ConnectError("x"))
    watch.refused(httpx.Response(503))
    with pytest.raises(Unavailable):
        watch.lost(httpx.ConnectError("x"))
    assert list(watch.changes(format_opening("0123456789ab-7"))) == []
    assert list(watch.changes(b'event: problem\ndata: {"status": 503, "title": "Unavailable"}\n\n')) == []
    with pytest.raises(Unauthorized):
        list(watch.changes(b'event: problem\ndata: {"status": 401, "title": "Unauthorized"}\n\n'))
    for _ in range(2000):
        watch.lost(httpx.ConnectError("x"))
    assert 2.5 <= watch.pause() <= 5
    request, headers = watch.next_request()
    assert (request.query["after"], dict(headers)[b"Last-Event-ID"]) == (None, b"0123456789ab-7")


# The form of the stream


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_a_stream_is_read_in_whatever_pieces_it_comes(size: int) -> None:
    events = [
        Event("memory.created", b'{"content": "line\xe2\x80\xa8separator \\n: data: x"}', "12"),
        Event("edge.changed", b"{}", "13"),
    ]
    sent = format_opening("5") + format_event(events[0]) + format_heartbeat("12") + format_event(events[1]) + format_heartbeat("20")
    parser, found = Parser(), []
    for start in range(0, len(sent), size):
        found += parser.feed(sent[start : start + size])
    assert found == events
    assert (parser.last_id, parser.retry) == ("20", 1.0)


def test_an_event_whose_end_never_came_leaves_nothing_behind() -> None:
    parser = Parser()
    assert list(parser.feed(b"id: 3\n\nid: 4\nevent: memory.created\ndata: {half")) == []
    parser.lost()
    assert parser.last_id == "3"
    assert [e.name for e in parser.feed(format_event(Event("edge.created", b"{}", "4")))] == ["edge.created"]
