"""Two cells, each a server and a service: agents are known in both, and namespaces move between them while agents write."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from db.cells import move
from db.cells.cells import add_cell, check_cells, release_namespace, remove_cell, set_cell
from db.cells.database import CellError, connect
from db.cells.move import move_namespace, plan_move
from tests.distributed.cells import AGAIN, POINTS, Pair, running_cells
from tests.services import PATIENCE, eventually, is_settled, ok, problem, serve
from tests.transfer.rich import contents as contents_of
from tests.transfer.rich import fill as fill_richly

pytestmark = pytest.mark.release
KEYS = "select string_agg(id::text || (revoked_at is not null), ' ' order by id) from loci_data.api_keys"
SOON = 5.0  # seconds in which a cell knows what it could not hear
VECTORS = {"provider": "static"}


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
            thread.join(PATIENCE)


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
    settle(pair, number)


def settle(pair: Pair, number: int) -> None:
    """Wait until a cell has done what comes behind writes."""
    eventually(lambda: is_settled((pair.cells.one, pair.cells.two)[number - 1].database))


@pytest.mark.quick
@pytest.mark.row("X12")
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
    settle(pair, 1)
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


@pytest.mark.quick
@pytest.mark.parametrize("by", ["header", "key", "operator"])
def test_a_moved_namespace_is_refused_with_its_cell(pair: Pair, by: str) -> None:
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


@pytest.mark.quick
def test_a_stranger_learns_nothing_of_a_namespace_that_has_moved(pair: Pair) -> None:
    name, own = pair.team(), pair.team()
    stranger = pair.client(1, Authorization=f"Bearer {pair.key(1, own)}", **{"X-Namespace": name})
    pair.move(name, 2)
    told = stranger.get("/memories")
    unknown = stranger.get("/memories", headers={"X-Namespace": "nowhere"})
    assert (told.status_code, told.json()["detail"]) == (403, f"no access to namespace '{name}'")
    assert unknown.json()["detail"] == "no access to namespace 'nowhere'"
    assert "X-Loci-Cell" not in told.headers


def test_moved_rows_are_numbered_within_their_namespace(pair: Pair) -> None:
    other = """select count(*) from loci_internal.moved_tables() t join pg_index i on i.indrelid = t and i.indisprimary
               join pg_attribute a on a.attrelid = t and a.attnum = i.indkey[0] where a.attname <> 'namespace_id'"""
    assert pair.cells.value(1, other) == 0


def test_everything_that_a_namespace_has_comes_along(pair: Pair) -> None:
    name = f"rich-{uuid4().hex[:12]}"
    with psycopg.connect(pair.cells.one.database.app_url, row_factory=dict_row) as connection:
        fill_richly(connection, name)
    settle(pair, 1)
    with psycopg.connect(pair.cells.url(1), autocommit=True) as connection:  # and what no call of the above makes
        number = connection.execute("select id from loci_data.namespaces where name = %s", [name]).fetchone()
        connection.execute("set session_replication_role = replica")
        connection.execute(
            "insert into loci_data.map_layouts (namespace_id, model_id, dims, memories) select %s, id, 2, 0 from loci_data.embedding_models",
            number,
        )
    moved = {"operations", "operation_counts", "outbox", "changes"}  # what the move adds to
    apart = moved | {
        "feeds",
        "namespace_cells",
        "namespace_locks",
        "namespace_moves",
        "key_uses",
        "working_memory",
    }  # some of it ends
    before = contents_of(pair.cells.one.database, name, without=frozenset(apart))
    pair.move(name, 2)
    settle(pair, 2)
    after = contents_of(pair.cells.two.database, name, without=frozenset(apart))
    assert {table for table in before if before[table] != after[table]} == set()
    filled = {table for table, found in after.items() if found}
    assert filled >= {"recalls", "recall_results", "memory_vectors", "entity_vectors", "map_layouts", "conversation_turns"}


def test_a_job_that_has_not_ended_waits_in_the_new_cell_and_nowhere_else(pair: Pair) -> None:
    name = pair.team()
    number = id_of(pair, name)
    work = f"{number}, 'tune', '{{\"questions\": []}}', p_due_at => now() + interval '1 hour'"
    pair.cells.value(1, f"select id from loci_internal.insert_job({work})")
    pair.move(name, 2)
    queued = f"select count(*) from loci_jobs.procrastinate_jobs where args ->> 'namespace_id' = '{number}' and status = 'todo'"
    assert [pair.cells.value(n, queued) for n in (1, 2)] == [0, 1]
    here = pair.client(2, **{"X-Namespace": name})
    assert [(job["kind"], job["state"]) for job in ok(here.get("/jobs"))["items"]] == [("tune", "waiting")]
    due = "update loci_jobs.procrastinate_jobs set scheduled_at = null where status = 'todo' and args ->> 'namespace_id'"
    pair.cells.value(2, f"{due} = '{number}'")
    eventually(lambda: [job["state"] for job in ok(here.get("/jobs"))["items"]] == ["succeeded"])


@pytest.mark.parametrize("changed", ["memories", "memory_vectors", "entities"])
def test_rows_that_differ_at_the_cut_stop_it_and_the_next_try_copies_anew(pair: Pair, changed: str) -> None:
    name = pair.team()
    fill(pair, name, count=5)
    number = id_of(pair, name)
    change = {
        "memories": "update loci_data.memories set importance = importance + 0.01",
        "memory_vectors": "update loci_data.memory_vectors set embedding = (select array_agg(-v) from unnest(embedding::real[]) v)::halfvec",
        "entities": "update loci_data.entities set description = 'another'",
    }[changed]

    def spoil(step: str) -> None:
        if step == "copied":
            pair.cells.value(2, f"set session_replication_role = replica; {change} where namespace_id = {number}")

    with pytest.raises(CellError, match=rf"not the same rows of {name}: loci_data.{changed}$"):
        pair.move(name, 2, spoil)
    assert holders(pair, name) == [1]
    ok(pair.client(1, **{"X-Namespace": name}).post("/memories", json={"content": "goes on here"}), 201)
    pair.move(name, 2)
    assert "goes on here" in contents(pair, 2, name)
    assert (
        pair.cells.value(2, f"select count(*) from loci_data.entities where namespace_id = {number} and description = 'another'")
        == 0
    )


@pytest.mark.parametrize("changed", ["more", "other", "fewer"])
def test_rows_that_changed_after_the_comparison_and_differ_stop_the_cut(
    pair: Pair, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = pair.team()
    fill(pair, name, count=5)
    there = f"loci_data.memory_links where namespace_id = {id_of(pair, name)}"
    client = pair.client(1, **{"X-Namespace": name})
    one, other = (row["id"] for row in ok(client.get("/memories", params={"limit": 2}))["items"])
    ok(client.post(f"/memories/{one}/links", json={"target_id": other, "type": "supports"}), 201)
    change = {
        "more": 'insert into loci_data.memory_links select (jsonb_populate_record(l, \'{"type": "cites"}\')).* from loci_data.memory_links l',
        "other": "update loci_data.memory_links set type = 'cites'",
        "fewer": "delete from loci_data.memory_links",
    }[changed]
    compare = move._compare_all

    def spoil(ends: move.Ends) -> move.Moment:
        moment = compare(ends)
        pair.cells.value(2, f"set session_replication_role = replica; {change} where namespace_id = {id_of(pair, name)}")
        return moment

    with monkeypatch.context() as patched:
        patched.setattr(move, "_compare_all", spoil)
        with pytest.raises(CellError, match=rf"not the same rows of {name}: loci_data.memory_links$"):
            pair.move(name, 2)
    assert holders(pair, name) == [1]
    pair.move(name, 2)
    assert pair.cells.value(2, f"select count(*) from {there}") == 1


def test_a_namespace_moved_to_another_model_is_embedded_anew(pair: Pair) -> None:
    name = pair.team()
    fill(pair, name, count=5)
    before = rows_left(pair, 1, id_of(pair, name))["loci_data.memory_vectors"]
    model = str(pair.cells.value(2, "select name from loci_data.embedding_models where active"))
    pair.cells.value(2, "update loci_data.embedding_models set name = 'another' where active")
    made = "select min(tableoid::regclass::text) from loci_data.memory_vectors where namespace_id"
    seen: list[object] = []
    try:
        pair.move(
            name, 2, lambda step: seen.append(pair.cells.value(2, f"{made} = {id_of(pair, name)}")) if step == "fenced" else None
        )
    finally:
        pair.cells.value(2, f"update loci_data.embedding_models set name = '{model}' where active")
    assert seen == [None]
    eventually(lambda: rows_left(pair, 2, id_of(pair, name)).get("loci_data.memory_vectors") == before)
    hits = ok(pair.client(2, **{"X-Namespace": name}).post("/recall", json={"query": "a blue boat", "k": 3}))["results"]
    assert hits


def test_a_cell_that_claims_what_its_directory_has_elsewhere_starts_no_service_until_it_lets_go(pair: Pair) -> None:
    name = pair.team()
    ok(pair.client(1, **{"X-Namespace": name}).post("/memories", json={"content": "the later one"}), 201)
    number = id_of(pair, name)
    row = pair.cells.value(1, f"select to_jsonb(n) from loci_data.namespaces n where id = {number}")
    pair.move(name, 2)
    with psycopg.connect(pair.cells.url(1), autocommit=True) as connection:  # as it was before the move
        connection.execute("set session_replication_role = replica")
        connection.execute(
            "insert into loci_data.namespaces overriding system value "
            "select * from jsonb_populate_record(null::loci_data.namespaces, %s)",
            [Jsonb(row)],
        )
    said = "its directory has in another cell"
    assert said in str(pair.cells.value(1, "select problem from loci_api.cell_state()"))
    with pytest.raises(RuntimeError, match="did not start"), serve(pair.cells.one.database):
        pass
    assert any(f"namespace {name} is in cells 1 and 2" in each["problem"] for each in check_cells(pair.cells.url(1)))
    pair.cells.value(1, f"update loci_data.namespace_cells set cell_id = 1, moves = 0 where namespace_id = {number}")
    assert release_namespace(pair.cells.url(1), name) == 2
    assert pair.cells.value(1, "select problem from loci_api.cell_state()") is None
    assert check_cells(pair.cells.url(1)) == []
    assert contents(pair, 2, name) == ["the later one"]


class Killed(Exception):
    """The mover was killed here."""


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.row("X12")
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


def test_a_command_killed_at_any_moment_is_ended_by_the_same_command(pair: Pair) -> None:
    name = pair.team()
    fill(pair, name, count=200)
    before = contents(pair, 1, name)
    command = [sys.executable, "-m", "service.cli", "namespace", "move", name, "--to", "2"]
    environment = {**os.environ, "LOCI_MIGRATION_URL": pair.cells.url(1)}
    begun = f"select count(*) from loci_data.namespace_moves where name = '{name}'"
    with writing(pair, name, 1, agents=1) as agents:
        for nth in range(8):
            mover = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
            eventually(lambda mover=mover: mover.poll() is not None or pair.cells.value(1, begun))
            time.sleep(0.15 * nth)
            mover.kill()
            mover.wait()
            assert len(holders(pair, name)) <= 1
        eventually(lambda: subprocess.run(command, env=environment, check=False).returncode == 0)
    assert holders(pair, name) == [2]
    assert contents(pair, 2, name) == sorted([*before, *agents[0].acknowledged])
    assert rows_left(pair, 1, id_of(pair, name)) == {}


def holders(pair: Pair, name: str) -> list[int]:
    """Cells that would take a write."""
    return [n for n in (1, 2) if pair.cells.value(n, f"select count(*) from loci_data.namespaces where name = '{name}'")]


@pytest.mark.parametrize("victim", ["source", "target"])
@pytest.mark.parametrize("point", POINTS)
def test_a_server_killed_anywhere_in_a_move_comes_back_and_the_same_command_ends_it(pair: Pair, point: str, victim: str) -> None:
    name = pair.team()
    fill(pair, name, count=10)
    before = contents(pair, 1, name)
    node = (pair.cells.one if victim == "source" else pair.cells.two).primary

    def kill(step: str) -> None:
        if step == point:
            node.kill()
            node.start()

    with writing(pair, name, 1, agents=1) as agents:
        with suppress(CellError):
            pair.move(name, 2, kill)
        assert len(holders(pair, name)) <= 1
        pair.move(name, 2)
    assert holders(pair, name) == [2]
    after = contents(pair, 2, name)
    assert set(before) | set(agents[0].acknowledged) <= set(after)
    assert len(after) == len(set(after))
    assert rows_left(pair, 1, id_of(pair, name)) == {}
    eventually(lambda: check_cells(pair.cells.url(1)) == [])


def test_ten_moves_of_thousands_of_rows_under_writers_hold_them_shortly(pair: Pair) -> None:
    name = pair.team()
    fill(pair, name, count=1000)
    before = contents(pair, 1, name)
    with writing(pair, name, 1) as agents:
        held = [pair.move(name, 2 - nth % 2)["held_seconds"] for nth in range(10)]
    written = [content for agent in agents for content in agent.acknowledged]
    assert contents(pair, 1, name) == sorted([*before, *written])
    changes = feed(pair.client(1), name)
    assert [each["position"] for each in changes] == list(range(1, len(changes) + 1))
    assert sorted(held)[8] < 1.5


def test_between_the_cells_every_call_is_told_to_try_again(pair: Pair) -> None:
    name = pair.team()
    fill(pair, name, count=5)
    done = pair.client(1, **{"X-Namespace": name}).post("/memories", json={"content": "to be undone"})
    undo = f"/operations/{done.headers['X-Operation-Id']}/undo"
    exported = pair.client(1).get(f"/namespaces/{name}/export").content
    said: dict[tuple[int, str], tuple[int, str | None]] = {}

    def ask(step: str) -> None:
        for number in (1, 2) if step == "fenced" else ():
            client = pair.client(number, **{"X-Namespace": name})
            replies = {
                "read": client.get("/memories"),
                "recall": client.post("/recall", json={"query": "boat"}),
                "write": client.post("/memories", json={"content": "late"}),
                "undo": client.post(undo),
                "export": client.get(f"/namespaces/{name}/export"),
                "import": client.post(f"/namespaces/{name}/import", content=exported),
                "job": client.get("/jobs"),
                "changes": client.get("/changes"),
            }
            said.update({(number, call): (reply.status_code, reply.headers.get("Retry-After")) for call, reply in replies.items()})

    pair.move(name, 2, ask)
    assert {call: told for call, told in said.items() if told != (AGAIN, "1")} == {}
    assert "late" not in contents(pair, 2, name)
    ok(pair.client(2, **{"X-Namespace": name}).post(undo))


def test_a_cell_with_columns_that_another_does_not_have_yet_is_followed_all_the_same(pair: Pair) -> None:
    pair.cells.value(2, "alter table loci_data.api_keys add column later text; alter table loci_data.agents add column later text")
    try:
        for number in (1, 2):
            name = pair.team(number)
            key = {"Authorization": f"Bearer {pair.key(number, name)}"}
            other, here = pair.client(3 - number, **key), pair.client(number, **key)
            eventually(lambda other=other: other.get("/agents/me").status_code == 200)
            for nth in range(20):
                ok(here.post("/memories", json={"content": f"call {nth}"}), 201)
        assert any("sends not all of" in each["problem"] for each in check_cells(pair.cells.url(1)))
    finally:
        pair.cells.value(2, "alter table loci_data.api_keys drop column later; alter table loci_data.agents drop column later")
    assert check_cells(pair.cells.url(1)) == []


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
    written = threading.Event()
    with psycopg.connect(pair.cells.url(1)) as slow:

        def write(at: str) -> None:
            if at == "copied":
                slow.execute("select loci_api.begin_request(null, %s, 'writer')", [name])
                slow.execute("select loci_api.remember(%s, %s)", [name, '[{"content": "slow"}]'])
                written.set()

        mover = threading.Thread(target=pair.move, args=(name, 2, write))
        mover.start()
        assert written.wait(PATIENCE)
        time.sleep(1.0)
        assert pair.cells.value(1, step) == "copied"
        slow.commit()
        mover.join(PATIENCE)
    assert contents(pair, 2, name) == ["slow"]


def test_a_stream_of_a_namespace_that_has_moved_ends_at_once_with_its_cell(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.operations.routes.feed.HEARTBEAT", 10 * PATIENCE)  # else it would look then
    name = pair.team()
    ok(pair.client(1, **{"X-Namespace": name}).post("/memories", json={"content": "before the move"}), 201)
    said: list[str] = []

    def listen() -> None:
        with pair.client(1, **{"X-Namespace": name}).stream("GET", "/events") as reply:
            for line in reply.iter_lines():
                said.append(line)  # noqa: PERF402 (read while it grows)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    eventually(lambda: any("before the move" in line for line in said))
    pair.move(name, 2)
    listener.join(PATIENCE)
    assert "event: problem" in said
    assert any(f"namespace '{name}' is in cell 2" in line for line in said)


def test_a_reader_of_all_namespaces_is_told_of_one_that_arrives(pair: Pair) -> None:
    name, own = pair.team(1), pair.team(2)
    ok(pair.client(1, **{"X-Namespace": name}).post("/memories", json={"content": "brought along"}), 201)
    ok(pair.client(2, **{"X-Namespace": own}).post("/memories", json={"content": "here before"}), 201)
    client = pair.client(2)
    last = eventually(lambda: feed(client, "*"))[-1]["cursor"]
    pair.move(name, 2)
    moved = {"namespace": name, "action": "moved"}.items()
    arrived = eventually(lambda: [each for each in feed(client, "*", last) if moved <= each.items()])
    assert [(each["before"]["cell"], each["after"]["cell"]) for each in arrived] == [(1, 2)]
    assert "brought along" in [each["content"] for each in feed(client, name)]


@contextmanager
def cut(pair: Pair) -> Iterator[None]:
    """The second cell hears nothing of the first until the block ends."""
    link = "loci_identity_1_to_2"
    works = f"select count(*) from pg_stat_subscription where subname = '{link}' and pid is not null"
    pair.cells.value(2, f"alter subscription {link} disable")
    try:
        eventually(lambda: pair.cells.value(2, works) == 0)
        yield
    finally:
        pair.cells.value(2, f"alter subscription {link} enable")


@pytest.mark.parametrize(("count", "seconds"), [(5, 0.0), (50, 60.0)])
def test_keys_made_and_revoked_while_the_link_is_cut_are_right_soon_after(pair: Pair, count: int, seconds: float) -> None:
    name = pair.team(1)
    keys = [pair.key(1, name, "admin") for _ in range(count)]
    here, there = pair.client(1, **{"X-Namespace": name}), pair.client(2)

    def known(key: str) -> bool:
        return there.get("/agents/me", headers={"Authorization": f"Bearer {key}"}).status_code == 200

    eventually(lambda: all(map(known, keys)))
    with cut(pair):
        for row in ok(here.get("/keys"))["items"]:
            if row["name"] == "agent":
                assert here.delete(f"/keys/{row['id']}").status_code == 204
        late = [pair.key(1, name) for _ in range(count)]
        time.sleep(seconds)
        assert [known(key) for key in [*keys, *late]] == [True] * count + [False] * count
    joined = time.monotonic()
    eventually(lambda: pair.cells.value(1, KEYS) == pair.cells.value(2, KEYS))
    if seconds:  # of a link that was away for so long
        assert time.monotonic() - joined < SOON
    assert [known(key) for key in [*keys, *late]] == [False] * count + [True] * count


def test_a_use_of_a_key_elsewhere_does_not_take_its_revocation_back(pair: Pair) -> None:
    name = pair.team(1)
    key = pair.key(1, name)
    identity = str(pair.cells.value(1, f"select id from loci_data.api_keys where hash = sha256('{key}'::bytea)"))
    eventually(lambda: pair.cells.value(2, f"select count(*) from loci_data.api_keys where id = '{identity}'") == 1)
    with cut(pair):
        pair.cells.value(1, f"update loci_data.api_keys set revoked_at = now() where id = '{identity}'")
        pair.cells.value(2, f"update loci_data.api_keys set last_used_at = now() where id = '{identity}'")
        seen = "select last_used_at is not null from loci_data.api_keys where id"
        eventually(lambda: pair.cells.value(1, f"{seen} = '{identity}'"))
        assert pair.cells.value(1, f"select revoked_at is not null from loci_data.api_keys where id = '{identity}'")
    eventually(lambda: pair.cells.value(2, f"select revoked_at is not null from loci_data.api_keys where id = '{identity}'"))


@pytest.mark.quick
def test_deleting_a_namespace_takes_its_grants_in_every_cell_and_its_place_in_the_directory(pair: Pair) -> None:
    name = pair.team(1)
    pair.key(1, name)
    number = id_of(pair, name)
    counts = [f"select count(*) from loci_data.{table} where namespace_id = {number}" for table in ("grants", "namespace_cells")]
    eventually(lambda: [pair.cells.value(2, each) for each in counts] == [1, 1])
    assert pair.client(1).delete(f"/namespaces/{name}").status_code == 204
    eventually(lambda: [pair.cells.value(2, each) for each in counts] == [0, 0])


@pytest.mark.quick
def test_a_name_that_is_taken_in_another_cell_is_taken(pair: Pair) -> None:
    name = pair.team(1)
    eventually(lambda: pair.cells.value(2, f"select count(*) from loci_data.namespace_cells where name = '{name}'") == 1)
    problem(pair.client(2).post("/namespaces", json={"name": name}), 409, "conflict")


def test_numbers_of_namespaces_are_of_the_range_of_their_cell(pair: Pair) -> None:
    made = [pair.cells.value(n, f"select id from loci_data.namespaces where name = '{pair.team(n)}'") for n in (1, 2)]
    assert [number // 10_000_001 for number in made] == [0, 1]  # type: ignore[operator]
    assert [pair.cells.value(n, "select count(*) from loci_data.namespaces where name = 'default'") for n in (1, 2)] == [1, 0]


@pytest.mark.quick
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


def test_commands_keep_what_they_have_done_and_are_ended_by_no_limit_of_the_database(pair: Pair) -> None:
    wanted = {"synchronous_commit": "off", "statement_timeout": "1s", "idle_in_transaction_session_timeout": "1s"}
    for setting, value in wanted.items():
        pair.cells.value(1, f"alter role postgres set {setting} = '{value}'")
    try:
        with connect(pair.cells.url(1), "this cell") as session:
            found = {setting: session.execute(f"show {setting}".encode()).fetchone() for setting in wanted}
    finally:
        pair.cells.value(1, "alter role postgres reset all")
    assert [row[setting] for setting, row in found.items() if row] == ["on", "0", "0"]


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
        assert f"namespace {name} is in cells 1 and 2: run `loci cell release {name}` in the one that was set back" in said
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


AS_OPERATOR = "select set_config('loci.agent', loci_internal.operator_id()::text, true); "


def test_a_cell_restored_to_before_a_move_starts_no_service_until_it_has_let_go_and_is_joined_again() -> None:
    with running_cells() as cells:
        node = cells.one.primary
        for name in ("team", "other"):
            cells.value(1, f"{AS_OPERATOR} select loci_api.create_namespace('{name}')")
        key = (
            "insert into loci_data.api_keys (id, agent_id, name, hash, bucket, default_namespace_id) "
            "select '{0}', a.id, 'k', sha256('{0}'::bytea), '{0}', c.namespace_id"
        )
        before, after = uuid4(), uuid4()
        agent = " from loci_data.agents a, loci_data.namespace_cells c where a.name = 'writer' and c.name = 'team'"
        cells.value(1, "insert into loci_data.agents (id, name, kind) values (gen_random_uuid(), 'writer', 'key')")
        cells.value(1, key.format(before) + agent)
        backup = cells.one.folder / "backup"
        node.run("pg_basebackup", "-D", backup, "-d", node.url(database="postgres"), "-X", "stream", "-c", "fast")
        move_namespace(cells.url(1), "team", 2)
        eventually(lambda: cells.value(2, f"select count(*) from loci_data.api_keys where id = '{before}'") == 1)
        cells.value(2, f"update loci_data.api_keys set revoked_at = now() where id = '{before}'")
        cells.value(2, key.format(after) + agent)
        node.kill()
        node.folder.rename(cells.one.folder / "gone")
        backup.rename(node.folder)
        node.start()
        assert "set back" in str(cells.value(1, "select problem from loci_api.cell_state()"))
        with pytest.raises(RuntimeError, match="did not start"), serve(cells.one.database):
            pass
        assert any("namespace team is in cells 1 and 2" in each["problem"] for each in check_cells(cells.url(2)))
        with pytest.raises(CellError, match="claim the same namespaces"):
            add_cell(cells.url(2), url="http://cell1.example", database_url=cells.url(1))
        assert release_namespace(cells.url(1), "team") == 2
        assert add_cell(cells.url(2), url="http://cell1.example", database_url=cells.url(1)) == 1
        assert check_cells(cells.url(2)) == []
        assert cells.value(1, KEYS) == cells.value(2, KEYS)
        cells.value(1, f"update loci_data.api_keys set revoked_at = now() where id = '{after}'")
        eventually(lambda: cells.value(2, f"select revoked_at from loci_data.api_keys where id = '{after}'"))
        with serve(cells.one.database) as service:
            assert [each["name"] for each in ok(service.client().get("/namespaces"))["items"]] == ["default", "other"]
