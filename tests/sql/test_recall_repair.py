"""An index of words that another major version of PostgreSQL has cut: it may have stemmed some of them otherwise."""

from typing import LiteralString
from uuid import UUID

import pytest
from psycopg import errors

from tests.factories import World, act_as
from tests.sql.test_recall_lexical import REBUILT, contents, search
from tests.sql.test_recall_ranges import INDEXED, join

TEXTS = ("Die Bürgerinnen wählten", "Alle Häuser brannten", "Ein Haus brannte", "Bürger laufen", "Oslo 7", "...")
# Impacts of places whose memory has gone: what is left of it.
LEFT = """
select count(*) as n from loci_data.lexical_ranges r
cross join lateral unnest(r.documents) with ordinality d(document, place)
join loci_data.lexical_impacts i on i.namespace_id = r.namespace_id and i.range = r.range
where r.namespace_id = %(ns_id)s and d.document = 0
  and (coalesce(i.sparse::vector, i.dense::vector)::real[])[d.place::integer] <> 0"""


@pytest.fixture(params=["in blocks", "in ranges"])
def upgraded(owned: World, request: pytest.FixtureRequest) -> tuple[World, list[UUID]]:
    """Memories that an older server has cut by other rules than the one of today."""
    ids = [row["id"] for row in owned.remember(*({"content": text} for text in TEXTS))]
    if request.param == "in ranges":
        assert join(owned, len(TEXTS)) == len(TEXTS)
    change(owned, "update loci_data.namespaces set language = 'german', indexed_by = 16 where id = %(ns_id)s")
    return owned, ids


def change(world: World, statement: LiteralString) -> None:
    world.connection.execute("reset session authorization")
    world.connection.execute(statement, {"ns_id": world.id})
    world.connection.execute("set session authorization loci_app")


def broken(world: World) -> list[str]:
    return [row["name"] for row in world.rows("select * from loci.verify(%(ns)s) where broken > 0")]


def servers(world: World) -> list[tuple[int, int]]:
    return [(row["server"], row["namespaces"]) for row in world.rows("select * from loci_api.indexes_of_other_servers()")]


@pytest.mark.row("R1")
def test_words_that_another_server_cut_are_found_again_after_a_repair(upgraded: tuple[World, list[UUID]]) -> None:
    world, _ = upgraded
    assert contents(world, search(world, "Häusern")) == ["Ein Haus brannte"]
    assert (broken(world), servers(world)) == (["postings"], [(16, 1)])
    assert world.value("select loci_api.repair_lexical_index(%(ns)s)") == 4
    assert (broken(world), servers(world)) == ([], [])
    assert set(contents(world, search(world, "Häusern"))) == {"Alle Häuser brannten", "Ein Haus brannte"}
    assert world.as_owner(INDEXED) == world.as_owner(REBUILT)
    assert world.as_owner(LEFT) == [{"n": 0}]
    counted = world.as_owner("select sum(documents) as n from loci_data.corpus_counts where namespace_id = %(ns_id)s")
    assert counted == [{"n": len(TEXTS)}]
    assert world.value("select loci_api.repair_lexical_index(%(ns)s)") == 0


@pytest.mark.parametrize("count", [1, 3, len(TEXTS)])
def test_erasing_leaves_no_word_that_another_server_cut(upgraded: tuple[World, list[UUID]], count: int) -> None:
    world, ids = upgraded
    world.erase(*ids[:count])
    assert world.as_owner(LEFT) == [{"n": 0}]
    found = world.as_owner(INDEXED)
    documents = world.as_owner("select doc_id from loci_data.memories where namespace_id = %(ns_id)s")
    assert {row["doc_id"] for row in found} <= {row["doc_id"] for row in documents}


def test_a_changed_memory_is_indexed_anew(upgraded: tuple[World, list[UUID]]) -> None:
    world, ids = upgraded
    world.change(ids[0], tags=["wahl"])
    assert contents(world, search(world, "Bürgerin")) == [TEXTS[0]]
    world.value("select loci_api.repair_lexical_index(%(ns)s)")
    assert world.as_owner(INDEXED) == world.as_owner(REBUILT)


def test_a_posting_of_no_memory_is_taken_out(owned: World) -> None:
    owned.write("Oslo")
    change(
        owned,
        """insert into loci_data.postings (namespace_id, term, size, entries) select namespace_id, 7, 1, array[(99::bigint << 23) | 1]
           from loci_data.postings where namespace_id = %(ns_id)s limit 1""",
    )
    assert broken(owned) == ["postings"]
    assert owned.value("select loci_api.repair_lexical_index(%(ns)s)") == 1
    assert broken(owned) == []


def test_a_repair_is_the_admins(owned: World) -> None:
    act_as(owned.connection, UUID(int=77))
    with pytest.raises(errors.InsufficientPrivilege):
        owned.value("select loci_api.repair_lexical_index(%(ns)s)")
