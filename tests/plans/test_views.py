"""What analysts' queries read: the rows that they ask for, by an index, among 6,000 in the namespace.

The server counts the rows that every scan of a plan gave and threw away; the plan is an analyst's, under the policies.
"""

from collections.abc import Iterator
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import psycopg.sql
import pytest

from db.access import analysts
from db.pool import Origin
from service.access.analysts import uri_of
from tests.catalogue import ROOT
from tests.catalogue import VIEWS as ALL_VIEWS
from tests.databases import Database
from tests.factories import OPERATOR

NO_NAMESPACE = {"embedding_models", "foreign_keys"}  # a handful of rows, of no namespace
OF_A_FUNCTION = {"readers"}  # its plan is of a function that reads a namespace's grants and keys
VIEWS = [view for view in ALL_VIEWS if view not in NO_NAMESPACE | OF_A_FUNCTION]
COUNTED = {"namespace_stats", "edge_types"}  # rows that count others
LARGE = 1_200  # a scan of so many rows is what an index is for
KINDS = [
    "memory",
    "lineage",
    "entity",
    "aspect",
    "attribute",
    "supersession",
    "edge",
    "observation",
    "recall",
    "feedback",
    "operation",
    "job",
    "run",
    "call",
    "signal",
]  # as fill.sql makes identifiers of them
# View, restriction as people write it, the table and index that serve it, and the most rows that its scans may read.
ASKED: list[tuple[str, LiteralString, str, int]] = [
    ("current_memories", "id = %(memory)s", "memories_pkey", 50),
    ("current_memories", "lineage = 'line 77'", "memories", 50),
    ("current_memories", "category = 'work/c7'", "memories_category", 1000),
    ("current_memories", "session_id = 's7'", "memories_session", 1000),
    (
        "current_memories",
        "recorded_at >= timestamptz '2025-12-13 06:00Z' order by recorded_at desc limit 20",
        "memories_recorded",
        1000,
    ),
    ("memory_versions", "id = %(memory)s", "memories_pkey", 50),
    ("memory_versions", "lineage = 'line 77' order by version", "memories", 50),
    (
        "memory_versions",
        "recorded_at >= timestamptz '2025-12-13 06:00Z' order by recorded_at desc limit 20",
        "memories_recorded",
        1000,
    ),
    ("entities", "id = %(entity)s", "entities_pkey", 10),
    ("entities", "name = 'Thing 77'", "entities_name", 10),
    ("entities", "canonical_name = 'thing 77'", "entities_canonical_name_key", 10),
    ("entities", "pinned_at is not null", "entities_pinned", 10),
    ("edges", "id = %(edge)s", "edges_pkey", 50),
    ("edges", "source = 'Thing 77'", "entities_name", 50),
    ("edges", "source_id = %(entity)s", "edges", 50),
    ("edges", "target_id = %(entity)s", "edges_target", 50),
    ("edges", "target = 'Thing 77'", "entities_name", 50),
    ("edges", "type = 'type7' limit 20", "edges_type", 500),
    ("faded_edges", "id = %(edge)s", "edges_pkey", 50),
    ("faded_edges", "source = 'Thing 77'", "entities_name", 50),
    ("faded_edges", "target_id = %(entity)s", "edges_target", 50),
    ("edge_spells", "edge_id = %(edge)s", "edges_pkey", 50),
    ("edge_spells", "source = 'Thing 77'", "entities_name", 50),
    ("edge_spells", "target_id = %(entity)s", "edges_target", 50),
    ("aspects", "id = %(aspect)s", "aspects", 50),
    ("aspects", "entity = 'Thing 77'", "entities_name", 50),
    ("aspects", "entity_id = %(entity)s", "aspects", 50),
    ("constraints", "id = %(rule)s", "attributes_pkey", 50),
    ("constraints", "entity = 'Thing 77'", "entities_name", 50),
    ("constraints", "entity_id = %(entity)s", "attributes", 50),
    ("supersessions", "id = %(supersession)s", "supersessions_pkey", 50),
    ("supersessions", "status = 'proposed' limit 20", "supersessions_status", 1000),
    ("recall_log", "recall_id = %(recall)s", "recalls_pkey", 50),
    ("recall_log", "memory_id = %(memory)s", "recall_results_memory", 50),
    ("recall_log", "session_id = 's7'", "recalls_session", 1000),
    ("recall_log", "at >= timestamptz '2025-12-13 06:00Z' order by at desc limit 20", "recalls_at", 2000),
    ("recalls", "id = %(recall)s", "recalls_pkey", 50),
    ("recalls", "session_id = 's7'", "recalls_session", 1000),
    ("recalls", "at >= timestamptz '2025-12-13 06:00Z' order by at desc limit 20", "recalls_at", 2000),
    ("turns", "session_id = 's7' order by id", "conversation_turns_pkey", 500),
    ("turns", "said_at >= timestamptz '2025-12-13 06:00Z' order by said_at desc limit 20", "conversation_turns_said", 500),
    ("mentions", "entity = 'Thing 77'", "memory_mentions_entity", 50),
    ("mentions", "entity_id = %(entity)s", "memory_mentions_entity", 50),
    ("mentions", "memory_id = %(memory)s", "memory_mentions_pkey", 50),
    ("mentions", "lineage = 'line 77'", "memories", 100),
    ("mentions", "recorded_at >= timestamptz '2025-12-13 06:00Z' order by recorded_at desc limit 20", "memories_recorded", 2000),
    ("evidence", "id = %(observation)s", "edge_observations_pkey", 50),
    ("evidence", "edge_id = %(edge)s", "edge_observations_edge", 50),
    ("evidence", "memory_id = %(memory)s", "edge_observations_memory", 50),
    ("evidence", "operation_id = %(operation)s", "edge_observations_operation", 50),
    ("evidence", "source = 'Thing 77'", "entities_name", 100),
    (
        "evidence",
        "observed_at >= timestamptz '2025-12-13 06:00Z' order by observed_at desc limit 20",
        "edge_observations_observed",
        2000,
    ),
    ("links", "source_id = %(lineage)s", "memory_links", 50),
    ("links", "target_id = %(lineage)s", "memory_links_target", 50),
    ("unsettled_memories", "noticed_at > now() - interval '1 day'", "memory_links_open", 50),
    ("injections", "session_id = 's7'", "injections_pkey", 1000),
    ("injections", "memory_id = %(memory)s", "injections_memory", 50),
    (
        "injections",
        "injected_at >= timestamptz '2026-12-13 06:00Z' order by injected_at desc limit 20",
        "injections_injected",
        1000,
    ),
    ("attributes", "id = %(rule)s", "attributes_pkey", 50),
    ("attributes", "entity = 'Thing 77'", "entities_name", 50),
    ("attributes", "memory_id = %(memory)s", "attributes_memory", 50),
    ("hierarchy", "ancestor_id = %(parent)s limit 20", "memories_pkey", 2000),
    ("hierarchy", "descendant_id = %(child)s", "memory_closure", 100),
    ("feedback", "id = %(feedback)s", "feedback_events_pkey", 10),
    ("feedback", "session_id = 's7'", "feedback_events_session", 500),
    ("working_memory", "key = 'space/77/77'", "working_memory_pkey", 10),
    ("changes", "position > 23900 order by position limit 20", "changes_pkey", 3000),
    ("changes", "subject_id = %(memory)s", "changes_subject", 50),
    ("changes", "operation_id = %(operation)s", "changes_operation", 50),
    ("operations", "id = %(operation)s", "operations_pkey", 50),
    ("operations", "action = 'write' limit 20", "operations", 2000),
    ("jobs", "id = %(job)s", "jobs_pkey", 10),
    ("jobs", "state = 'dead' limit 20", "jobs_state", 50),
    ("jobs", "finished_at >= timestamptz '2025-12-13 06:00Z' order by finished_at desc limit 20", "jobs_finished", 1000),
    ("pass_runs", "id = %(run)s", "pass_runs_pkey", 10),
    ("pass_runs", "job_id = %(job)s", "pass_runs_job_key", 10),
    ("pass_runs", "pass = 'memories' limit 20", "pass_runs_pass", 50),
    ("model_calls", "id = %(call)s", "model_calls_pkey", 10),
    ("model_calls", "job_id = %(job)s", "model_calls_job", 10),
    ("model_calls", "started_at >= timestamptz '2025-12-13 06:00Z'", "model_calls_started", 2000),
    ("feedback_signals", "id = %(signal)s", "feedback_signals_pkey", 10),
    ("feedback_signals", "memory_id = %(memory)s", "feedback_signals_memory", 10),
    ("feedback_signals", "at >= timestamptz '2025-12-13 06:00Z' order by at desc limit 20", "feedback_signals_at", 1000),
]


