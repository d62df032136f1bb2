"""One memory is written another way than many: the rows are the same, in every table."""

import json
from typing import Any, LiteralString

import pytest

from tests.factories import World, day, new_world, stated

ITEMS: list[dict[str, Any]] = [
    {"content": "Alice keeps bees in Porto."},
    {"content": "The hive is <b>blue</b>: see garden/hive.md, or ask ines@example.org."},
    {"content": "I sell honey, honey and honey.", "source": "Bob", "session_id": "market"},
    {"content": "Ines mag Crêpes und Žižkov.", "category": "food/sweet", "tags": ["café", "late"]},
    {"content": "東京の蜂蜜はおいしい。", "importance": 0.9, "confidence": 0.4},
    {"content": "Bees danced at noon.", "layer": 3, "metadata": {"seen": [1, None]}},
    {"content": "a wax " * 9000 + "end", "metadata": None, "user": "Ann"},
    {"content": "a1@" * 300, "tags": []},
]
UNLIKE = """ - array['namespace_id', 'id', 'doc_id', 'lineage', 'lineage_id', 'valid_from', 'recorded_at', 'believed_at',
                     'last_observed_at', 'updated_at']"""
TABLES: dict[str, LiteralString] = {
    "memories": f"select to_jsonb(m) {UNLIKE} from loci_data.memories m where m.namespace_id = %(ns_id)s",
    "texts": "select to_jsonb(t.document::text) from loci_data.memory_texts t where t.namespace_id = %(ns_id)s",
    "postings": """select jsonb_build_array(p.term, e.entry & ((1 << 23) - 1))
                   from loci_data.postings p cross join unnest(p.entries) e(entry) where p.namespace_id = %(ns_id)s""",
    "counts": """select jsonb_build_array(sum(c.documents), sum(c.terms)) from loci_data.corpus_counts c
                 where c.namespace_id = %(ns_id)s""",
    "vectors": """select jsonb_build_array(q.model_id, q.error, q.has_vector, m.content)
                  from loci_data.embedding_queue q join loci_data.memories m on m.id = q.memory_id
                  where q.namespace_id = %(ns_id)s""",
    "names": """select to_jsonb(m.content) from loci_data.name_queue q join loci_data.memories m on m.id = q.memory_id
                where q.namespace_id = %(ns_id)s""",
    "changes": f"""select jsonb_build_array(o.kind, o.action, o.before, o.after {UNLIKE}, m.content)
                   from loci_data.outbox o join loci_data.memories m on m.id = o.subject_id where o.namespace_id = %(ns_id)s""",
    "operations": """select to_jsonb(o) - array['namespace_id', 'id', 'started_at'] from loci_data.operations o
                     where o.namespace_id = %(ns_id)s""",
}


def write_one(world: World, item: dict[str, Any]) -> dict[str, Any]:
    return world.row("select * from loci_api.remember_one(%(ns)s, %(item)s::jsonb)", item=json.dumps(stated(item)))


def written(world: World, table: str) -> list[str]:
    """The rows of a table, without what no two memories share."""
    rows = world.as_owner(TABLES[table])  # type: ignore[arg-type]
    return sorted(json.dumps(next(iter(row.values())), sort_keys=True) for row in rows)


def two_worlds(owned: World) -> tuple[World, World]:
    owned.rows("select loci_api.register_model('test', 16)")
    return owned, new_world(owned.connection)


@pytest.mark.row("M1")
@pytest.mark.parametrize("table", TABLES)
def test_a_memory_by_itself_leaves_the_rows_that_it_leaves_in_a_batch(owned: World, table: str) -> None:
    many, one = two_worlds(owned)
    many.remember(*ITEMS)
    for item in ITEMS:
        assert not write_one(one, item)["duplicate"]
    assert written(many, table) == written(one, table) != []


@pytest.mark.row("M1")
def test_a_memory_by_itself_is_returned_as_it_is_read(world: World) -> None:
    for item in ITEMS:
        shown = write_one(world, item)["memory"]
        assert shown == world.value(
            "select m from loci.get_memories(%(ns)s, array[(%(shown)s::loci.memory_record).id]) m", shown=shown
        )


@pytest.mark.row("M1")
@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["content"][:20])
def test_the_same_memory_again_by_itself_reinforces_the_first(owned: World, item: dict[str, Any]) -> None:
    many, one = two_worlds(owned)
    for _ in range(2):
        many.remember(item, {"content": "another"})
        write_one(one, item)
        write_one(one, {"content": "another"})
    for table in TABLES:
        assert written(many, table) == written(one, table)


@pytest.mark.row("M1")
@pytest.mark.parametrize(
    "more",
    [
        {"lineage": "bees"},
        {"valid_from": day(1)},
        {"valid_to": day(20000)},
        {"about": "Alice"},
        {"entities": [{"name": "Porto"}]},
        {"edges": [{"source": "Alice", "type": "keeps", "target": "bees"}]},
        {"embedding": [1.0] * 16},
        {"on_duplicate": "update"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_a_memory_that_states_more_leaves_the_rows_of_a_batch_too(owned: World, more: dict[str, Any]) -> None:
    many, one = two_worlds(owned)
    item = {**ITEMS[0], **more}
    many.remember(item)
    write_one(one, item)
    for table in TABLES:
        assert written(many, table) == written(one, table)
