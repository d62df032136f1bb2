"""Two cells, each a server and a service: agents are known in both, and namespaces move between them while agents write."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg.rows import dict_row

from db.cells.cells import add_cell, check_cells, remove_cell, set_cell
from db.cells.database import CellError
from db.cells.move import STEPS, move_namespace, plan_move
from tests.distributed.cells import Cells, running_cells
from tests.services import Service, eventually, ok, problem, serve

AGAIN = 503
VECTORS = {"provider": "static"}


@dataclass(frozen=True)
class Pair:
    """Two cells with their services."""

    cells: Cells
    services: tuple[Service, Service]

    def client(self, number: int, **headers: str) -> httpx.Client:
        """A client of a cell's service."""
        return self.services[number - 1].client(**headers)

    def team(self, number: int = 1) -> str:
        """A new namespace in a cell."""
        name = f"team-{uuid4().hex[:12]}"
        ok(self.client(number).post("/namespaces", json={"name": name}), 201)
        return name

    def key(self, number: int, name: str, role: str = "writer") -> str:
        """A new key in a namespace there."""
        made = ok(self.client(number, **{"X-Namespace": name}).post("/keys", json={"name": "agent", "role": role}), 201)
        return str(made["key"])

    def move(self, name: str, number: int, watch: Callable[[str], None] = lambda _: None) -> Any:
        """Move a namespace from the other cell."""
        return move_namespace(self.cells.url(3 - number), name, number, watch=watch)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two joined cells with services."""
    with (
        running_cells() as cells,
        serve(cells.one.database, embedding=VECTORS) as one,
        serve(cells.two.database, embedding=VECTORS) as two,
    ):
        eventually(
            lambda: [cells.value(n, "select count(*) from loci_data.embedding_models where active") for n in (1, 2)] == [1, 1]
        )
        yield Pair(cells, (one, two))


@dataclass
class Agent:
    """Writes one memory after the other to whichever cell takes it, as one behind a router whose map is late."""

    pair: Pair
    key: str
    name: str
    at: int = 1
    acknowledged: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    refused: list[httpx.Response] = field(default_factory=list)

    def work(self) -> None:
        """Write until stopped."""
        clients = {n: self.pair.client(n, Authorization=f"Bearer {self.key}") for n in (1, 2)}
        nth = 0
        while not self.stop.is_set():
            nth += 1
            content = f"{self.name} saw sail number {nth}"
            headers = {"Idempotency-Key": f"{self.name}-{nth}"}
            while (reply := clients[self.at].post("/memories", json={"content": content}, headers=headers)).status_code != 201:
                self.refused.append(reply)
                assert (reply.status_code, "Retry-After" in reply.headers) == (AGAIN, True), reply.text
                self.at = int(reply.headers.get("X-Loci-Cell", self.at))
                time.sleep(0.02)
            self.acknowledged.append(content)
            time.sleep(0.02)


@contextmanager
def writing(pair: Pair, name: str, number: int, agents: int = 3) -> Iterator[list[Agent]]:
    """Agents that write to a namespace until the block ends; what they were told is checked by the caller."""
    made = [Agent(pair, pair.key(number, name), f"agent{nth}", number) for nth in range(agents)]
    threads = [threading.Thread(target=agent.work, daemon=True) for agent in made]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        for agent in made:
            agent.stop.set()
        for thread in threads:
            thread.join(60)


def everything(client: httpx.Client, path: str, **parameters: Any) -> list[Any]:
    """All items of a list, page by page."""
    found: list[Any] = []
    cursor = None
    while True:
        page = ok(client.get(path, params={**parameters, "limit": 100, **({"cursor": cursor} if cursor else {})}))
        found += page["items"]
        if (cursor := page["next_cursor"]) is None:
            return found


def feed(client: httpx.Client, name: str, after: str = "0") -> list[Any]:
    """All changes after a cursor."""
    found: list[Any] = []
    while page := ok(client.get("/changes", params={"namespace": name, "after": after, "limit": 1000}))["items"]:
        found += page
        after = page[-1]["cursor"]
    return found


def contents(pair: Pair, number: int, name: str) -> list[str]:
    """What the memories of a namespace say, in one cell."""
    return sorted(row["content"] for row in everything(pair.client(number, **{"X-Namespace": name}), "/memories"))


def rows_left(pair: Pair, number: int, namespace_id: object) -> dict[str, int]:
    """Rows that a cell has of a namespace."""
    found: Any = pair.cells.value(number, f"select loci_internal.count_moved_rows({namespace_id})")
    return dict(found)


def id_of(pair: Pair, name: str) -> object:
    return pair.cells.value(1, f"select namespace_id from loci_data.namespace_cells where name = '{name}'")


def fill(pair: Pair, name: str, number: int = 1, count: int = 40) -> None:
    """Memories with vectors, entities and edges."""
    client = pair.client(number, **{"X-Namespace": name})
    items = [{"content": f"Alice painted boat {nth} blue in Kiel."} for nth in range(count)]
    ok(client.post("/memories/batch", json={"items": items}))
    for nth in range(5):
        ok(client.post("/edges", json={"source": "Alice", "type": "knows", "target": f"Bob {nth}"}), 201)
    eventually(lambda: ok(client.get(f"/namespaces/{name}"))["pending_embeddings"] == 0)


def test_a_namespace_moves_there_and_back_under_writers_and_nothing_is_lost_or_doubled(pair: Pair) -> None:
    name = pair.team()
    fill(pair, name)
    before = contents(pair, 1, name)
    with writing(pair, name, 1) as agents:
        time.sleep(0.5)
        moved = [pair.move(name, number) for number in (2, 1)]
        time.sleep(0.5)
    written = sorted(content for agent in agents for content in agent.acknowledged)
    assert contents(pair, 1, name) == sorted([*before, *written])
    changes = feed(pair.client(1), name)
    assert [each["position"] for each in changes] == list(range(1, len(changes) + 1))
    told = [each["content"] for each in changes if each["kind"] == "memory" and each["action"] == "created"]
    assert sorted(told) == sorted([*before, *written])
    assert [each["after"]["cell"] for each in changes if each["action"] == "moved"] == [2, 1]
    assert all(0 < each["held_seconds"] < 30 for each in moved)
    assert check_cells(pair.cells.url(1)) == []


def test_words_vectors_graph_idempotency_and_undo_come_along(pair: Pair) -> None:
    name = pair.team()
    fill(pair, name)
    key = {"Authorization": f"Bearer {pair.key(1, name)}"}
    body = {"content": "The lighthouse keeper owns a red kayak."}
    first = pair.client(1, **key).post("/memories", json=body, headers={"Idempotency-Key": "once"})
    ok(first, 201)
    here, there = pair.client(1, **key), pair.client(2, **key)
    eventually(lambda: ok(pair.client(1).get(f"/namespaces/{name}"))["pending_embeddings"] == 0)
    question = {"query": "who owns the kayak?", "k": 5}
    asked = [hit["content"] for hit in ok(here.post("/recall", json=question))["results"]]
    kept = rows_left(pair, 1, id_of(pair, name))
    pair.move(name, 2)
    assert [hit["content"] for hit in ok(there.post("/recall", json=question))["results"]] == asked
    again = there.post("/memories", json=body, headers={"Idempotency-Key": "once"})
    assert (again.json()["id"], again.headers["Idempotency-Replayed"]) == (first.json()["id"], "true")
    assert kept["loci_data.memory_vectors"] == 41
    assert rows_left(pair, 2, id_of(pair, name))["loci_data.memory_vectors"] == 41
    assert len(everything(there, "/edges")) == 5
    ok(there.post(f"/operations/{first.headers['X-Operation-Id']}/undo"))
    assert body["content"] not in [row["content"] for row in everything(there, "/memories") if row["status"] == "active"]
    assert [row["broken"] for row in ok_verify(pair, 2, name) if row["broken"]] == []
    assert rows_left(pair, 1, id_of(pair, name)) == {}


def ok_verify(pair: Pair, number: int, name: str) -> list[dict[str, Any]]:
    """What `loci verify` finds in a cell."""
    with psycopg.connect(pair.cells.url(number), row_factory=dict_row) as connection:
        connection.execute("select set_config('loci.agent', loci_internal.operator_id()::text, false)")
        return connection.execute("select * from loci.verify(%s)", [name]).fetchall()


@pytest.mark.parametrize("by", ["header", "key", "operator"])
def test_what_has_moved_is_refused_with_its_cell_and_never_answered_from_before(pair: Pair, by: str) -> None:
    name = pair.team()
    key = pair.key(1, name)
    headers = {"operator": {"X-Namespace": name}, "key": {"Authorization": f"Bearer {key}"}}
    headers["header"] = {**headers["key"], "X-Namespace": name}
    client = pair.client(1, **headers[by])
    ok(client.post("/memories", json={"content": "old answer"}), 201)
    pair.move(name, 2)
    for reply in (
        client.get("/memories"),
        client.post("/memories", json={"content": "new"}),
        client.post("/recall", json={"query": "old"}),
    ):
        problem(reply, 503, "in-another-cell")
        assert (reply.headers["X-Loci-Cell"], reply.headers["Retry-After"]) == ("2", "1")
    assert ok(pair.client(2, **headers[by]).get("/memories"))["items"][0]["content"] == "old answer"


def test_a_stranger_learns_nothing_of_a_namespace_that_has_moved(pair: Pair) -> None:
    name, own = pair.team(), pair.team()
    stranger = pair.client(1, Authorization=f"Bearer {pair.key(1, own)}", **{"X-Namespace": name})
    pair.move(name, 2)
    told = stranger.get("/memories")
    unknown = stranger.get("/memories", headers={"X-Namespace": "nowhere"})
    assert (told.status_code, told.json()["detail"]) == (403, f"no access to namespace '{name}'")
    assert unknown.json()["detail"] == "no access to namespace 'nowhere'"
    assert "X-Loci-Cell" not in told.headers


def test_what_moves_is_numbered_within_its_namespace(pair: Pair) -> None:
    other = """select count(*) from loci_internal.moved_tables() t join pg_index i on i.indrelid = t and i.indisprimary
               join pg_attribute a on a.attrelid = t and a.attnum = i.indkey[0] where a.attname <> 'namespace_id'"""
    assert pair.cells.value(1, other) == 0


class Killed(Exception):
    """The mover was killed here."""


POINTS = ["planned", *(f"{step}{when}" for step in STEPS for when in (" unnoted", ""))]


@pytest.mark.parametrize("point", POINTS)
def test_a_mover_killed_anywhere_is_followed_by_one_that_ends_it(pair: Pair, point: str) -> None:
    name = pair.team()
    fill(pair, name, count=10)
    before = contents(pair, 1, name)

    def kill(step: str) -> None:
        if step == point:
            raise Killed

    with writing(pair, name, 1, agents=1) as agents:
        with pytest.raises(Killed):
            pair.move(name, 2, kill)
        assert len(holders(pair, name)) <= 1
        pair.move(name, 2)
        time.sleep(0.1)
    assert holders(pair, name) == [2]
    assert contents(pair, 2, name) == sorted([*before, *agents[0].acknowledged])
    assert rows_left(pair, 1, id_of(pair, name)) == {}
    assert check_cells(pair.cells.url(1)) == []


def holders(pair: Pair, name: str) -> list[int]:
    """Cells that would take a write."""
    return [n for n in (1, 2) if pair.cells.value(n, f"select count(*) from loci_data.namespaces where name = '{name}'")]


@pytest.mark.parametrize("way", ["call", "row"])
def test_a_writer_let_in_before_the_fence_writes_nothing_behind_it(pair: Pair, way: str) -> None:
    name = pair.team()
    number = id_of(pair, name)
    with psycopg.connect(pair.cells.url(1)) as late:
        late.execute("select loci_api.begin_request(null, %s, 'writer')", [name])
        pair.move(name, 2)
        with pytest.raises(psycopg.Error) as refused:  # noqa: PT012 (one of two)
            if way == "call":
                late.execute('select loci_api.remember(%s, \'[{"content": "late"}]\')', [name])
            else:  # as a function does that has asked already
                late.execute("select loci_internal.log_change(%s, 'turn', 'created', null, null, '{}')", [number])
        assert refused.value.sqlstate == ("LOCI1" if way == "call" else "23503")
    assert contents(pair, 2, name) == []


def test_an_open_transaction_is_waited_for_and_what_it_writes_comes_along(pair: Pair) -> None:
    name = pair.team()
    step = f"select step from loci_data.namespace_moves where name = '{name}'"
    with psycopg.connect(pair.cells.url(1)) as slow:

        def write(at: str) -> None:
            if at == "copied":
                slow.execute("select loci_api.begin_request(null, %s, 'writer')", [name])
                slow.execute("select loci_api.remember(%s, %s)", [name, '[{"content": "slow"}]'])

        mover = threading.Thread(target=pair.move, args=(name, 2, write))
        mover.start()
        eventually(lambda: slow.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS)
        time.sleep(1.0)
        assert pair.cells.value(1, step) == "copied"
        slow.commit()
        mover.join(60)
    assert contents(pair, 2, name) == ["slow"]


def test_a_reader_of_all_namespaces_is_told_of_one_that_arrives(pair: Pair) -> None:
    name, own = pair.team(1), pair.team(2)
    ok(pair.client(1, **{"X-Namespace": name}).post("/memories", json={"content": "brought along"}), 201)
    ok(pair.client(2, **{"X-Namespace": own}).post("/memories", json={"content": "here before"}), 201)
    client = pair.client(2)
    last = eventually(lambda: feed(client, "*"))[-1]["cursor"]
    pair.move(name, 2)
    arrived = eventually(lambda: [each for each in feed(client, "*", last) if each["action"] == "moved"])
    assert [(each["namespace"], each["before"]["cell"], each["after"]["cell"]) for each in arrived] == [(name, 1, 2)]
    assert "brought along" in [each["content"] for each in feed(client, name)]


def test_keys_made_and_revoked_while_the_link_is_cut_are_right_soon_after(pair: Pair) -> None:
    name = pair.team(1)
    keys = [pair.key(1, name, "admin") for _ in range(5)]
    here, there = pair.client(1, **{"X-Namespace": name}), pair.client(2)

    def known(key: str) -> bool:
        return there.get("/agents/me", headers={"Authorization": f"Bearer {key}"}).status_code == 200

    eventually(lambda: all(map(known, keys)))
    link = "loci_identity_1_to_2"
    pair.cells.value(2, f"alter subscription {link} disable")
    try:
        for row in ok(here.get("/keys"))["items"]:
            if row["name"] == "agent":
                assert here.delete(f"/keys/{row['id']}").status_code == 204
        late = [pair.key(1, name) for _ in range(5)]
        assert [known(key) for key in [*keys, *late]] == [True] * 5 + [False] * 5
    finally:
        pair.cells.value(2, f"alter subscription {link} enable")
    eventually(lambda: [known(key) for key in [*keys, *late]] == [False] * 5 + [True] * 5)


def test_a_use_of_a_key_elsewhere_does_not_take_its_revocation_back(pair: Pair) -> None:
    name = pair.team(1)
    key = pair.key(1, name)
    identity = str(pair.cells.value(1, f"select id from loci_data.api_keys where hash = sha256('{key}'::bytea)"))
    eventually(lambda: pair.cells.value(2, f"select count(*) from loci_data.api_keys where id = '{identity}'") == 1)
    pair.cells.value(2, "alter subscription loci_identity_1_to_2 disable")
    try:
        pair.cells.value(1, f"update loci_data.api_keys set revoked_at = now() where id = '{identity}'")
        pair.cells.value(2, f"update loci_data.api_keys set last_used_at = now() where id = '{identity}'")
        seen = "select last_used_at is not null from loci_data.api_keys where id"
        eventually(lambda: pair.cells.value(1, f"{seen} = '{identity}'"))
        assert pair.cells.value(1, f"select revoked_at is not null from loci_data.api_keys where id = '{identity}'")
    finally:
        pair.cells.value(2, "alter subscription loci_identity_1_to_2 enable")
    eventually(lambda: pair.cells.value(2, f"select revoked_at is not null from loci_data.api_keys where id = '{identity}'"))


def test_deleting_a_namespace_takes_its_grants_in_every_cell_and_its_place_in_the_directory(pair: Pair) -> None:
    name = pair.team(1)
    pair.key(1, name)
    number = id_of(pair, name)
    counts = [f"select count(*) from loci_data.{table} where namespace_id = {number}" for table in ("grants", "namespace_cells")]
    eventually(lambda: [pair.cells.value(2, each) for each in counts] == [1, 1])
    assert pair.client(1).delete(f"/namespaces/{name}").status_code == 204
    eventually(lambda: [pair.cells.value(2, each) for each in counts] == [0, 0])


def test_a_name_that_is_taken_in_another_cell_is_taken(pair: Pair) -> None:
    name = pair.team(1)
    eventually(lambda: pair.cells.value(2, f"select count(*) from loci_data.namespace_cells where name = '{name}'") == 1)
    problem(pair.client(2).post("/namespaces", json={"name": name}), 409, "conflict")


def test_numbers_of_namespaces_are_of_the_range_of_their_cell(pair: Pair) -> None:
    made = [pair.cells.value(n, f"select id from loci_data.namespaces where name = '{pair.team(n)}'") for n in (1, 2)]
    assert [number // 10_000_001 for number in made] == [0, 1]  # type: ignore[operator]
    assert [pair.cells.value(n, "select count(*) from loci_data.namespaces where name = 'default'") for n in (1, 2)] == [1, 0]


@pytest.mark.parametrize(
    ("asked", "said"), [("missing", "is not in this cell"), ("same", "is in cell 1"), ("elsewhere", "is not in this cell")]
)
def test_a_move_that_cannot_be_is_refused_by_name(pair: Pair, asked: str, said: str) -> None:
    name = "nowhere" if asked == "missing" else pair.team(2 if asked == "elsewhere" else 1)
    with pytest.raises(CellError, match=said):
        move_namespace(pair.cells.url(1), name, 1 if asked == "same" else 2)


def test_a_move_is_refused_while_the_cells_are_at_different_revisions(pair: Pair) -> None:
    name = pair.team()
    head = pair.cells.value(2, "select version_num from public.loci_version")
    pair.cells.value(2, "update public.loci_version set version_num = 'later'")
    try:
        with pytest.raises(CellError, match="different revisions"):
            pair.move(name, 2)
        assert any("no moves while they differ" in each["problem"] for each in check_cells(pair.cells.url(1)))
    finally:
        pair.cells.value(2, f"update public.loci_version set version_num = '{head}'")


def test_a_plan_says_how_much_it_is_and_changes_nothing(pair: Pair) -> None:
    name = pair.team()
    fill(pair, name, count=10)
    plan = plan_move(pair.cells.url(1), name, 2)
    assert (plan["rows"] > 50, plan["bytes"] > 1000, plan["held_seconds"] > 0) == (True, True, True)
    assert pair.cells.value(1, f"select count(*) from loci_data.namespace_moves where name = '{name}'") == 0


def test_two_cells_that_claim_one_namespace_are_named(pair: Pair) -> None:
    name = pair.team()
    number = id_of(pair, name)
    pair.cells.value(
        2,
        f"set session_replication_role = replica; insert into loci_data.namespaces (id, name) overriding system value values ({number}, '{name}')",
    )
    try:
        said = [each["problem"] for each in check_cells(pair.cells.url(1))]
        assert f"namespace {name} is in cells 1 and 2: stop the one that was set back" in said
    finally:
        pair.cells.value(2, f"set session_replication_role = replica; delete from loci_data.namespaces where id = {number}")


def test_a_cell_that_has_namespaces_stays_and_a_number_is_for_good(pair: Pair) -> None:
    pair.team(2)
    eventually(lambda: pair.cells.value(1, "select count(*) from loci_data.namespace_cells where cell_id = 2"))
    with pytest.raises(CellError, match="cell 2 has"):
        remove_cell(pair.cells.url(1), 2)
    with pytest.raises(CellError, match="cannot become cell 3"):
        set_cell(pair.cells.url(2), 3)
    assert add_cell(pair.cells.url(1), url="http://cell2.example", database_url=pair.cells.url(2)) == 2
