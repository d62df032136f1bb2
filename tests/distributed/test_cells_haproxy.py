"""Two cells behind two HAProxies: a request finds the cell of its namespace, before, while and after that moves."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from db.cells.cells import add_cell
from loci import LociClient
from tests.distributed.cells import AGAIN, POINTS, Pair, Reader, running_cells
from tests.distributed.haproxy import PROGRAM, HAProxy, running_haproxies
from tests.services import PATIENCE, eventually, ok, problem, serve

pytestmark = [pytest.mark.release, pytest.mark.skipif(PROGRAM is None, reason="haproxy is not installed")]


@dataclass(frozen=True)
class Routed(Pair):
    """Two cells behind HAProxy."""

    proxies: list[HAProxy]

    def known(self, name: str, number: int, proxy: int = 0) -> None:
        """Wait until an HAProxy has a namespace in a cell."""
        asked = f"get map {self.proxies[proxy].maps}/namespaces.map {name}"
        eventually(lambda: f'value="cell_{number}"' in self.proxies[proxy].ask(asked))

    def far(self) -> tuple[str, str]:
        """A namespace of the second cell with a memory, and an admin's key of it."""
        name = self.team(2)
        key = self.key(2, name, "admin")
        ok(self.client(2, **{"X-Namespace": name}).post("/memories", json={"content": "The heron stands still."}), 201)
        told = {"namespace": name, "kind": "memory"}
        eventually(lambda: ok(self.client(2).get("/changes", params=told))["items"])
        self.known(name, 2)
        return name, key


@pytest.fixture(scope="module")
def routed() -> Iterator[Routed]:
    """Joined cells with services, and two HAProxies with the same maps."""
    with running_cells() as cells, serve(cells.one.database, tcp=True) as one, serve(cells.two.database, tcp=True) as two:
        for number, service in enumerate((one, two), 1):
            add_cell(cells.url(1), url=service.url, database_url=cells.url(number))
        with running_haproxies(cells.url(1), 2) as proxies:
            eventually(lambda: proxies[0].client().get("/namespaces/default").status_code == 200)
            yield Routed(cells, (one, two), proxies)


def memories(reply: httpx.Response) -> list[str]:
    """What a reply of any of these calls says of memories."""
    body = ok(reply)
    rows = body.get("items") or body.get("results") or []
    return [row["content"] for row in rows if row.get("content")]


