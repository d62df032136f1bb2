"""Many writers at once: nothing lost, nothing twice."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.blocking import blocked, started
from tests.databases import Database, Server
from tests.factories import OPERATOR, act_as, grant
from tests.services import PATIENCE, Api, new_api, ok, serve

CLOSURE_IS_RECURSION = """
with truth as (
    select n.id, t.* from loci_data.namespaces n cross join lateral loci_internal.recompute_closure(n.id) t
)
select (select count(*) from truth) as paths, (select count(*) from (table truth except all table loci_data.memory_closure) d) as missing,
       (select count(*) from (table loci_data.memory_closure except all table truth) d) as extra"""


@pytest.fixture(scope="module")
def crowd(server: Server) -> Iterator[Api]:
    """A service with twenty connections."""
    database = server.clone("crowd")
    with serve(database, pool_size=20) as running, new_api(running) as api:
        yield api
    server.drop(database)


def at_once(count: int, work: Any, workers: int = 20) -> list[Any]:
    """Do work for 0 to count - 1, many at a time."""
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, range(count)))


@pytest.mark.row("M2")
def test_two_hundred_writers_of_one_lineage_make_versions_1_to_200_and_one_is_current(crowd: Api) -> None:
    written = at_once(200, lambda n: crowd.write(f"version by {n}", lineage="one"))
    versions = ok(crowd.get("/memories/one/history"))["items"]
    assert [version["version"] for version in versions] == list(range(1, 201))
    assert {version["content"] for version in versions} == {f"version by {n}" for n in range(200)}
    assert sum(version["current"] for version in versions) == 1
    assert versions[-1]["current"]
    assert sorted(reply["version"] for reply in written) == list(range(1, 201))
    assert [earlier["valid_to"] for earlier in versions[:-1]] == [later["valid_from"] for later in versions[1:]]


@pytest.mark.row("M2")
def test_batches_that_share_lineages_in_any_order_do_not_lose_a_version(crowd: Api) -> None:
    def send(n: int) -> Any:
        names = [f"shared {m}" for m in range(5)]
        order = names if n % 2 else names[::-1]
        return ok(
            crowd.post(
                "/memories/batch",
                {"items": [{"content": f"{name} by {n}", "lineage": name} for name in order], "atomic": True},
            )
        )

    at_once(40, send)
    counts = [len(ok(crowd.get(f"/memories/shared {m}/history"))["items"]) for m in range(5)]
    assert counts == [40] * 5


@pytest.mark.row("M4")
@pytest.mark.parametrize("fields", [{}, {"lineage": "same"}], ids=["nameless", "lineage"])
def test_identical_writes_at_once_fold_to_one(crowd: Api, fields: dict[str, Any]) -> None:
    content = f"the very same {fields}"
    replies = at_once(40, lambda _: crowd.write(content, **fields))
    assert len({reply["id"] for reply in replies}) == 1
    assert [reply["duplicate"] for reply in replies].count(False) == 1
    assert ok(crowd.get(f"/memories/{replies[0]['id']}"))["observations"] == 40


@pytest.mark.row("G1")
def test_fifty_upserts_of_one_name_make_one_entity(crowd: Api) -> None:
    replies = at_once(
        50,
        lambda n: ok(crowd.post("/entities", {"name": "Zeus" if n % 2 else " ZEUS ", "aliases": [f"alias {n}"]}), 201),
    )
    assert len({reply["id"] for reply in replies}) == 1
    assert [reply["created"] for reply in replies].count(True) == 1
    entity = ok(crowd.get("/entities/zeus"))
    assert entity["observations"] == 50
    assert len(entity["aliases"]) == 50


@pytest.fixture(scope="module")
def fifty(own_database: Database) -> Iterator[list[psycopg.Connection[Any]]]:
    """A connection for each of fifty agents, which makes its plans once."""
    with ExitStack() as stack:
        yield [stack.enter_context(psycopg.connect(own_database.app_url, autocommit=True)) for _ in range(50)]


@pytest.mark.parametrize("way", ["names", "memories", "all three"])
def test_fifty_agents_on_fifty_connections_that_write_one_name_at_once_make_one_entity(
    own_database: Database, fifty: list[psycopg.Connection[Any]], way: str
) -> None:
    """In turn: a name that nobody has, in many spellings and with aliases; then what is an alias by now."""
    agents, rounds = len(fifty), 2
    gate = threading.Barrier(agents)
    writes = {"names": [by_name], "memories": [by_memory], "all three": [by_name, by_edge, by_memory]}[way]

    def agent(number: int) -> None:
        for turn in range(rounds):
            name = f"{way} {turn // 2} o'neil" if turn % 2 == 0 else f"{way} nickname {turn // 2}"
            gate.wait(PATIENCE)
            with fifty[number].transaction():
                act_as(fifty[number], OPERATOR)
                writes[number % len(writes)](fifty[number], name, number, f"{way} nickname {turn // 2}")
            gate.wait(PATIENCE)

    at_once(agents, agent, workers=agents)
    with own_database.admin() as admin:
        rows = admin.execute(
            """select e.canonical_name, e.observations, e.aliases,
                      (select count(*) from loci_data.entity_names n where n.entity_id = e.id)
               from loci_data.entities e where e.canonical_name like %s order by 1""",
            [f"{way}%"],
        ).fetchall()
    assert [row[:2] for row in rows] == [(f"{way} {n} o'neil", 2 * agents) for n in range(rounds // 2)]
    assert all(f"{way} nickname {n}" in row[2] and row[3] == len(row[2]) + 1 for n, row in enumerate(rows))


def spelled(name: str, number: int) -> str:
    """The same name, written as this agent writes."""
    return [name, name.upper(), f"  {name.title()} ", name.replace("'", "’"), name.replace(" ", "\u00a0")][number % 5]


def by_name(connection: psycopg.Connection[Any], name: str, number: int, nickname: str) -> None:
    item = {"name": spelled(name, number), "aliases": [nickname, f"{nickname} of {number}"]}
    connection.execute("select * from loci_api.upsert_entities('default', %s)", [Jsonb([item])])


def by_edge(connection: psycopg.Connection[Any], name: str, number: int, nickname: str) -> None:
    item = {"source": spelled(name, number), "type": "knows", "literal": f"number {number}", "session_id": f"s{number}"}
    connection.execute("select * from loci_api.observe_edges('default', %s)", [Jsonb([item])])


def by_memory(connection: psycopg.Connection[Any], name: str, number: int, nickname: str) -> None:
    item = {"content": f"{number} met {name}", "entities": [{"name": spelled(name, number), "aliases": [nickname]}]}
    connection.execute("select * from loci_api.remember('default', %s)", [Jsonb([item])])


@pytest.mark.row("G2")
def test_one_edge_observed_by_many_is_one_edge_with_all_its_evidence(crowd: Api) -> None:
    replies = at_once(
        50,
        lambda n: ok(crowd.post("/edges", {"source": "Hera", "type": "rules", "target": "Olympus", "session_id": f"s{n}"}), 201),
    )
    assert len({reply["id"] for reply in replies}) == 1
    (edge,) = ok(crowd.get("/edges", type="rules"))["items"]
    assert edge["observations"] == 50


def test_memories_that_name_the_same_entities_in_any_order_count_every_mention(crowd: Api) -> None:
    names = [f"person {n}" for n in range(6)]

    def send(n: int) -> Any:
        return crowd.write(f"meeting {n}", entities=[{"name": name} for name in (names if n % 2 else names[::-1])])

    at_once(40, send)
    assert [ok(crowd.get(f"/entities/{name}"))["mentions"] for name in names] == [40] * 6


@pytest.mark.row("M6")
def test_moves_at_once_never_make_a_cycle(crowd: Api) -> None:
    ids = [crowd.write(f"node {n}")["id"] for n in range(8)]
    statuses = at_once(
        60,
        lambda n: crowd.client.patch(f"/memories/{ids[n % 8]}", json={"parent_id": ids[(n * 3 + 1) % 8]}).status_code,
    )
    assert set(statuses) <= {200, 422}
    with crowd.service.database.admin() as admin:
        paths, missing, extra = admin.execute(CLOSURE_IS_RECURSION).fetchone() or ()
        assert paths > 0
        assert (missing, extra) == (0, 0)


def test_claims_of_a_dead_worker_are_free_again(own_database: Database) -> None:
    def claim(connection: psycopg.Connection[Any]) -> list[Any]:
        act_as(connection, OPERATOR)
        return connection.execute("select memory_id from loci_api.claim_memories_to_embed(100)").fetchall()

    with psycopg.connect(own_database.app_url, row_factory=dict_row) as writer:
        act_as(writer, OPERATOR)
        writer.execute("select loci_api.register_model('test', 3)")
        writer.commit()
        with own_database.admin() as admin:
            admin.execute("delete from loci_data.embedding_queue")  # of earlier tests
        act_as(writer, OPERATOR)
        writer.execute("select * from loci_api.remember('default', %s)", [Jsonb([{"content": f"m{n}"} for n in range(3)])])
    worker = psycopg.connect(own_database.app_url)
    with own_database.admin() as admin, psycopg.connect(own_database.app_url) as other:
        claimed = claim(worker)
        assert len(claimed) == 3
        assert claim(other) == []
        other.rollback()
        admin.execute("select pg_terminate_backend(%s, 60000)", [worker.info.backend_pid])
        assert sorted(claim(other)) == sorted(claimed)
    worker.close()


def test_two_workers_never_claim_the_same(own_database: Database) -> None:
    with psycopg.connect(own_database.app_url) as writer:
        act_as(writer, OPERATOR)
        writer.execute("select loci_api.register_model('test', 3)")
        writer.execute("select * from loci_api.remember('default', %s)", [Jsonb([{"content": f"n{n}"} for n in range(50)])])
    with psycopg.connect(own_database.app_url) as first, psycopg.connect(own_database.app_url) as second:
        act_as(first, OPERATOR)
        act_as(second, OPERATOR)
        claims = [
            {row[0] for row in c.execute("select memory_id from loci_api.claim_memories_to_embed(20)").fetchall()}
            for c in (first, second)
        ]
    assert [len(claim) for claim in claims] == [20, 20]
    assert claims[0].isdisjoint(claims[1])


def remembered(connection: psycopg.Connection[Any], content: str) -> Any:
    """The id of a new memory."""
    row = connection.execute("select id from loci_api.remember('default', %s)", [Jsonb([{"content": content}])]).fetchone()
    return row["id"] if row else None


def forget(connection: psycopg.Connection[Any], memory: Any, *, forgotten: bool = True) -> None:
    with connection.transaction():
        act_as(connection, OPERATOR)
        connection.execute("select * from loci_api.forget_memory('default', %s, %s)", [memory, forgotten])


@contextmanager
def two_sessions(
    database: Database,
) -> Iterator[tuple[psycopg.Connection[Any], psycopg.Connection[Any], psycopg.Connection[Any], ThreadPoolExecutor]]:
    """Two sessions of the service, one that watches them, and a thread for what the second has to wait for."""
    with (
        psycopg.connect(database.app_url, row_factory=dict_row, autocommit=True) as one,
        psycopg.connect(database.app_url, row_factory=dict_row, autocommit=True) as other,
        database.admin() as watcher,
        ThreadPoolExecutor(1) as pool,
    ):
        yield one, other, watcher, pool


def test_the_second_of_concurrent_restores_is_told_which_memory_took_its_place(own_database: Database) -> None:
    with two_sessions(own_database) as (one, other, watcher, pool):
        memories = []
        for _ in range(2):
            with one.transaction():
                act_as(one, OPERATOR)
                memories.append(remembered(one, "said twice"))
            forget(one, memories[-1])
        with one.transaction():
            forget(one, memories[0], forgotten=False)
            restoring = blocked(pool, watcher, other, lambda: forget(other, memories[1], forgotten=False))
        with pytest.raises(psycopg.errors.UniqueViolation, match=f"memory {memories[0]} says exactly the same") as raised:
            restoring.result(PATIENCE)
        assert raised.value.diag.column_name == "id"


def test_a_memory_that_is_being_changed_can_be_referred_to_by_the_log_of_a_recall(own_database: Database) -> None:
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as one, own_database.admin() as other:
        act_as(one, OPERATOR)
        memory = remembered(one, "said once")
        one.commit()
        act_as(one, OPERATOR)
        one.execute("select id from loci_api.update_memory('default', %s, %s)", [memory, Jsonb({"tags": ["x"], "layer": 2})])
        logged = "select from loci_data.memories where id = %s for key share skip locked"
        assert other.execute(logged, [memory]).rowcount == 1


def test_a_name_in_two_memories_makes_an_entity_though_two_workers_read_them_at_the_same_moment(own_database: Database) -> None:
    with two_sessions(own_database) as (one, other, watcher, pool):
        (space,) = watcher.execute("select id from loci_data.namespaces where name = 'default'").fetchone() or (None,)
        with one.transaction():
            act_as(one, OPERATOR)
            memories = [remembered(one, f"Grace Hopper wrote compiler {n}") for n in (1, 2)]

        def store(connection: psycopg.Connection[Any], memory: Any) -> None:
            act_as(connection, OPERATOR)
            connection.execute(
                "select loci_api.store_found_names(array[%s::integer], array[%s], array['Grace Hopper'])", [space, memory]
            )

        def second() -> None:
            with other.transaction():
                store(other, memories[1])

        with one.transaction():
            store(one, memories[0])
            storing = started(pool, watcher, other, second)
        storing.result(PATIENCE)
        mentions = """select m.memory_id from loci_data.memory_mentions m join loci_data.entities e on e.id = m.entity_id
                      where e.name = 'Grace Hopper'"""
        assert {row[0] for row in watcher.execute(mentions)} == set(memories)


def test_a_link_whose_strength_is_changed_at_the_moment_at_which_it_is_taken_back_is_taken_back(own_database: Database) -> None:
    with two_sessions(own_database) as (one, other, watcher, pool):
        with one.transaction():
            act_as(one, OPERATOR)
            ends = [remembered(one, f"an end of a link {n}") for n in (1, 2)]
            link = "select from loci_api.link_memories('default', %s, %s, 'explains', %s)"
            one.execute(link, [*ends, 0.5])

        def take_back() -> Any:
            with other.transaction():
                act_as(other, OPERATOR)
                row = other.execute("select loci_api.unlink_memories('default', %s, %s, 'explains') as ended", ends).fetchone()
            return row and row["ended"]

        with one.transaction():
            act_as(one, OPERATOR)
            one.execute(link, [*ends, 0.9])
            taking = blocked(pool, watcher, other, take_back)
        assert taking.result(PATIENCE) is True
        still = "select from loci_data.memory_links where source_id = %s and target_id = %s and superseded_at is null"
        assert watcher.execute(still, ends).rowcount == 0
        assert take_back() is False


NAMED = "select * from loci_api.upsert_entities('default', %s)"
OBSERVED = "select * from loci_api.observe_edges('default', %s)"
EVIDENCE = [(OBSERVED, {"source": "Uwe", "type": "works_at", "target": "Siemens"}), (NAMED, {"name": "Uwe"})]


@pytest.mark.parametrize(("statement", "item"), EVIDENCE, ids=["edge", "entity"])
@pytest.mark.parametrize("first", ["forgets", "observes"])
def test_a_memory_forgotten_while_it_is_given_as_evidence_shows_nothing(
    own_database: Database, statement: Any, item: dict[str, Any], first: str
) -> None:
    """Whoever comes first, the other waits: then it is refused as evidence, or what it showed goes with it."""
    with (
        psycopg.connect(own_database.app_url, row_factory=dict_row, autocommit=True) as forgetting,
        psycopg.connect(own_database.app_url, row_factory=dict_row, autocommit=True) as observing,
        own_database.admin() as watcher,
        ThreadPoolExecutor(1) as pool,
    ):
        with observing.transaction():
            act_as(observing, OPERATOR)
            observing.execute(NAMED, [Jsonb([{"name": "Uwe"}])])
            memory = remembered(observing, f"{first} {item}")

        def observe() -> None:
            with observing.transaction():
                act_as(observing, OPERATOR)
                observing.execute(statement, [Jsonb([{**item, "memory_id": str(memory)}])])

        if first == "forgets":
            with forgetting.transaction():
                forget(forgetting, memory)
                late = blocked(pool, watcher, observing, observe)
            with pytest.raises(psycopg.errors.InvalidParameterValue, match="forgotten"):
                late.result(PATIENCE)
        else:
            with observing.transaction():
                observe()
                late = blocked(pool, watcher, forgetting, lambda: forget(forgetting, memory))
            late.result(PATIENCE)
        with observing.transaction():
            act_as(observing, OPERATOR)
            shown = "select (select count(*) from loci.list_edges('default', 'Uwe')) as edges, mentions from loci.get_entity('default', 'Uwe')"
            assert observing.execute(shown).fetchall() == [{"edges": 0, "mentions": 0}]


@pytest.mark.row("M2")
def test_two_writers_past_the_service_cannot_make_two_versions_valid_at_once(own_database: Database) -> None:
    """The owner inserts rows directly, both transactions open: the second waits for the first, and is refused."""
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as writer:
        act_as(writer, OPERATOR)
        writer.execute(
            "select * from loci_api.remember('default', %s)",
            [Jsonb([{"content": "first", "lineage": "raced", "valid_from": "2030-01-01"}])],
        )
    insert = """
        insert into loci_data.memories (namespace_id, id, lineage, lineage_id, version, content, content_hash, valid_from, valid_to,
                                        recorded_at, believed_at, last_observed_at, updated_at)
        select namespace_id, gen_random_uuid(), lineage, lineage_id, %s, %s, loci_internal.content_hash(%s), %s, %s, now(), now(), now(), now()
        from loci_data.memories where lineage = 'raced' and version = 1"""
    overlapping = [3, "b", "b", "2020-06-01", "2021-06-01"]
    with (
        own_database.admin() as admin,
        own_database.admin() as other,
        own_database.admin() as watcher,
        ThreadPoolExecutor(1) as pool,
    ):
        with admin.transaction():
            admin.execute(insert, [2, "a", "a", "2020-01-01", "2021-01-01"])
            writing = blocked(pool, watcher, other, lambda: other.execute(insert, overlapping))
        with pytest.raises(psycopg.errors.ExclusionViolation):
            writing.result(PATIENCE)
    with own_database.admin() as admin, pytest.raises(psycopg.errors.UniqueViolation):
        admin.execute(insert, [4, "open too", "open too", "2040-01-01", None])


@pytest.mark.parametrize(
    "act", ["select from loci_api.set_grant('default', %s, 'admin')", "select from loci_api.delete_grant('default', %s)"]
)
def test_an_admin_that_waits_while_it_is_removed_changes_no_grant(own_database: Database, act: Any) -> None:
    with two_sessions(own_database) as (one, other, watcher, pool):
        removed, third = grant(watcher, "default", "admin"), grant(watcher, "default", "reader")

        def change() -> None:
            with other.transaction():
                act_as(other, removed)
                other.execute(act, [third])

        with one.transaction():
            act_as(one, OPERATOR)
            one.execute("select from loci_api.delete_grant('default', %s)", [removed])
            changing = blocked(pool, watcher, other, change)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            changing.result(PATIENCE)
        assert watcher.execute("select role from loci_data.grants where agent_id = %s", [third]).fetchall() == [("reader",)]