@pytest.fixture(scope="module")
def identifiers(own_database: Database) -> dict[str, Any]:
    """Fill three namespaces; identifiers of one thing of each kind in the large one."""
    with own_database.admin() as admin:
        with admin.transaction():
            admin.execute("select set_config('loci.agent', %s, true)", [str(OPERATOR)])
            admin.execute((ROOT / "tests" / "plans" / "fill.sql").read_text().encode())
        admin.execute("vacuum analyze")
        row = admin.execute("select id from loci_data.namespaces where name = 'plan-large'").fetchone()
        assert row is not None

        def made(kind: str, number: int) -> UUID:
            found = admin.execute("select md5(%s || %s::text || '/' || %s::text)::uuid", [kind, row[0], number]).fetchone()
            assert found is not None
            return UUID(str(found[0]))

        ids = {kind: made(kind, 77) for kind in KINDS}
        return {**ids, "parent": made("memory", 3 * 77 + 2), "child": made("memory", 3 * 1500 + 2), "rule": made("attribute", 77)}


@pytest.fixture(scope="module")
def large(own_database: Database, identifiers: dict[str, Any]) -> set[str]:
    """Tables with more rows than a scan from end to end may read."""
    assert identifiers
    counted = "select relname from pg_class where relnamespace = 'loci_data'::regnamespace and relkind = 'r' and reltuples > %s"
    with own_database.admin() as admin:
        found = {row[0] for row in admin.execute(counted, [LARGE])}
    assert {"memories", "entities", "edges"} <= found
    return found