def tool(client: httpx.Client, arguments: dict[str, Any]) -> list[str]:
    """What the tool recall finds."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream"}
    reply = client.post(str(client.base_url.copy_with(path="/mcp")), json=call, headers=headers)
    return ["The heron stands still."] if "The heron stands still." in reply.text else [reply.text]


ASKED: dict[str, Callable[[httpx.Client, str], list[str]]] = {
    "header": lambda client, name: memories(client.get("/memories", headers={"X-Namespace": name})),
    "path": lambda client, name: [ok(client.get(f"/namespaces/{name}"))["name"]],
    "key alone": lambda client, _: memories(client.get("/memories")),
    "body of a recall": lambda client, name: memories(client.post("/recall", json={"query": "heron", "namespaces": [name]})),
    "body before header": lambda client, name: memories(
        client.post("/recall", json={"query": "heron", "namespaces": [name]}, headers={"X-Namespace": "default"})
    ),
    "query of changes": lambda client, name: memories(client.get("/changes", params={"namespace": name, "kind": "memory"})),
    "query before header": lambda client, name: memories(
        client.get("/changes", params={"namespace": name, "kind": "memory"}, headers={"X-Namespace": "default"})
    ),
    "all namespaces of the key's cell": lambda client, _: memories(
        client.get("/changes", params={"namespace": "*", "kind": "memory"})
    ),
    "arguments of a tool": lambda client, name: tool(client, {"query": "heron", "namespaces": [name]}),
    "header of a tool": lambda client, name: tool(
        httpx.Client(base_url=client.base_url, headers={**client.headers, "X-Namespace": name}, timeout=60), {"query": "heron"}
    ),
}


@pytest.mark.parametrize("by", ASKED)
@pytest.mark.row("X12")
def test_a_request_finds_the_cell_of_what_it_names(routed: Routed, by: str) -> None:
    name, key = routed.far()
    keys = f"{routed.proxies[0].maps}/keys.map"
    eventually(lambda: routed.proxies[0].ask(f"show map {keys}").count("cell_2") >= 1)
    client = routed.proxies[0].client(Authorization=f"Bearer {key}")
    if by in {"key alone", "all namespaces of the key's cell"}:
        eventually(lambda: client.get("/memories").status_code == 200)
    assert ASKED[by](client, name) == [name if by == "path" else "The heron stands still."]


def test_a_key_for_a_namespace_elsewhere_is_made_there_and_known_here(routed: Routed) -> None:
    name, admin = routed.far()
    made = ok(
        routed.proxies[0].client(Authorization=f"Bearer {admin}").post("/keys", json={"namespaces": [name], "role": "reader"}), 201
    )
    own = {"Authorization": f"Bearer {made['key']}"}
    eventually(lambda: routed.client(1, **own).get("/agents/me").status_code == 200)
    assert memories(routed.proxies[0].client(**own, **{"X-Namespace": name}).get("/memories")) == ["The heron stands still."]


@pytest.mark.parametrize("call", ["recall", "keys", "changes", "events"])
def test_namespaces_of_two_cells_in_one_call_are_refused_with_their_cells(routed: Routed, call: str) -> None:
    near, (far, _) = routed.team(1), routed.far()
    eventually(lambda: routed.cells.value(1, f"select count(*) from loci_data.namespace_cells where name = '{far}'"))
    routed.known(near, 1)
    client, both = routed.proxies[0].client(), [near, far]
    reply = {
        "recall": lambda: client.post("/recall", json={"query": "heron", "namespaces": both}),
        "keys": lambda: client.post("/keys", json={"namespaces": both}),
        "changes": lambda: client.get("/changes", params={"namespace": both}),
        "events": lambda: client.get("/events", params={"namespace": both}),
    }[call]()
    said = problem(reply, 422, "invalid-request")["detail"]
    assert f"{near} is in cell 1, {far} is in cell 2" in said


@pytest.mark.quick
def test_a_stranger_is_not_told_in_which_cells_namespaces_are(routed: Routed) -> None:
    near, (far, _), own = routed.team(1), routed.far(), routed.team(1)
    stranger = routed.client(1, Authorization=f"Bearer {routed.key(1, own)}")
    reply = stranger.post("/recall", json={"query": "heron", "namespaces": [near, far]})
    assert (reply.status_code, "cell" in reply.text) == (403, False)


@pytest.mark.quick
def test_a_stale_map_is_answered_with_the_right_cell_and_never_from_before(routed: Routed) -> None:
    name, _ = routed.far()
    proxy = routed.proxies[1]
    routed.known(name, 2, 1)

    def ask_the_wrong_cell() -> httpx.Response | None:
        """The reply by a stale map; None where whoever writes the maps has set it right in between."""
        proxy.ask(f"set map {proxy.maps}/namespaces.map {name} cell_1")
        reply = proxy.client(**{"X-Namespace": name}).get("/memories")
        return None if reply.status_code == 200 else reply

    reply = eventually(ask_the_wrong_cell)
    problem(reply, 503, "in-another-cell")
    assert (reply.headers["Retry-After"], reply.headers["X-Loci-Cell"]) == ("1", "2")


def test_a_cell_that_is_drained_ends_what_runs_and_its_clients_are_told_to_try_again(routed: Routed) -> None:
    name, _ = routed.far()
    proxy = routed.proxies[1]
    client = proxy.client(**{"X-Namespace": name})
    routed.known(name, 2, 1)
    with ThreadPoolExecutor() as pool:
        running = pool.submit(client.get, "/changes", params={"kind": "turn", "wait": 5})
        eventually(lambda: proxy.sessions(2) > 0)
        proxy.ask("set server cell_2/cell_2 state maint")
        try:
            refused = proxy.client(**{"X-Namespace": name}).get("/memories")
            problem(refused, 503, "unavailable")
            assert refused.headers["Retry-After"] == "1"
            assert ok(running.result())["items"] == []
            assert proxy.client().get("/namespaces/default").status_code == 200
        finally:
            proxy.ask("set server cell_2/cell_2 state ready")
    eventually(lambda: proxy.client(**{"X-Namespace": name}).get("/memories").status_code == 200)


def test_one_haproxy_is_killed_and_the_other_answers_the_same(routed: Routed) -> None:
    name, _ = routed.far()
    first, second = routed.proxies
    routed.known(name, 2, 1)
    first.kill()
    try:
        with pytest.raises(httpx.TransportError):
            first.client().get("/namespaces/default")
        moved = routed.team(2)
        routed.known(moved, 2, 1)  # whoever writes the maps goes on without the one that has gone
        for each in (name, moved):
            eventually(lambda each=each: second.client(**{"X-Namespace": each}).get("/memories").status_code == 200)
    finally:
        first.start()
    eventually(lambda: first.client(**{"X-Namespace": moved}).get("/memories").status_code == 200)


@dataclass
class Writer:
    """Writes through HAProxy one memory after the other, and tries again as it is told, or where another one answers."""

    clients: list[httpx.Client]
    name: str
    stop: threading.Event = field(default_factory=threading.Event)
    acknowledged: list[str] = field(default_factory=list)
    again: set[int] = field(default_factory=set)

    def work(self) -> None:
        """Write until stopped."""
        nth = 0
        while not self.stop.is_set():
            nth += 1
            content = f"{self.name} counts heron {nth}"
            headers = {"Idempotency-Key": f"{self.name}-{nth}"}
            while not self.send(content, headers):
                time.sleep(0.05)
            self.acknowledged.append(content)
            time.sleep(0.02)

    def send(self, content: str, headers: dict[str, str]) -> bool:
        """Whether a write was acknowledged."""
        try:
            reply = self.clients[0].post("/memories", json={"content": content}, headers=headers)
        except httpx.TransportError:
            self.clients.append(self.clients.pop(0))
            return False
        if reply.status_code != 201:
            assert "Retry-After" in reply.headers, reply.text
            self.again.add(reply.status_code)
        return reply.status_code == 201


@contextmanager
def writing(routed: Routed, name: str, *proxies: int) -> Iterator[list[Writer]]:
    """Writers until the block ends, each with an HAProxy to begin with."""
    places = [[*routed.proxies[nth:], *routed.proxies[:nth]] for nth in proxies]
    made = [Writer([proxy.client(**{"X-Namespace": name}) for proxy in place], f"writer{nth}") for nth, place in enumerate(places)]
    threads = [threading.Thread(target=each.work, daemon=True) for each in made]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        for each in made:
            each.stop.set()
        for thread in threads:
            thread.join(PATIENCE)


def changes_of(routed: Routed, number: int, name: str) -> list[dict[str, Any]]:
    """All changes of a namespace, in its cell."""
    found: list[dict[str, Any]] = []
    query = {"namespace": name, "after": "0", "limit": 1000}
    while page := ok(routed.client(number).get("/changes", params=query))["items"]:
        found += page
        query["after"] = page[-1]["cursor"]
    assert [row["position"] for row in found] == list(range(1, len(found) + 1))
    return found


def told_of(routed: Routed, number: int, name: str) -> list[str]:
    """What the feed of a namespace says was written."""
    rows = changes_of(routed, number, name)
    return sorted(row["content"] for row in rows if (row["kind"], row["action"]) == ("memory", "created"))


def everything_of(writers: list[Writer]) -> list[str]:
    """What a far namespace has, with what these were told is written."""
    return sorted(["The heron stands still.", *(content for each in writers for content in each.acknowledged)])


def test_a_move_behind_haproxy_loses_nothing_and_writers_find_the_new_cell(routed: Routed) -> None:
    name, _ = routed.far()
    with writing(routed, name, 0, 1) as writers:
        time.sleep(0.3)
        routed.move(name, 1)
        routed.known(name, 1)
        begun = [len(each.acknowledged) for each in writers]
        eventually(lambda: all(len(each.acknowledged) > one for each, one in zip(writers, begun, strict=True)))
        routed.move(name, 2)
        eventually(lambda: all(len(each.acknowledged) > one for each, one in zip(writers, begun, strict=True)))
    assert told_of(routed, 2, name) == everything_of(writers)
    assert set.union(*(each.again for each in writers)) <= {AGAIN}


@pytest.mark.parametrize("point", POINTS)
def test_haproxy_killed_anywhere_in_a_move_loses_nothing_and_its_clients_go_on(routed: Routed, point: str) -> None:
    name, _ = routed.far()
    first = routed.proxies[0]

    def kill(step: str) -> None:
        if step == point:
            first.kill()

    with writing(routed, name, 0, 1) as writers:
        try:
            routed.move(name, 1, kill)
            routed.known(name, 1, 1)
            begun = [len(each.acknowledged) for each in writers]
            eventually(lambda: all(len(each.acknowledged) > one for each, one in zip(writers, begun, strict=True)))
        finally:
            first.start()
    routed.known(name, 1)
    eventually(lambda: first.client(**{"X-Namespace": name}).get("/memories").status_code == 200)
    assert told_of(routed, 1, name) == everything_of(writers)


def test_a_stream_goes_on_in_the_new_cell_where_it_broke_off(routed: Routed) -> None:
    name, key = routed.far()
    told: list[str] = []
    watcher = LociClient(f"http://127.0.0.1:{routed.proxies[0].port}", key=key, namespace=name)

    def watch() -> None:
        with suppress(Exception):  # the end of the test
            changes = watcher.operations.watch(after="0", kind="memory", namespace=name)
            told.extend(str(change.content) for change in changes if change.action == "created")

    threading.Thread(target=watch, daemon=True).start()
    eventually(lambda: told == ["The heron stands still."])
    routed.move(name, 1)
    routed.known(name, 1)
    for nth in range(5):
        ok(routed.client(1, **{"X-Namespace": name}).post("/memories", json={"content": f"behind the move {nth}"}), 201)
    expected = ["The heron stands still.", *(f"behind the move {nth}" for nth in range(5))]
    eventually(lambda: len(told) >= len(expected))
    assert told == expected
    watcher.close()


@pytest.mark.row("X12")
def test_a_reader_of_all_namespaces_of_both_cells_has_no_gap_over_moves(routed: Routed) -> None:
    name, _ = routed.far()
    reader = Reader(routed)
    eventually(lambda: [reader.read(n) for n in (1, 2)] and (name, 1) in reader.told)
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            for number in (1, 2):
                reader.read(number)
            time.sleep(0.05)

    with ThreadPoolExecutor() as pool, writing(routed, name, 0):
        reading = pool.submit(read)
        for number in (1, 2):
            routed.move(name, number)
            time.sleep(0.5)
        done.set()
        reading.result()

    def has_all() -> bool:
        for number in (1, 2):
            reader.read(number)
        read = [position for space, position in sorted(reader.told) if space == name]
        return read == [row["position"] for row in changes_of(routed, 2, name)]

    eventually(has_all)
