"""The change feed over REST: polling with a cursor, and streams."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from psycopg import errors

from db.errors import DeadlineExceeded, TooManyAtOnce, Unavailable
from loci.sse import HEARTBEAT, Event, Parser
from service.operations.feed import BEGINNING, Batch, Feed, Place
from tests.databases import Database
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok, problem, serve

Row = dict[str, Any]


def changes(api: Api, **params: Any) -> Row:
    return ok(api.get("/changes", **params))


def said(items: list[Row]) -> list[tuple[str, str, str | None]]:
    return [(item["kind"], item["action"], item["content"]) for item in items if item["kind"] == "memory"]


LOOKING = "select from pg_stat_activity where application_name = 'loci feed' and datname = current_database()"


# Polling


@pytest.mark.row("X4")
def test_a_change_is_there_right_after_the_write_that_made_it(api: Api) -> None:
    for number in range(5):
        before = changes(api)["next_cursor"]
        api.write(f"fact {number}")
        assert said(changes(api, after=before)["items"]) == [("memory", "created", f"fact {number}")]


HELD = "select from loci_data.feeds where namespace_id = (select id from loci_data.namespaces where name = %s) for update"
WAITING = """select from pg_stat_activity where query like '%%sequence_changes_of%%' and wait_event_type = 'Lock'
             and datname = current_database() and pid <> pg_backend_pid()"""


@pytest.mark.parametrize("path", ["/changes", "/operations/{}/changes"])
def test_a_reader_waits_where_something_is_being_erased_and_misses_nothing_that_was_written(api: Api, path: str) -> None:
    """As the end of an erasure does, a session holds the row of the feed. Readers of other namespaces do not wait."""
    database = api.service.database
    with database.admin() as eraser, database.admin() as watcher, ThreadPoolExecutor(1) as pool, new_api(api.service) as other:
        with eraser.transaction():
            eraser.execute(HELD, [api.namespace])
            written = api.post("/memories", {"content": "mine"})
            asked = pool.submit(api.get, path.format(written.headers["X-Operation-Id"]))
            eventually(lambda: asked.done() or watcher.execute(WAITING).rowcount > 0)
            other.write("theirs")
            assert said(changes(other)["items"]) == [("memory", "created", "theirs")]
            assert not asked.done()
        assert said(ok(asked.result(PATIENCE))["items"]) == [("memory", "created", "mine")]


def test_a_change_says_what_when_by_whom_and_in_which_operation(api: Api) -> None:
    response = api.post("/memories", {"content": "Alice lives in Oslo.", "lineage": "city", "tags": ["home"]})
    written = ok(response, 201)
    (item,) = changes(api, kind="memory")["items"]
    assert item["subject_id"] == written["id"]
    assert item["operation_id"] == response.headers["X-Operation-Id"]
    assert (item["namespace"], item["agent"], item["via"]) == (api.namespace, "operator", "rest")
    assert (item["before"], item["after"]["tags"], item["after"]["lineage"]) == (None, ["home"], "city")
    ok(api.client.patch(f"/memories/{written['id']}", json={"importance": 0.9}))
    changed = changes(api, after=item["cursor"])["items"][0]
    assert (changed["action"], changed["before"]["importance"], changed["after"]["importance"]) == ("changed", 0.5, 0.9)


@pytest.mark.row("X4")
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
def test_pages_visit_every_change_once_and_in_order(api: Api, limit: int) -> None:
    ok(api.post("/memories/batch", {"items": [{"content": f"m{n}"} for n in range(7)]}))
    seen, cursor = [], None
    while (page := changes(api, limit=limit, **({"after": cursor} if cursor else {})))["items"]:
        seen += page["items"]
        cursor = page["next_cursor"]
    assert [item["content"] for item in seen if item["kind"] == "memory"] == [f"m{n}" for n in range(7)]
    positions = [item["position"] for item in seen]
    assert positions == sorted(set(positions))


def test_a_page_with_nothing_in_it_says_where_to_go_on(api: Api) -> None:
    api.write("one")
    page = changes(api, kind="edge")
    assert page["items"] == []
    assert page["next_cursor"] == changes(api)["items"][-1]["cursor"]
    api.post("/edges", {"source": "a", "type": "knows", "target": "b"})
    assert [item["kind"] for item in changes(api, kind="edge", after=page["next_cursor"])["items"]] == ["edge"]


def test_a_reader_can_begin_at_the_end(api: Api) -> None:
    api.write("before")
    page = changes(api, after="latest")
    assert page["items"] == []
    api.write("since")
    assert said(changes(api, after=page["next_cursor"])["items"]) == [("memory", "created", "since")]


def test_kinds_are_filtered_in_one_order(api: Api) -> None:
    api.write("one", entities=[{"name": "Alice"}], edges=[{"source": "Alice", "type": "knows", "target": "Bob"}])
    everything = changes(api)["items"]
    assert {item["kind"] for item in everything} >= {"memory", "entity", "edge"}
    some = changes(api, kind=["edge", "memory"])["items"]
    assert some == [item for item in everything if item["kind"] in {"edge", "memory"}]


def test_several_namespaces_are_read_in_one_order(api: Api) -> None:
    with new_api(api.service) as other:
        for number in range(3):
            api.write(f"here {number}")
            changes(api)  # gives positions, so that the next is later
            other.write(f"there {number}")
            changes(other)
        mine = changes(api, namespace=[api.namespace, other.namespace], kind="memory")["items"]
        every = changes(api, namespace="*", kind="memory", limit=1000, after=mine[0]["cursor"])["items"]
    assert [item["content"] for item in mine] == [f"{where} {n}" for n in range(3) for where in ("here", "there")]
    assert [item for item in every if item["namespace"] in {api.namespace, other.namespace}] == mine[1:]


def test_a_reader_sees_the_namespaces_of_its_key_and_no_other(api: Api) -> None:
    api.write("secret")
    with new_api(api.service) as other:
        key = ok(other.post("/keys", {"role": "reader"}), 201)["key"]
        other.write("open")
        with api.service.client(Authorization=f"Bearer {key}") as client:
            for params in ({}, {"namespace": "*"}, {"namespace": other.namespace}):
                items = ok(client.get("/changes", params={**params, "limit": 1000}))["items"]
                assert {item["namespace"] for item in items} == {other.namespace}
            problem(client.get("/changes", params={"namespace": [other.namespace, api.namespace]}), 403, "forbidden")
            problem(client.get("/events", params={"namespace": api.namespace}), 403, "forbidden")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"after": "x"}, "after"),
    ({"after": "-1"}, "after"),
    ({"after": "9" * 20}, "after"),
    ({"after": 2**62}, "after"),
    ({"kind": "nothing"}, "kind"),
    ({"kind": "nothing", "after": "latest"}, "kind"),
    ({"limit": 0}, "limit"),
    ({"limit": 1001}, "limit"),
    ({"wait": 31}, "wait"),
]


@pytest.mark.parametrize(("params", "field"), WRONG, ids=str)
def test_an_impossible_question_is_refused_by_name(api: Api, params: dict[str, Any], field: str) -> None:
    assert problem(api.get("/changes", **params), 422, "invalid-request")["errors"][0]["field"] == field
    if field in {"after", "kind"}:
        assert problem(api.get("/events", **params), 422, "invalid-request")["errors"][0]["field"] == field


def test_a_reader_who_was_away_for_too_long_learns_it(api: Api) -> None:
    for number in range(3):
        api.write(f"fact {number}")
    items = changes(api, kind="memory")["items"]
    first, second, third = [item["cursor"] for item in items]
    with api.service.database.admin() as admin:
        admin.execute(
            """with swept as (delete from loci_data.changes c using loci_data.namespaces n
                              where n.id = c.namespace_id and n.name = %s and c.position <= %s returning c.*)
               update loci_data.feeds f set swept_position = s.position, swept_place = s.place
               from (select * from swept order by position desc limit 1) s where f.namespace_id = s.namespace_id""",
            [api.namespace, items[1]["position"]],
        )
    body = problem(api.get("/changes", after=first), 410, "gone")
    assert "latest" in body["hint"]
    problem(api.get("/events", after=first), 410, "gone")
    problem(api.client.get("/events", headers={"Last-Event-ID": first}), 410, "gone")
    assert [item["cursor"] for item in changes(api, after=second, kind="memory")["items"]] == [third]
    assert [item["cursor"] for item in changes(api, kind="memory")["items"]] == [third]


@pytest.mark.row("M8")
def test_an_erased_memory_leaves_no_text_in_the_feed(api: Api) -> None:
    written = api.write("purple elephants", tags=["purple"])
    assert "purple" in json.dumps(changes(api))
    ok(api.client.delete(f"/memories/{written['id']}", params={"erase": True}))
    page = changes(api)
    assert "purple" not in json.dumps(page)
    assert [(i["action"], i["content"]) for i in page["items"] if i["subject_id"] == written["id"]] == [
        ("created", None),
        ("erased", None),
    ]


def test_a_poll_can_wait_for_the_next_change(api: Api) -> None:
    cursor = changes(api)["next_cursor"]
    started = time.monotonic()
    assert changes(api, after=cursor, wait=0.2)["items"] == []
    assert time.monotonic() - started >= 0.2
    writer = threading.Timer(0.3, lambda: api.write("worth the wait"))
    writer.start()
    assert said(changes(api, after=cursor, wait=30, kind="memory")["items"]) == [("memory", "created", "worth the wait")]
    writer.join()


# Streams


class Stream:
    """An open stream; its events as they come."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.parser = Parser()
        self.blocks = response.iter_raw()
        self._events: list[Event] = []

    def event(self) -> Event:
        """The next event. Raises StopIteration at the end of the stream."""
        while not self._events:
            self._events += self.parser.feed(next(self.blocks))
        return self._events.pop(0)

    def change(self) -> Row:
        return dict(json.loads(self.event().data))

    def until_opened(self) -> None:
        while self.parser.last_id is None:
            self._events += self.parser.feed(next(self.blocks))