@pytest.fixture(scope="module")
def analyst(own_database: Database, identifiers: dict[str, Any]) -> Iterator[psycopg.Connection[Any]]:
    """A session of an analyst who reads two of the three namespaces."""
    login, password = f"plans_{uuid4().hex[:12]}", uuid4().hex
    origin = Origin(action="test", via="cli")
    analysts.create_analyst(
        own_database.admin_url,
        login=login,
        password=password,
        namespaces=["plan-large", "plan-small"],
        expires_at=None,
        timeout="60s",
        origin=origin,
    )
    assert identifiers
    with psycopg.connect(uri_of(own_database.app_url, login), password=password, autocommit=True) as connection:
        yield connection
    analysts.drop_analyst(own_database.admin_url, login=login, origin=origin)


def explained(connection: psycopg.Connection[Any], view: str, rest: LiteralString, values: dict[str, Any]) -> list[dict[str, Any]]:
    """All nodes of the plan that a query of a view was run with."""
    query = psycopg.sql.SQL("select * from {} where namespace = 'plan-large' and ").format(psycopg.sql.Identifier("loci", view))
    return run(connection, query + psycopg.sql.SQL(rest), values)


def run(connection: psycopg.Connection[Any], query: psycopg.sql.Composable, values: dict[str, Any]) -> list[dict[str, Any]]:
    """All nodes of the plan that a query was run with."""
    explain = psycopg.sql.SQL("explain (analyze, timing off, summary off, format json) ")
    row = connection.execute(explain + query, values).fetchone()
    assert row is not None
    return nodes_of(row[0][0]["Plan"])


