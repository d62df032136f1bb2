"""Export and restoring in SQL: what belongs to a namespace, who may, and what a line can and cannot do."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.catalogue import ROOT
from tests.factories import Row, World, act_as, grant, new_world
from tests.sql.details import DEFAULTS
from tests.sql.test_graph import observe

# Tables with a namespace_id that are no lines of an export, and why.
NOT_EXPORTED = {
    "memory_closure": "derived: triggers keep it from placements",
    "memory_texts": "derived: triggers index restored memories",
    "postings": "derived: triggers index restored memories",
    "lexical_ranges": "derived: the worker joins postings",
    "lexical_impacts": "derived: the worker joins postings",
    "corpus_counts": "derived: triggers count restored memories",
    "attribute_terms": "derived: a trigger keeps it from attributes",
    "aspects_to_sweep": "derived: triggers queue the aspects of restored facts",
    "contradiction_queue": "derived: a trigger queues restored facts",
    "entity_names": "derived: a trigger keeps it from entities",
    "embedding_queue": "derived: triggers queue restored memories that have no vector",
    "memory_pieces": "what a reranker on this machine has read; read anew",
    "memory_vectors": "derived by a model; lines of kind vector on request, which name the model and not its number here",
    "vector_means": "derived: counted when vectors are stored",
    "projections": "derived: found in the vectors when a map is asked for",
    "map_layouts": "derived: a job lays a map out when it is asked for",
    "map_points": "derived: where the job, or the nearest that it laid out, put each memory",
    "entity_places": "derived: found when the constellation is asked for",
    "decay_changes": "derived: how far fades_at has got, which restoring reckons anew",
    "entity_queue": "derived: triggers queue restored entities",
    "entity_vectors": "derived by a model: the worker makes them anew",
    "jobs": "work left for later on this server, and what became of it",
    "schedules": "when jobs are due next, which follows from the settings",
    "key_uses": "the record of who used which key on this server",
    "grants": "who may do what is a matter of the server, not of the data",
    "invitations": "who is asked to be given what is a matter of the server, not of the data",
    "model_calls": "the record of what calls of models cost on this server",
    "operations": "the record of who did what on this server",
    "operation_counts": "part of that record",
    "episodes_read": "the record of what jobs have looked at on this server",
    "pass_runs": "the record of what passes have done on this server",
    "outbox": "the change feed of this server",
    "changes": "the change feed of this server",
    "feeds": "how far that feed reaches",
    "namespace_cells": "in which cell it is, which is a matter of the servers, not of the data",
    "namespace_moves": "how far its move to another cell has come",
    "namespace_locks": "what transactions of this server wait for each other at",
    "turn_locks": "what transactions of this server wait for each other at",
    "idempotency_keys": "replies to requests that were sent to this server",
}
# Columns of exported tables that are computed anew, beside namespace_id.
COMPUTED = {
    "memories": {"content_hash"},
    "entities": {"canonical_name"},
    "entity_beliefs": {"canonical_name"},
    "name_candidates": {"canonical_name"},
    "aspects": {"canonical_name"},
    "attributes": {"entity_id"},
    "memory_mentions": {"operation_id"},
    "edges": {"fades_at"},
    "edge_observations": {"operation_id"},
    "working_memory": {"document", "terms"},
    "conversation_turns": {"document", "terms", "read_by", "failed_reads"},
}
MEMORY: Row = {
    "kind": "memory", "doc_id": 1, "version": 1, "content": "Alice", "fold_scope": "", "valid_from": "2024-01-01T00:00:00+00:00", "valid_to": None, "recorded_at": "2024-01-01T00:00:00+00:00",
    "believed_at": "2024-01-01T00:00:00+00:00", "superseded_at": None, "status": "active", "source": None, "session_id": None, "observations": 1, "last_observed_at": "2024-01-01T00:00:00+00:00",
    "created_by": None, "updated_at": "2024-01-01T00:00:00+00:00", **DEFAULTS, "confidence": 1,
}  # fmt: skip


def memory(**fields: Any) -> Row:
    own = str(uuid4())
    return {**MEMORY, "id": own, "lineage": own, "lineage_id": own, **fields}


def restored(world: World, kind: str, *lines: Row) -> Row:
    """What loci_api.restore_rows says."""
    return world.row("select * from loci_api.restore_rows(%(ns)s, %(kind)s, %(lines)s)", kind=kind, lines=Jsonb(lines))


def exported(world: World, kind: str) -> list[Row]:
    """All lines of a kind, page by page, a line a page."""
    lines: list[Row] = []
    after = None
    while True:
        page = world.row(
            "select * from loci_api.export_page(%(ns)s, %(kind)s, %(after)s, 1)", kind=kind, after=after and Jsonb(after)
        )
        if not page["rows"]:
            return lines
        lines += [json.loads(line) for line in page["lines"].split("\n")]
        after = page["last"]


def kinds(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """Kinds and their tables, in order."""
    return {
        row["kind"]: row["source"] for row in connection.execute("select kind, source from loci_api.export_kinds() order by place")
    }


def namespaced(connection: psycopg.Connection[Any]) -> dict[str, set[str]]:
    """Tables with a namespace_id, and their columns."""
    rows = connection.execute(
        """select c.relname as name, array_agg(a.attname::text) as columns from pg_class c
           join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
           where c.relnamespace = 'loci_data'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
           group by c.relname having 'namespace_id' = any (array_agg(a.attname::text))"""
    ).fetchall()
    return {row["name"]: set(row["columns"]) for row in rows}


# What belongs to a namespace


@pytest.mark.row("X6")
def test_every_table_of_a_namespace_is_exported_or_derived_and_never_both(connection: psycopg.Connection[Any]) -> None:
    sources = list(kinds(connection).values())
    assert len(sources) == len(set(sources))
    assert set(sources) & set(NOT_EXPORTED) == set()
    assert set(sources) | set(NOT_EXPORTED) == set(namespaced(connection))


def test_every_column_of_an_exported_table_is_in_the_file_or_computed_anew(admin: psycopg.Connection[Any]) -> None:
    tables = namespaced(admin)
    for kind, source in kinds(admin).items():
        rows = admin.execute("select name, in_file from loci_internal.export_columns(%s)", [kind]).fetchall()
        assert {row["name"] for row in rows} == tables[source] - {"namespace_id"}
        assert {row["name"] for row in rows if not row["in_file"]} == COMPUTED.get(source, set())


def test_lines_refer_only_to_kinds_that_stand_before_them(connection: psycopg.Connection[Any]) -> None:
    order = {source: place for place, source in enumerate(kinds(connection).values())}
    references = connection.execute(
        """select a.relname as from, b.relname as to, c.condeferrable from pg_constraint c
           join pg_class a on a.oid = c.conrelid join pg_class b on b.oid = c.confrelid
           where c.contype = 'f' and c.connamespace = 'loci_data'::regnamespace"""
    ).fetchall()
    among = [row for row in references if row["from"] in order and row["to"] in order]
    assert len(among) > 10
    wrong = [row for row in among if order[row["from"]] <= order[row["to"]] and not row["condeferrable"]]
    assert wrong == []


def test_pages_follow_each_other_without_a_gap(world: World) -> None:
    ids = [str(row["id"]) for row in world.remember(*({"content": f"fact {n}"} for n in range(30)))]
    assert [line["id"] for line in exported(world, "memory")] == ids


def test_a_page_holds_as_many_lines_as_fit(world: World) -> None:
    world.remember(*({"content": f"{n} " + "x" * 1000} for n in range(30)))
    page = world.row("select * from loci_api.export_page(%(ns)s, 'memory', null, 10000)")
    assert 5 <= page["rows"] <= 10


# Who may


@pytest.mark.parametrize("role", ["reader", "writer"])
@pytest.mark.parametrize(
    "call",
    [
        "loci_api.export_header(%(ns)s)",
        "loci_api.export_page(%(ns)s, 'memory')",
        "loci_api.begin_restore(%(ns)s, '{}')",
        "loci_api.restore_rows(%(ns)s, 'memory', '[]')",
        "loci_api.restore_vectors(%(ns)s, '[]')",
        "loci_api.finish_restore(%(ns)s)",
    ],
)
def test_only_an_admin_exports_and_restores(owned: World, admin: psycopg.Connection[Any], role: str, call: Any) -> None:
    admin.execute("reset session authorization")
    agent = grant(admin, owned.name, role)
    admin.execute("set session authorization loci_app")
    act_as(owned.connection, agent)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        owned.rows("select * from " + call)


def test_only_the_operator_restores_into_a_namespace_that_is_not_there(owned: World, admin: psycopg.Connection[Any]) -> None:
    header = {
        "description": None,
        "language": "english",
        "settings": {},
        "created_at": "2024-01-01T00:00Z",
        "updated_at": "2024-01-01T00:00Z",
    }
    made = owned.row("select * from loci_api.begin_restore('made', %(h)s)", h=Jsonb(header))
    assert (made["created"], made["kept"]) == (True, [])
    admin.execute("reset session authorization")
    agent = grant(admin, owned.name, "admin")
    admin.execute("set session authorization loci_app")
    act_as(owned.connection, agent)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        owned.rows("select * from loci_api.begin_restore('another', %(h)s)", h=Jsonb(header))


# What a line can do


def test_a_restored_memory_is_found_by_its_words_and_waits_for_a_vector(world: World) -> None:
    outcome = restored(world, "memory", memory(content="Alice bought a lighthouse"))
    assert (outcome["written"], outcome["unchanged"], outcome["problems"]) == (1, 0, [])
    found = world.rows("select * from loci.search_text(%(ns)s, 'lighthouse')")
    assert len(found) == 1


def test_a_restored_memory_is_not_read_for_names_again(world: World) -> None:
    read, unread = memory(), memory(content="Bob")
    restored(world, "memory", read, unread)
    waits = {"kind": "name_queue", "memory_id": unread["id"], "enqueued_at": "2024-01-01T00:00:00+00:00"}
    assert restored(world, "name_queue", waits)["written"] == 1
    assert restored(world, "name_queue", waits)["written"] == 0
    world.rows("select loci_api.finish_restore(%(ns)s)")
    rows = world.rows("select memory_id, enqueued_at from loci_data.name_queue where namespace_id = %(ns_id)s")
    assert [(str(row["memory_id"]), row["enqueued_at"]) for row in rows] == [(unread["id"], datetime(2024, 1, 1, tzinfo=UTC))]


def test_a_memory_that_was_read_since_the_export_is_not_read_again(world: World) -> None:
    line = memory()
    restored(world, "memory", line)
    world.rows("select loci_api.finish_restore(%(ns)s)")
    waits = {"kind": "name_queue", "memory_id": line["id"], "enqueued_at": "2024-01-01T00:00:00+00:00"}
    candidate = {"kind": "name_candidate", "memory_id": line["id"], "name": "Alice Liddell"}
    assert restored(world, "name_candidate", candidate) == {"written": 0, "unchanged": 1, "problems": []}
    assert restored(world, "name_queue", waits) == {"written": 0, "unchanged": 1, "problems": []}


@pytest.mark.parametrize("kind", ["name_candidate", "name_queue"])
def test_a_restored_queue_row_needs_its_memory(world: World, kind: str) -> None:
    line = {
        "kind": kind,
        "memory_id": str(uuid4()),
        **({"name": "Alice"} if kind == "name_candidate" else {"enqueued_at": "2024-01-01T00:00:00+00:00"}),
    }
    assert restored(world, kind, line)["problems"][0]["reason"].startswith("memory_id: there is no memory")


def test_nothing_is_believed_anew_by_restoring(world: World) -> None:
    restored(world, "memory", memory(believed_at="2025-01-01T00:00:00+00:00"))
    assert world.value("select count(*) from loci_data.memory_beliefs where namespace_id = %(ns_id)s") == 0


def test_the_same_line_again_changes_nothing(world: World) -> None:
    line = memory(metadata={"n": 1.10})
    restored(world, "memory", line)
    before = world.row("select xmin::text, ctid::text from loci_data.memories where namespace_id = %(ns_id)s")
    again = restored(world, "memory", line)
    assert (again["written"], again["unchanged"], again["problems"]) == (0, 1, [])
    assert world.row("select xmin::text, ctid::text from loci_data.memories where namespace_id = %(ns_id)s") == before


def test_a_line_that_says_something_else_is_a_conflict_and_overwrites_nothing(world: World) -> None:
    line = memory(importance=0.25)
    restored(world, "memory", line)
    outcome = restored(world, "memory", memory(content="Bob"), {**line, "importance": 0.75})
    assert (outcome["written"], outcome["unchanged"]) == (1, 0)
    reason = "memory is here with other content: importance is 0.25 here and 0.75 in the file"
    assert outcome["problems"] == [{"row": 2, "conflict": True, "reason": reason}]
    assert world.get(UUID(line["id"]))["importance"] == 0.25


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"importanse": 1}, "importanse: is no field of this kind"),
        ({"namespace_id": 1}, "namespace_id: is no field of this kind"),
        ({"content_hash": "\\x00"}, "content_hash: is no field of this kind"),
        ({"layer": "2"}, 'layer: "2" must be written as 2'),
        ({"valid_from": "yesterday"}, 'valid_from: "yesterday" must be written as "'),
        ({"valid_from": "2024-01-01T00:00:00Z"}, 'must be written as "2024-01-01T00:00:00+00:00"'),
        ({"content": 5}, 'content: 5 must be written as "5"'),
        ({"lineage": "alice"}, "lineage: there is no lineage 'alice'"),
    ],
)
def test_a_line_that_is_not_read_as_it_is_written_is_named_and_nothing_is_written(world: World, change: Row, reason: str) -> None:
    outcome = restored(world, "memory", memory(), {**memory(content="Bob"), **change})
    assert [(p["row"], p["conflict"]) for p in outcome["problems"]] == [(2, False)]
    assert reason in outcome["problems"][0]["reason"]
    assert world.value("select count(*) from loci_data.memories where namespace_id = %(ns_id)s") == 0


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"version": 1.5}, psycopg.errors.InvalidTextRepresentation),
        ({"id": "x"}, psycopg.errors.InvalidTextRepresentation),
        ({"tags": "a"}, psycopg.errors.InvalidTextRepresentation),
        ({"importance": 2}, psycopg.errors.CheckViolation),
        ({"content": ""}, psycopg.errors.CheckViolation),
        ({"status": "gone"}, psycopg.errors.CheckViolation),
        ({"content": None}, psycopg.errors.NotNullViolation),
        ({"content": "Alice"}, psycopg.errors.UniqueViolation),  # a duplicate would have folded
    ],
)
def test_a_value_that_no_row_can_have_is_refused(world: World, change: Row, error: type[Exception]) -> None:
    with pytest.raises(error), world.connection.transaction():
        restored(world, "memory", memory(), {**memory(content="Bob"), **change})
    assert world.value("select count(*) from loci_data.memories where namespace_id = %(ns_id)s") == 0


def test_types_are_read_in_their_one_form_however_a_file_spells_them(world: World) -> None:
    world.rows("select * from loci_api.set_edge_type(%(ns)s, 'works_on', '{\"decay_rate\": 0.5}')")
    world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": "Ada", "type": "team_lead"}]))
    observe(world, {"source": "Ada", "type": "works_on", "target": "Loom"})
    spelt = {"works_on": "Works On", "team_lead": "Team-Lead"}
    kinds = ("edge_type", "entity", "edge", "edge_observation")
    lines = {
        kind: [
            {**line, **({"type": spelt.get(line["type"], line["type"])} if "type" in line else {})}
            for line in exported(world, kind)
        ]
        for kind in kinds
    }
    other = new_world(world.connection)
    for count in ("written", "unchanged"):
        for kind in kinds:
            outcome = restored(other, kind, *lines[kind])
            assert (outcome[count], outcome["problems"]) == (len(lines[kind]), [])
    assert other.value("select string_agg(type, ' ') from loci.list_edges(%(ns)s, p_type => 'works on')") == "works_on"
    assert other.value("select type from loci.get_entity(%(ns)s, 'Ada')") == "team_lead"
    assert other.value("select decay_rate from loci.get_edge_type(%(ns)s, 'works_on')") == 0.5


def test_a_line_without_a_field_says_which(world: World) -> None:
    line = memory()
    del line["source"]
    assert restored(world, "memory", line)["problems"] == [{"row": 1, "conflict": False, "reason": "source: is missing"}]


def test_an_unknown_kind_is_refused(world: World) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        restored(world, "grant", {"kind": "grant"})


def test_a_line_reaches_no_other_namespace(world: World) -> None:
    other = new_world(world.connection)
    line = memory()
    restored(other, "memory", line)
    assert restored(world, "memory", {**line, "content": "Not Alice"})["written"] == 1  # the same id, a world apart
    assert other.get(UUID(line["id"]))["content"] == "Alice"
    entity = str(uuid4())
    mention = {"kind": "mention", "memory_id": line["id"], "entity_id": entity, "mention_text": "x", "confidence": 1,
               "observed": True, "session_id": None, "created_at": "2024-01-01T00:00:00+00:00"}  # fmt: skip
    other.rows('select loci_api.upsert_entities(%(ns)s, \'[{"name": "Ada"}]\')')
    stranger = other.value("select id from loci_data.entities where namespace_id = %(ns_id)s")
    with pytest.raises(psycopg.errors.ForeignKeyViolation), world.connection.transaction():
        restored(world, "mention", {**mention, "entity_id": str(stranger)})


@pytest.mark.parametrize("field", ["node_id", "parent_id"])
def test_a_place_in_the_hierarchy_needs_both_ends(world: World, field: str) -> None:
    a, b = memory(), memory(content="Bob")
    restored(world, "memory", a, b)
    line = {"kind": "placement", "node_id": a["id"], "parent_id": b["id"], "valid_from": "-infinity", "valid_to": None,
            "recorded_at": "2024-01-01T00:00:00+00:00", "superseded_at": None}  # fmt: skip
    outcome = restored(world, "placement", line | {field: str(uuid4())})
    assert f"{field}: there is no lineage" in outcome["problems"][0]["reason"]
    assert restored(world, "placement", line)["written"] == 1


def test_versions_that_overlap_are_refused_as_in_any_write(world: World) -> None:
    first = memory(lineage="city", fold_scope=None)
    second = memory(content="Bob", lineage="city", lineage_id=first["id"], version=2, fold_scope=None)
    restored(world, "lineage", {"kind": "lineage", "lineage": "city", "id": first["id"], "versions": 2, "written_at": "-infinity"})
    with pytest.raises((psycopg.errors.ExclusionViolation, psycopg.errors.UniqueViolation)), world.connection.transaction():
        restored(world, "memory", first, second)


def test_a_namespace_with_rows_keeps_its_own_settings_and_an_empty_one_takes_those_of_the_file(world: World) -> None:
    header = {
        "description": "new",
        "language": "german",
        "settings": {"rrf_k": 7},
        "created_at": "2024-01-01T00:00Z",
        "updated_at": "2024-01-01T00:00Z",
    }
    begin = "select * from loci_api.begin_restore(%(ns)s, %(h)s)"
    assert world.row(begin, h=Jsonb(header))["kept"] == []
    restored(world, "memory", memory())
    assert world.row(begin, h=Jsonb({**header, "settings": {}, "language": "english"}))["kept"] == ["language", "settings"]
    row = world.row("select settings, language::text from loci_data.namespaces where id = %(ns_id)s")
    assert row == {"settings": {"rrf_k": 7}, "language": "german"}


# Numbers of this server


def test_new_memories_come_after_restored_ones(world: World) -> None:
    next_ = world.value("select doc_id + 500000 from loci_data.memories where id = %(id)s", id=world.write("before")["id"])
    restored(world, "memory", memory(doc_id=next_))
    new = world.write("after")
    numbers = world.rows("select content, doc_id from loci_data.memories where namespace_id = %(ns_id)s order by doc_id")
    assert [row["content"] for row in numbers] == ["before", "Alice", "after"]
    assert numbers[1]["doc_id"] == next_
    assert new["id"] is not None


def test_an_admin_cannot_use_up_the_numbers_of_the_server(owned: World, admin: psycopg.Connection[Any]) -> None:
    admin.execute("reset session authorization")
    agent = grant(admin, owned.name, "admin")
    admin.execute("set session authorization loci_app")
    act_as(owned.connection, agent)
    lines = [memory(doc_id=2**40 - 2, content="a"), memory(doc_id=2**40 - 1, content="b")]
    assert restored(owned, "memory", *lines)["written"] == 2
    rows = owned.rows("select content, doc_id from loci_data.memories where namespace_id = %(ns_id)s order by doc_id")
    assert [row["content"] for row in rows] == ["a", "b"]
    assert rows[1]["doc_id"] < 2**39
    turn = {"kind": "conversation_turn", "session_id": "s", "id": 2**62, "agent_id": str(uuid4()), "role": "user", "content": "x",
            "metadata": {}, "said_at": "2024-01-01T00:00:00+00:00", "logged": True}  # fmt: skip
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        restored(owned, "conversation_turn", turn)


def test_a_document_number_that_is_taken_gives_way(world: World) -> None:
    taken = world.value("select doc_id from loci_data.memories where id = %(id)s", id=world.write("mine")["id"])
    line = memory(doc_id=taken)
    assert restored(world, "memory", line)["written"] == 1
    assert restored(world, "memory", line)["unchanged"] == 1
    assert world.value("select count(distinct doc_id) from loci_data.memories where namespace_id = %(ns_id)s") == 2


def test_every_kind_is_in_the_document(connection: psycopg.Connection[Any]) -> None:
    text = (ROOT / "docs" / "transfer.md").read_text()
    assert [kind for kind in kinds(connection) if f"`{kind}`" not in text] == []