@contextmanager
def stream(api: Api, headers: dict[str, str] | None = None, **params: Any) -> Iterator[Stream]:
    with (
        api.service.client(**{"X-Namespace": api.namespace, **(headers or {})}) as client,
        client.stream("GET", "/events", params=params) as response,
    ):
        assert response.status_code == 200, response.read()
        yield Stream(response)


def test_a_stream_begins_with_what_is_kept_and_goes_on_with_what_comes(api: Api) -> None:
    api.write("old")
    with stream(api, kind="memory") as events:
        first = events.event()
        assert events.response.headers["content-type"].startswith("text/event-stream")
        api.write("new")
        second = events.event()
    assert [first.name, second.name] == ["memory.created"] * 2
    assert [json.loads(e.data)["content"] for e in (first, second)] == ["old", "new"]
    assert [json.loads(e.data)["cursor"] for e in (first, second)] == [first.id, second.id]


def test_events_are_what_polling_lists(api: Api) -> None:
    ok(api.post("/memories/batch", {"items": [{"content": f"m{n}"} for n in range(250)]}))
    listed = changes(api, limit=1000)["items"]
    with stream(api) as events:
        assert [events.change() for _ in listed] == listed


@pytest.mark.row("X4")
@pytest.mark.parametrize("by", ["Last-Event-ID", "after"])
def test_a_reader_that_comes_back_misses_nothing_and_gets_nothing_twice(api: Api, by: str) -> None:
    api.write("one")
    with stream(api, kind="memory") as events:
        events.event()
        place = str(events.parser.last_id)
    api.write("two")
    again = {"headers": {"Last-Event-ID": place}, "after": "0"} if by == "Last-Event-ID" else {"after": place}
    with stream(api, kind="memory", **again) as events:
        assert events.change()["content"] == "two"