def nodes_of(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """All nodes of a plan."""
    waiting, nodes = [plan], []
    while waiting:
        nodes.append(waiting.pop())
        waiting += nodes[-1].get("Plans", [])
    return nodes


def read(node: dict[str, Any]) -> float:
    """Rows that a scan gave or threw away, over all its loops."""
    thrown = sum(node.get(key, 0) for key in ("Rows Removed by Filter", "Rows Removed by Index Recheck"))
    return float((node["Actual Rows"] + thrown) * node["Actual Loops"])


@pytest.mark.row("X3")
@pytest.mark.parametrize(
    ("view", "rest", "index", "most"), [case for case in ASKED if case[0] in VIEWS], ids=lambda value: str(value)[:40]
)
def test_a_restricted_view_reads_about_what_it_gives_by_an_index(
    analyst: psycopg.Connection[Any], identifiers: dict[str, Any], view: str, rest: LiteralString, index: str, most: int
) -> None:
    nodes = explained(analyst, view, rest, identifiers)
    scans = [node for node in nodes if "Scan" in node["Node Type"] and "Relation Name" in node]
    assert sum(read(node) for node in scans) <= most, [(node["Node Type"], node["Relation Name"], read(node)) for node in scans]
    assert any(str(node.get("Index Name")).startswith(index) for node in nodes), [node.get("Index Name") for node in nodes]


@pytest.mark.parametrize(
    "query",
    [
        "select agent, count(*) from loci.changes where namespace = 'plan-large' and position > 23900 group by agent",
        "select agent, count(*) from loci.evidence where namespace = 'plan-large' and observed_at >= '2025-12-13 12:00Z' group by agent",
    ],
)
def test_the_agent_of_a_row_is_looked_up_by_the_key_of_its_operation(
    analyst: psycopg.Connection[Any], identifiers: dict[str, Any], query: LiteralString
) -> None:
    scans = [node for node in run(analyst, psycopg.sql.SQL(query), identifiers) if node.get("Relation Name") == "operations"]
    assert {node["Index Name"] for node in scans} == {"operations_pkey"}
    assert sum(read(node) for node in scans) <= 500


@pytest.mark.parametrize("view", [view for view in VIEWS if view not in COUNTED])
def test_the_first_rows_of_a_view_are_read_by_an_index_and_no_others(
    analyst: psycopg.Connection[Any], identifiers: dict[str, Any], view: str
) -> None:
    nodes = explained(analyst, view, "true limit 20", identifiers)
    scans = [node for node in nodes if "Scan" in node["Node Type"] and "Relation Name" in node]
    assert sum(read(node) for node in scans) <= 2000, [(node["Node Type"], node["Relation Name"], read(node)) for node in scans]
    assert [node for node in nodes if node["Node Type"] == "Seq Scan" and read(node) > LARGE] == []


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_reads_what_is_in_namespaces_that_were_not_granted(
    analyst: psycopg.Connection[Any], large: set[str], view: str
) -> None:
    """The plan alone: a scan from end to end would read all rows that the table has."""
    query = "explain (format json) select * from {} where namespace = 'plan-large'"
    row = analyst.execute(psycopg.sql.SQL(query).format(psycopg.sql.Identifier("loci", view))).fetchone()
    assert row is not None
    assert [
        n["Relation Name"] for n in nodes_of(row[0][0]["Plan"]) if n["Node Type"] == "Seq Scan" and n["Relation Name"] in large
    ] == []


def test_counts_of_a_small_namespace_do_not_depend_on_a_large_one(
    analyst: psycopg.Connection[Any], identifiers: dict[str, Any]
) -> None:
    row = analyst.execute(
        "explain (analyze, timing off, summary off, format json) select * from loci.namespace_stats where namespace = 'plan-small'"
    ).fetchone()
    assert row is not None
    waiting, rows = [row[0][0]["Plan"]], 0.0
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", [])
        rows += read(node) if "Relation Name" in node else 0
    assert 200 <= rows <= 2000
    assert identifiers


def test_every_view_is_asked_by_what_people_know(identifiers: dict[str, Any]) -> None:
    assert {case[0] for case in ASKED} >= {*VIEWS} - COUNTED
    assert identifiers
