"""Which indexes the hot functions really scan, counted by the server while they run; never a table read from end to end.

The counters of the running transaction see inside functions, so nothing has to be copied from them to be explained.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.databases import Database
from tests.factories import OPERATOR, Row, World, act_as, day, new_world
from tests.loading import vectors_loaded
from tests.sql.test_models_vectors import DIMENSIONS, items, random_vectors

LARGE, SMALL = 3_000, 200
COUNTED = 11_000  # as so many the large one is counted: for fewer than 10,000 vectors HNSW is not worth it
SCANS = """
select coalesce(parent.relname, c.relname) as name, sum(pg_stat_get_xact_numscans(c.oid))::int as scans
from pg_class c left join pg_inherits h on h.inhrelid = c.oid left join pg_class parent on parent.oid = h.inhparent
where c.relnamespace = 'loci_data'::regnamespace and c.relkind = any (%s)
group by 1 having sum(pg_stat_get_xact_numscans(c.oid)) > 0"""


def fill(world: World, count: int) -> UUID:
    """Memories in sessions and under a parent, with vectors, names, links and edges; the id of one of them."""
    top = world.write("top")["id"]
    world.rows('select loci_api.update_namespace(%(ns)s, \'{"settings": {"dream_entity_days": 0}}\')')
    batch = [
        item | {"content": f"apple word{n % 700} {n}", "session_id": f"s{n % 50}", "valid_from": day(n), "parent_id": top}
        for n, item in enumerate(items(random_vectors(count, 1)))
    ]
    batch[0] |= {
        "entities": [{"name": "Zeus"}],
        "edges": [{"source": "Zeus", "type": "likes", "target": f"god {n}"} for n in range(20)],
    }
    ids = [row["id"] for row in world.remember(*batch)]
    world.rows(
        "select * from loci_api.upsert_entities(%(ns)s, %(names)s)",
        names=Jsonb([{"name": f"person {n}"} for n in range(count // 4)]),
    )
    world.rows(
        "select l.* from unnest(%(ids)s::uuid[]) i(id) cross join lateral loci_api.link_memories(%(ns)s, i.id, %(top)s, 'about') l",
        ids=ids[::3],
        top=top,
    )
    aspect = world.value("select id from loci_api.upsert_aspect(%(ns)s, 'Zeus', '{\"name\": \"Rules\"}')")
    for kind in ("attribute", "constraint"):
        item = Jsonb({"content": "x", "kind": kind, "memory_id": str(ids[3])})
        world.rows("select * from loci_api.add_attribute(%(ns)s, %(id)s, %(item)s)", id=aspect, item=item)
    return ids[7]


def fill_log(admin: psycopg.Connection[Any], namespace: int) -> None:
    """Operations of the last weeks, one a minute, each of which changed something."""
    admin.execute(
        """insert into loci_data.operations (namespace_id, id, action, via, agent_id, started_at)
           select %s, loci_api.uuid7(), 'action ' || n %% 50, 'rest', md5((n %% 50)::text)::uuid, now() - n * interval '1 minute'
           from generate_series(20000, 1, -1) n""",
        [namespace],
    )
    admin.execute(
        """insert into loci_data.changes (namespace_id, position, place, operation_id, kind, action, subject_id, changed_at)
           select namespace_id, row_number() over (order by id), nextval('loci_data.change_places'), id, 'memory', 'changed', id, started_at
           from loci_data.operations where namespace_id = %s order by id""",
        [namespace],
    )
    admin.execute("delete from loci_data.outbox")


def fill_jobs(admin: psycopg.Connection[Any], namespace: int) -> None:
    """Jobs of the last weeks, one a minute: most have succeeded, some are dead, some wait."""
    admin.execute(
        """insert into loci_data.jobs (namespace_id, id, kind, state, created_at, finished_at)
           select %s, loci_api.uuid7(), case when n %% 500 = 0 then 'dream' else 'enrich' end,
                  case when n <= 100 then 'waiting' when n %% 200 = 0 then 'dead' else 'succeeded' end,
                  now() - n * interval '1 minute', case when n > 100 then now() - n * interval '1 minute' end
           from generate_series(20000, 1, -1) n""",
        [namespace],
    )


def store_names(world: World, ids: list[UUID]) -> None:
    """Names as the worker finds them: each memory shares one with the next, and has four of its own, ends of one another."""
    names = [[f"Town {n // 2}x", *(f"{'The Old ' * k}Hall {n}y" for k in range(4))] for n in range(len(ids))]
    world.rows(
        "select loci_api.store_found_names(array_fill(%(ns_id)s::integer, array[%(count)s]), %(ids)s, %(names)s)",
        count=5 * len(ids),
        ids=[key for key in ids for _ in range(5)],
        names=[name for of_one in names for name in of_one],
    )


@pytest.fixture(scope="module")
def worlds(own_database: Database) -> Iterator[dict[str, tuple[World, UUID]]]:
    """A large and a small namespace with fresh statistics; what a search looks at is decided by what is counted."""
    with psycopg.connect(own_database.app_url, row_factory=dict_row, autocommit=True) as connection:
        with connection.transaction():
            act_as(connection, OPERATOR)
            connection.execute("select loci_api.register_model('test', %s)", [DIMENSIONS])
        with vectors_loaded(own_database), connection.transaction():
            act_as(connection, OPERATOR)
            made = {}
            for name, count in (("large", LARGE), ("small", SMALL)):
                world = new_world(connection)
                made[name] = (world, fill(world, count))
                store_names(
                    world,
                    [row["id"] for row in world.rows("select id from loci_data.memories where namespace_id = %(ns_id)s limit 200")],
                )
        with own_database.admin() as admin:
            fill_log(admin, made["large"][0].id)
            fill_jobs(admin, made["large"][0].id)
            admin.execute(
                "insert into loci_data.corpus_counts (namespace_id, documents, terms) values (%s, %s, 0)",
                [made["large"][0].id, COUNTED - LARGE],
            )
            admin.execute("vacuum analyze")
        yield made


def scanned(world: World, statement: LiteralString, **parameters: Any) -> dict[str, set[str]]:
    """Indexes, and tables read from end to end, that a statement scans."""
    with world.connection.transaction(force_rollback=True):
        act_as(world.connection, OPERATOR)
        world.connection.execute("set local max_parallel_workers_per_gather = 0")
        before = {kind: counts(world, kinds) for kind, kinds in (("index", "iI"), ("table", "r"))}
        world.rows(statement, **parameters)
        after = {kind: counts(world, kinds) for kind, kinds in (("index", "iI"), ("table", "r"))}
    return {kind: {name for name, scans in after[kind].items() if scans > before[kind].get(name, 0)} for kind in after}


def counts(world: World, kinds: str) -> dict[str, int]:
    return {row["name"]: row["scans"] for row in world.connection.execute(SCANS, [list(kinds)]).fetchall()}


CALLS: list[tuple[str, LiteralString, str]] = [
    ("lexical", "select * from loci.search_text(%(ns)s, 'word3 word5', 10)", "postings_pkey"),
    ("subtree", "select * from loci.subtree(%(ns)s, %(some)s)", "memory_closure"),
    ("ancestors", "select * from loci.ancestors(%(ns)s, %(some)s)", "memory_closure"),
    ("links", "select * from loci.list_links(%(ns)s, %(some)s)", "memory_links"),
    ("by id", "select * from loci.get_memories(%(ns)s, array[%(some)s])", "memories_pkey"),
    ("history", "select * from loci.history(%(ns)s, %(some)s::text)", "memories_chain"),
    ("names", "select * from loci.match_entities(%(ns)s, 'who is Zeus?')", "entity_names_head"),
    ("phrases", "select * from loci.match_entities(%(ns)s, 'is person 77 Zeus?')", "entity_names_pkey"),
    (
        "question",
        "select * from loci_api.memories_sharing_names(%(ns)s, 'is person 77 Zeus?', array[1::bigint])",
        "entity_names_head",
    ),
    ("traversal", "select * from loci.traverse(%(ns)s, array['Zeus'])", "edges_source"),
    ("walk: aspects", "select * from loci.walk(%(ns)s, 'who is Zeus?')", "aspects_weight"),
    ("walk: attributes", "select * from loci.walk(%(ns)s, 'who is Zeus?')", "attributes_importance"),
    ("walk: constraints", "select * from loci.walk(%(ns)s, 'who is Zeus?')", "attributes_constraints"),
    ("walk: edges", "select * from loci.walk(%(ns)s, 'who is Zeus?')", "edges_strength"),
    ("walk: pinned", "select * from loci.walk(%(ns)s, 'who is Zeus?')", "entities_pinned"),
    ("walk: first words", "select * from loci.walk(%(ns)s, 'which person?')", "entity_names_pkey"),
    ("context: first", "select * from loci.context_parts(%(ns)s)", "memories_importance"),
    ("context: first person", "select * from loci.context_parts(%(ns)s, p_user => 'Zeus')", "memories_first_person"),
    ("context: subject", "select * from loci.context_parts(%(ns)s, p_user => 'Zeus')", "memories_about"),
    ("context: mentions", "select * from loci.context_parts(%(ns)s, p_user => 'Zeus')", "memory_mentions_entity"),
    ("context: keys", "select * from loci.context_parts(%(ns)s, p_space => 'session/s1')", "working_memory_pkey"),
    ("context: turns", "select * from loci.context_parts(%(ns)s, p_session_id => 's1')", "conversation_turns"),
    ("context: notes", "select * from loci_api.record_context(%(ns)s, 's1', array[%(some)s])", "memories_pkey"),
    ("operations", "select * from loci.list_operations(%(ns)s)", "operations_started"),
    ("operations of an agent", "select * from loci.list_operations(%(ns)s, p_agent => md5('7')::uuid)", "operations_agent"),
    ("operations by action", "select * from loci.list_operations(%(ns)s, p_action => 'action 7')", "operations_action"),
    ("operations on something", "select * from loci.list_operations(%(ns)s, p_subject => %(some)s)", "changes_subject"),
    ("operations then", "select * from loci.list_operations(%(ns)s, p_until => now() - interval '9 days')", "operations_started"),
    (
        "changes of an operation",
        "select * from loci.operation_changes(%(ns)s, (select id from loci_data.operations where namespace_id = %(ns_id)s order by id limit 1))",
        "changes_operation",
    ),
    ("old operations", "select * from loci_api.sweep_operations()", "changes_pkey"),
    ("jobs", "select * from loci.list_jobs(%(ns)s)", "jobs_pkey"),
    ("jobs by state", "select * from loci.list_jobs(%(ns)s, p_state => 'dead')", "jobs_state"),
    ("jobs by kind", "select * from loci.list_jobs(%(ns)s, p_kind => 'dream')", "jobs_kind"),
    ("asking for a job", "select * from loci_api.enqueue_job(%(ns)s, 'enrich')", "jobs_open"),
    ("figures of jobs", "select * from loci_api.job_metrics()", "jobs_state"),
    ("old jobs", "select loci_api.sweep_log('jobs')", "jobs_finished"),
    ("old recalls", "select loci_api.sweep_log('recalls')", "recalls_at"),
    ("old uses of keys", "select loci_api.sweep_log('key_uses')", "key_uses_namespace"),
    ("old calls of models", "select loci_api.sweep_log('model_calls')", "model_calls_started"),
    ("old signals", "select loci_api.sweep_log('feedback_signals')", "feedback_signals_at"),
    ("stale entities: edges", "select * from loci_api.stale_entities(%(ns)s, 10)", "edges_target"),
    ("stale entities: mentions", "select * from loci_api.stale_entities(%(ns)s, 10)", "memory_mentions_entity"),
    ("weak edges", "select * from loci.weak_edges(%(ns)s, '{}', 10)", "edges_"),
    ("types of edges", "select * from loci_api.edge_types_used(%(ns)s)", "edges_type"),
    ("catalogue", "select * from loci_api.entity_catalogue(%(ns)s, array['Zeus'], 10)", "entity_names_head"),
    ("walk: projects", "select * from loci.walk(%(ns)s, p_project_path => '/home/rockbot')", "entities_projects"),
]
SMALL_TABLES = {"namespaces", "agents", "grants", "embedding_models", "corpus_counts", "edge_types", "edges"}


@pytest.mark.row("M6")
@pytest.mark.parametrize(("statement", "index"), [call[1:] for call in CALLS], ids=[call[0] for call in CALLS])
def test_a_hot_function_scans_its_index_and_no_large_table_from_end_to_end(
    worlds: dict[str, tuple[World, UUID]], statement: LiteralString, index: str
) -> None:
    world, some = worlds["large"]
    found = scanned(world, statement, some=some)
    assert any(name.startswith(index) for name in found["index"]), found
    assert found["table"] <= SMALL_TABLES


@pytest.mark.parametrize(("size", "uses"), [("large", True), ("small", False)])
def test_the_hnsw_index_serves_a_large_namespace_and_a_small_one_is_scanned_exactly(
    worlds: dict[str, tuple[World, UUID]], size: str, uses: bool
) -> None:
    world, _ = worlds[size]
    vector = [float(x) for x in random_vectors(1, 2)[0]]
    found = scanned(world, "select * from loci.similar_memories(%(ns)s, %(vector)s::real[], 10)", vector=vector)
    assert any("hnsw" in name for name in found["index"]) == uses, found
    assert found["table"] <= SMALL_TABLES | ({"memory_vectors"} - {"memory_vectors" * uses})


def test_neighbours_in_a_session_are_read_by_its_index(worlds: dict[str, tuple[World, UUID]]) -> None:
    world, some = worlds["large"]
    found = scanned(
        world,
        """select * from loci_api.expand_recall_hits(
               %(ns)s, '', array[(select m.doc_id from loci_data.memories m where m.id = %(some)s)], '{}', '{}')""",
        some=some,
    )
    assert "memories_session" in found["index"]
    assert found["table"] <= SMALL_TABLES


def test_sharers_of_a_name_with_a_hit_are_looked_up_one_by_one(worlds: dict[str, tuple[World, UUID]]) -> None:
    world, _ = worlds["large"]
    with world.connection.transaction(force_rollback=True):
        act_as(world.connection, OPERATOR)
        first, second = world.remember(
            *({"content": text, "entities": [{"name": name} for name in names]}
              for text, names in (("Zeus drinks Ambrosia", ("Zeus", "Ambrosia")), ("Hebe pours Ambrosia", ("Hebe", "Ambrosia"))))
        )  # fmt: skip
        world.connection.execute("discard plans")
        world.connection.execute("set local enable_nestloop = off")  # as if the planner expected many: a join would read them all
        read = """select sum(pg_stat_get_xact_tuples_fetched(i.indexrelid)) from pg_index i
                  where i.indrelid = 'loci_data.memories'::regclass"""
        before = world.value(read)
        reached = world.rows(
            """select n.id from loci_data.memories m
               cross join lateral loci_api.memories_sharing_names(%(ns)s, 'who is Zeus?', array[m.doc_id]) n where m.id = %(id)s""",
            id=first["id"],
        )
        assert second["id"] in [row["id"] for row in reached]
        assert world.value(read) - before < 20


def test_an_analysts_view_of_one_namespace_reads_no_other(worlds: dict[str, tuple[World, UUID]]) -> None:
    world, _ = worlds["small"]
    found = scanned(world, "select count(*) from loci_data.memories where namespace_id = %(ns_id)s and session_id = 's1'")
    assert "memories_session" in found["index"]
    assert "memories" not in found["table"]


def test_changes_of_a_namespace_newer_than_the_statistics_are_looked_up_by_what_they_are_about(
    worlds: dict[str, tuple[World, UUID]],
) -> None:
    connection = worlds["large"][0].connection
    with connection.transaction(force_rollback=True):
        new = new_world(connection)
        ids = [row["id"] for row in new.remember(*({"content": f"memory {n}"} for n in range(500)))]
        new.rows("select * from loci_api.sequence_changes()")
        before = counts(new, "i")
        new.erase(*ids[:100])
        after = counts(new, "i")
    assert after["changes_subject"] - before.get("changes_subject", 0) >= 100
    assert after.get("changes_kind", 0) == before.get("changes_kind", 0)


@pytest.mark.row("R9")
def test_names_of_a_namespace_newer_than_the_statistics_are_not_compared_with_all_its_names(
    worlds: dict[str, tuple[World, UUID]],
) -> None:
    connection = worlds["large"][0].connection
    with connection.transaction(force_rollback=True):
        act_as(connection, OPERATOR)
        new = new_world(connection)
        ids = [row["id"] for row in new.remember(*({"content": f"memory {n}"} for n in range(100)))]
        before = rows_read(new)
        store_names(new, ids)
        assert rows_read(new) - before < 20 * 5 * len(ids)


@pytest.mark.row("X10")
def test_lineages_of_a_namespace_newer_than_the_statistics_are_looked_up_by_their_names(
    worlds: dict[str, tuple[World, UUID]],
) -> None:
    connection = worlds["large"][0].connection
    with connection.transaction(force_rollback=True):
        new = new_world(connection)
        new.remember(*({"content": f"memory {n}", "lineage": f"first {n}"} for n in range(300)))
        before = rows_read(new, "memories")
        edge = {"source": "Ada", "type": "wrote"}
        items: list[Row] = [
            {"id": str(uuid4()), "content": f"page {n}", "lineage": f"page {n}", "edges": [edge | {"target": f"book {n}"}]}
            for n in range(300)
        ]
        new.rows("select * from loci_api.import_memories(%(ns)s, %(items)s)", items=Jsonb(items))
        assert rows_read(new, "memories") - before < 20 * len(items)
        before = rows_read(new, "memories")
        links = [{"source_id": one["id"], "target_id": other["id"], "type": "about"} for one, other in pairwise(items)]
        new.rows("select * from loci_api.import_links(%(ns)s, %(links)s)", links=Jsonb(links))
        assert rows_read(new, "memories") - before < 20 * len(links)


def test_duplicates_of_a_batch_are_looked_up_by_what_they_say_whatever_else_is_indexed(admin: psycopg.Connection[Row]) -> None:
    admin.execute("create index tempting on loci_data.memories (namespace_id)")  # as small as an index can be
    new = new_world(admin)
    contents = [{"content": f"memory {n}"} for n in range(300)]
    new.remember(*contents)
    parsed = new.value("select loci_internal.parse_memories(%(ns_id)s, %(items)s)::text", items=Jsonb(contents))
    before = rows_read(new, "memories")
    looked_up = "select loci_internal.find_duplicates(%(ns_id)s, %(items)s::loci_internal.memory_input[], clock_timestamp())"
    found = new.value(looked_up, items=parsed)
    assert len(found) == 300
    assert rows_read(new, "memories") - before == 300


def test_items_that_correct_nothing_are_parsed_without_a_look_at_memories(admin: psycopg.Connection[Row]) -> None:
    admin.execute("create index tempting on loci_data.memories (namespace_id)")
    new = new_world(admin)
    contents = [{"content": f"memory {n}"} for n in range(300)]
    new.remember(*contents)
    before = rows_read(new, "memories")
    assert new.value("select cardinality(loci_internal.parse_memories(%(ns_id)s, %(items)s))", items=Jsonb(contents)) == 300
    assert rows_read(new, "memories") == before


def rows_read(world: World, table: str = "name_candidates") -> int:
    """Rows that scans of the indexes of a table returned in this transaction."""
    return int(
        world.value(
            """select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i
               where i.indrelid = format('loci_data.%%I', %(table)s::text)::regclass""",
            table=table,
        )
    )