def test_a_stream_from_the_end_names_its_place_before_anything_comes(api: Api) -> None:
    api.write("before")
    with stream(api, after="latest") as events:
        events.until_opened()
        place = events.parser.last_id
    api.write("while away")
    with stream(api, headers={"Last-Event-ID": str(place)}, after="latest", kind="memory") as events:
        assert events.change()["content"] == "while away"


def test_a_silent_stream_gives_signs_of_life_that_move_its_place_on(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.operations.routes.feed.HEARTBEAT", 0.1)
    with stream(api, kind="edge") as events:
        events.until_opened()
        api.write("of another kind")
        last = changes(api)["items"][-1]["cursor"]
        while events.parser.last_id != last:
            assert list(events.parser.feed(next(events.blocks))) == []


def test_a_silent_stream_stands_where_one_can_come_back_to_though_the_namespace_of_its_last_change_went(
    narrow: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.operations.routes.feed.HEARTBEAT", 0.1)
    with new_api(narrow) as api:
        api.write("stays")
        with new_api(narrow) as short:
            short.write("goes")
            with stream(api, after="latest", namespace="*") as events:
                events.until_opened()
                last = events.parser.last_id
                assert last == changes(short)["next_cursor"]
                assert api.client.delete(f"/namespaces/{short.namespace}").status_code == 204
                while events.parser.last_id == last:
                    assert list(events.parser.feed(next(events.blocks))) == []
                place = str(events.parser.last_id)
        api.write("heard")
        with stream(api, headers={"Last-Event-ID": place}, namespace="*", kind="memory") as events:
            assert events.change()["content"] == "heard"


@pytest.mark.parametrize("error", [TooManyAtOnce("busy"), DeadlineExceeded(), errors.QueryCanceled(), Unavailable("away")])
def test_a_stream_waits_while_there_is_no_room_or_no_time_to_read_but_does_not_begin_then(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.operations.feed.RETRY_SECONDS", 0)
    batches = [Batch([{"n": n}], Place(str(n), n), more=True, namespace_ids=frozenset()) for n in (1, 2)]

    async def told(*replies: Batch | Exception) -> list[Batch]:
        left = iter(replies)
        feed = Feed("")

        async def read(after: Place | None) -> Batch:
            reply = next(left)
            if isinstance(reply, Exception):
                raise reply
            return reply

        async with aclosing(feed.follow_changes(read, BEGINNING, idle=HEARTBEAT, all_namespaces=False)) as following:
            return [await anext(following) for reply in replies if isinstance(reply, Batch)]

    assert asyncio.run(told(batches[0], error, error, batches[1])) == batches
    with pytest.raises(type(error)):
        asyncio.run(told(error, *batches))


def test_a_stream_ends_when_its_key_is_revoked_and_says_why(api: Api) -> None:
    made = ok(api.post("/keys", {"role": "reader"}), 201)
    with stream(api, headers={"Authorization": f"Bearer {made['key']}"}, after="latest") as events:
        events.until_opened()
        api.client.delete(f"/keys/{made['id']}")
        api.write("not for you")
        event = events.event()
        assert (event.name, json.loads(event.data)["status"]) == ("problem", 401)
        with pytest.raises(StopIteration):
            events.event()


def test_a_stream_ends_when_its_key_expires(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.operations.routes.feed.HEARTBEAT", 0.1)
    made = ok(api.post("/keys", {"role": "reader", "expires_at": (datetime.now(UTC) + timedelta(days=1)).isoformat()}), 201)
    with stream(api, headers={"Authorization": f"Bearer {made['key']}"}, after="latest", kind="edge") as events:
        events.until_opened()
        with api.service.database.admin() as admin:
            admin.execute("update loci_data.api_keys set expires_at = clock_timestamp() where id = %s", [made["id"]])
        event = events.event()
        assert (event.name, json.loads(event.data)["status"]) == ("problem", 401)


def test_a_stream_and_a_poll_end_when_the_grant_ends(api: Api, service: Service) -> None:
    made = ok(api.post("/keys", {"role": "reader"}), 201)
    agent, headers = made["agent_id"], {"Authorization": f"Bearer {made['key']}"}
    cursor = changes(api)["next_cursor"]
    with stream(api, headers=headers, after="latest") as events, ThreadPoolExecutor(1) as pool:
        events.until_opened()

        def poll() -> httpx.Response:
            with service.client(**headers, **{"X-Namespace": api.namespace}) as client:
                return client.get("/changes", params={"after": cursor, "wait": 30, "kind": "edge"})

        polled = pool.submit(poll)
        eventually(lambda: len(service.app.state.loci.feed._waiters) >= 2)
        ok(api.client.delete(f"/grants/{agent}"))
        event = events.event()
        assert (event.name, json.loads(event.data)["status"]) == ("problem", 403)
        problem(polled.result(), 403, "forbidden")


def test_streams_of_a_key_have_a_number_and_those_of_others_theirs(start_service: Any) -> None:
    with new_api(start_service(limits={"streams": 2})) as api, ExitStack() as stack:
        headers = {"Authorization": f"Bearer {ok(api.post('/keys', {'role': 'reader'}), 201)['key']}"}
        streams = [stack.enter_context(stream(api, headers=headers, after="latest")) for _ in range(2)]
        for one in streams:
            one.until_opened()
        for path in ("/events?after=latest", "/changes?wait=1"):
            refused = api.client.get(path, headers=headers)
            problem(refused, 429, "too-many-at-once")
            assert refused.headers["retry-after"]
        ok(api.client.get("/changes", headers=headers))  # who does not wait holds nothing
        with stream(api, after="latest") as events:
            events.until_opened()
        stack.close()
        eventually(lambda: api.client.get("/changes?after=latest&wait=0.1", headers=headers).status_code == 200)


@pytest.fixture(scope="module")
def narrow(own_database: Database) -> Iterator[Service]:
    """A service with few connections, whose feed only this module reads."""
    with serve(own_database, pool_size=2) as running:
        yield running


def test_a_stream_ends_when_its_namespace_is_deleted(narrow: Service) -> None:
    with new_api(narrow) as api, stream(api, after="latest") as events:
        events.until_opened()
        assert api.client.delete(f"/namespaces/{api.namespace}").status_code == 204
        assert narrow.loop
        narrow.loop.call_soon_threadsafe(narrow.app.state.loci.feed.wake_waiters, None)
        event = events.event()
        assert (event.name, json.loads(event.data)["status"]) == ("problem", 404)


def figure(api: Api, name: str) -> float:
    """A figure of the process; 0 where there is none yet."""
    lines = api.client.get("http://loci/metrics").text.splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)), 0.0)


def test_a_reader_who_leaves_leaves_nothing_behind(narrow: Service) -> None:
    counted, timed = (
        'loci_requests_total{method="GET",route="/api/v1/events",status="200"}',
        'loci_request_seconds_count{route="/api/v1/events"}',
    )
    with new_api(narrow) as api, ExitStack() as stack:
        eventually(lambda: figure(api, "loci_event_streams ") == 0)  # the readers of other tests have left
        before = figure(api, counted), figure(api, timed)
        streams = [stack.enter_context(stream(api, after="latest")) for _ in range(20)]
        for one in streams:
            one.until_opened()
        assert figure(api, "loci_event_streams ") == 20
        assert (figure(api, counted), figure(api, timed)) == (before[0] + 20, before[1])
        stack.close()
        eventually(lambda: figure(api, "loci_event_streams ") == 0)
        assert narrow.app.state.loci.feed._waiters == set()
        assert (figure(api, counted), figure(api, timed)) == (before[0] + 20, before[1])


@pytest.mark.row("X9")
def test_waiting_readers_hold_no_connection_of_the_pool(narrow: Service) -> None:
    with new_api(narrow) as api, ExitStack() as stack:
        streams = [stack.enter_context(stream(api, after="latest", kind="memory")) for _ in range(20)]
        for one in streams:
            one.until_opened()
        api.write("heard by all")
        assert {one.change()["content"] for one in streams} == {"heard by all"}


def test_streams_end_at_once_when_the_service_stops(start_service: Any) -> None:
    service = start_service()
    with new_api(service) as api, stream(api, after="latest") as events:
        events.until_opened()
        assert service.loop
        service.loop.call_soon_threadsafe(service.app.state.loci.feed.close)
        with pytest.raises(StopIteration):
            events.event()


def test_a_service_without_a_worker_gives_its_own_changes_their_places(start_service: Any) -> None:
    service = start_service(worker=False)
    with new_api(service) as api, stream(api, after="latest", kind="memory") as events:
        events.until_opened()
        api.write("heard")
        assert events.change()["content"] == "heard"


def test_a_stream_outlives_the_connection_that_looks_for_changes(start_service: Any) -> None:
    service = start_service()
    with new_api(service) as api, service.database.admin() as admin, stream(api, after="latest", kind="memory") as events:
        events.until_opened()
        for number in range(2):
            eventually(lambda: admin.execute(LOOKING).rowcount)
            admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            )
            eventually(lambda: api.post("/memories", {"content": f"fact {number}"}).status_code == 201)  # noqa: B023
            assert events.change()["content"] == f"fact {number}"
