"""Ranges of the lexical index: what the worker makes of blocks in large namespaces. No result may show them."""

import random
from collections.abc import Iterator
from typing import Any, LiteralString, cast
from uuid import UUID

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.databases import Database
from tests.factories import Row, World, act_as, day, new_world, rolled_back
from tests.sql.test_recall_lexical import REBUILT, WORDS, contents, search

INDEXED = """
select p.term, e >> 23 as doc_id, e >> 15 & 255 as frequency, e & 32767 as length
from loci_data.postings p cross join lateral unnest(p.entries) e where p.namespace_id = %(ns_id)s
union all
select o.term, o.doc_id, o.frequency, o.length
from loci_data.lexical_ranges r cross join lateral loci_internal.range_postings(r.namespace_id, r.range) o
where r.namespace_id = %(ns_id)s
order by 1, 2"""
RANKED = """
with entry as (
    select term, doc_id, least(frequency, 255) as frequency, least(length, 32767) as length,
           count(*) over (partition by term) as df
    from (select t.doc_id, d.term, d.frequency, sum(d.frequency) over (partition by t.doc_id) as length
          from (select m.doc_id, n.language, loci_internal.indexed_text(m) as body
                from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id
                where m.namespace_id = %(ns_id)s) t
          cross join lateral loci_internal.document_terms(t.language, t.body) d) a
), corpus as (
    select sum(documents)::float as documents, 0.9 * sum(documents)::float / nullif(sum(terms), 0) as slope
    from loci_data.corpus_counts where namespace_id = %(ns_id)s
)
select m.id, sum(ln(1 + (c.documents - e.df + 0.5) / (e.df + 0.5)) * 2.2 * e.frequency
                 / (e.frequency + 0.3 + c.slope * e.length)) as score
from entry e cross join corpus c
join loci_data.memories m on m.namespace_id = %(ns_id)s and m.doc_id = e.doc_id
where e.term in (select term from loci_data.namespaces n
                 cross join lateral loci_internal.document_terms(n.language, %(query)s) where n.id = %(ns_id)s)
  and loci_internal.memory_is_visible(m, loci_internal.resolve_filter(%(ns_id)s, %(filters)s, %(as_of)s, %(known_at)s))
group by m.id, m.doc_id
order by round(sum(ln(1 + (c.documents - e.df + 0.5) / (e.df + 0.5)) * 2.2 * e.frequency
                   / (e.frequency + 0.3 + c.slope * e.length))::numeric, 9) desc, m.doc_id
limit %(limit)s"""


def join(world: World, size: int = 100) -> int:
    """Join ranges of so many documents until nothing is due; how many documents were joined."""
    joined = 0
    while step := world.value("select joined from loci_api.join_lexical_ranges(%(size)s, 0)", size=size):
        joined += step
    return joined


def ranked(
    world: World, query: str, limit: int, as_of: Any = None, known_at: Any = None, **filters: Any
) -> list[tuple[UUID, float]]:
    """What a search must find: BM25 of every memory, from its text. Rows so new have no statistics: a join by loops takes minutes."""
    world.connection.execute("set local enable_nestloop = off")
    rows = world.as_owner(RANKED, query=query, limit=limit, filters=Jsonb(filters), as_of=as_of, known_at=known_at)
    world.connection.execute("set local enable_nestloop to default")
    return [(row["id"], row["score"]) for row in rows]


def check(world: World, query: str, *limits: int, **given: Any) -> None:
    """The best scores, and each that of its memory; those that differ by rounding alone have no order."""
    every = ranked(world, query, 1_000_000, **given)
    scores = dict(every)
    for limit in limits:
        found = search(world, query, limit, **given)
        assert [score for _, score in found] == pytest.approx([score for _, score in every[:limit]], rel=1e-9)
        assert [score for _, score in found] == pytest.approx([scores[id] for id, _ in found], rel=1e-9)  # noqa: A001
        assert len({id for id, _ in found}) == len(found)  # noqa: A001


def text(dice: random.Random, longest: int = 40) -> str:
    return " ".join(WORDS[min(int(dice.expovariate(0.12)), 39)] for _ in range(dice.randint(1, longest)))


@pytest.fixture(scope="module")
def joined(own_database: Database) -> tuple[World, list[UUID]]:
    """A namespace of 350 memories, three ranges of a hundred of them, and some that wait in blocks."""
    dice = random.Random(5)
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as connection:
        world = new_world(connection)
        ids = [row["id"] for row in world.remember(*({"content": f"{text(dice)} number{n}"} for n in range(350)))]
        assert join(world) == 300
    return world, ids


@pytest.fixture
def ranges(own_database: Database, joined: tuple[World, list[UUID]]) -> Iterator[tuple[World, list[UUID]]]:
    """The same, in a transaction that is rolled back."""
    with rolled_back(own_database, joined[0]) as world:
        yield world, joined[1]


def sizes(world: World) -> list[int]:
    rows = world.rows("select size from loci_data.lexical_ranges where namespace_id = %(ns_id)s order by range")
    return [row["size"] for row in rows]


def test_a_range_has_the_postings_of_its_documents_and_the_blocks_have_the_rest(ranges: tuple[World, list[UUID]]) -> None:
    world, _ = ranges
    assert sizes(world) == [100, 100, 100]
    assert world.as_owner(INDEXED) == world.as_owner(REBUILT)
    assert (
        world.value("select count(distinct e >> 23) from loci_data.postings, unnest(entries) e where namespace_id = %(ns_id)s")
        == 50
    )


@pytest.mark.parametrize("query", ["word0", "word39", "word1 word20", "word3 word3 word30 absent", "number7", " ".join(WORDS), ""])
def test_a_search_over_ranges_and_blocks_is_exhaustive_bm25(ranges: tuple[World, list[UUID]], query: str) -> None:
    check(ranges[0], query, 1, 10, 100, 1000)


def test_filters_and_times_are_those_of_every_search(owned: World) -> None:
    dice = random.Random(6)
    for n in range(120):
        owned.write(text(dice), lineage=f"l{n % 40}", valid_from=day(n), category="rare" if n % 17 == 0 else "common/x")
    before = owned.now()
    for id in [row["id"] for row in owned.rows("select id from loci.list_memories(%(ns)s, '{}', 20)")]:  # noqa: A001
        owned.forget(id)
    assert join(owned, 40) == 120
    for given in ({}, {"category": "rare"}, {"as_of": day(60)}, {"known_at": before}, {"as_of": day(3), "category": "common"}):
        check(owned, "word0 word2 word9", 3, 60, 500, **given)


def test_a_filter_that_only_the_worst_match_passes_finds_it(owned: World) -> None:
    owned.remember(*({"content": "apple apple apple", "layer": 3} for _ in range(300)))
    last = owned.write("apple " + "pear " * 200, category="rare")
    join(owned, 100)
    assert [id for id, _ in search(owned, "apple", 1, category="rare")] == [last["id"]]  # noqa: A001


def test_a_memory_that_is_changed_or_erased_leaves_its_range(ranges: tuple[World, list[UUID]]) -> None:
    world, ids = ranges
    world.change(ids[50], tags=["word3", "plum"])
    world.erase(*ids[90:160])
    world.erase(ids[0])
    assert sizes(world) == [88, 40, 100]
    assert world.as_owner(INDEXED) == world.as_owner(REBUILT)
    check(world, "word0 word3 plum", 50)
    check(world, "number0 number99 number50", 50)


def test_nothing_of_an_erased_memory_is_left_in_its_range(owned: World) -> None:
    ids = [row["id"] for row in owned.remember(*({"content": f"pear {'plum ' * (n % 3)} only{n}"} for n in range(60)))]
    documents = [
        row["doc_id"]
        for row in owned.rows("select doc_id from loci_data.memories where id = any (%(ids)s) order by id", ids=ids[:50])
    ]
    assert join(owned, 60) == 60
    terms = owned.as_owner("select term from loci_internal.document_terms('english', 'only3 only4')")
    held = "select count(*) from loci_data.lexical_impacts where namespace_id = %(ns_id)s and term = any (%(terms)s)"
    assert owned.value(held, terms=[row["term"] for row in terms]) == 2
    owned.erase(ids[3])
    owned.erase(*ids[4:50])
    assert owned.value(held, terms=[row["term"] for row in terms]) == 0
    (kept,) = owned.rows("select documents from loci_data.lexical_ranges where namespace_id = %(ns_id)s")
    assert {document >> 15 for document in kept["documents"]} & set(documents) == set(documents[:3])
    owned.erase(*ids[:3], *ids[50:])
    assert owned.value("select count(*) from loci_data.lexical_impacts where namespace_id = %(ns_id)s") == 0
    assert join(owned, 60) == 0
    assert sizes(owned) == []


def test_a_range_that_is_half_empty_is_written_anew_with_what_waits(ranges: tuple[World, list[UUID]]) -> None:
    world, ids = ranges
    world.erase(*ids[100:170])
    world.remember(*({"content": f"word3 late{n}"} for n in range(80)))
    before = search(world, "word0 word3 late7", 1000)
    assert join(world) > 0
    assert sizes(world) == [100, 100, 100]  # and sixty wait
    assert search(world, "word0 word3 late7", 1000) == before
    assert world.as_owner(INDEXED) == world.as_owner(REBUILT)


def test_impacts_of_other_statistics_change_no_result_and_are_written_anew(owned: World) -> None:
    dice = random.Random(8)
    owned.remember(*({"content": f"{text(dice, 9)} n{n}"} for n in range(120)))
    assert join(owned, 60) == 120
    owned.remember(*({"content": f"{text(dice, 60)} word5 m{n}"} for n in range(59)))  # other lengths, another word is common
    for query in ("word5 word12", "word0 word30", "word5"):
        check(owned, query, 20)
    old = owned.rows("select range from loci_data.lexical_ranges where namespace_id = %(ns_id)s")
    assert join(owned, 60) == 120
    assert {row["range"] for row in old}.isdisjoint(
        row["range"] for row in owned.rows("select range from loci_data.lexical_ranges where namespace_id = %(ns_id)s")
    )
    assert owned.as_owner(INDEXED) == owned.as_owner(REBUILT)
    check(owned, "word5 word12", 20)


def test_a_word_that_most_have_is_kept_as_short_floats_and_read_back_exactly(owned: World) -> None:
    dice = random.Random(9)
    owned.remember(*({"content": "apple " * dice.choice([1, 1, 2, 3, 40]) + f"{text(dice, 8)} w{n}"} for n in range(2600)))
    owned.write("apple " * 300)
    assert join(owned, 2601) == 2601
    dense = "select count(dense) from loci_data.lexical_impacts where namespace_id = %(ns_id)s"
    assert owned.value(dense) == 0  # 255 and 254 times cannot be told apart in 16 bits
    assert owned.as_owner(INDEXED) == owned.as_owner(REBUILT)
    check(owned, "apple word7", 30)
    owned.remember(*({"content": "apple " * (n % 7) + f"{text(dice, 8)} v{n}"} for n in range(2500)))
    assert join(owned, 2500) > 0
    assert owned.value(dense) > 0
    assert owned.as_owner(INDEXED) == owned.as_owner(REBUILT)
    check(owned, "apple word7", 30)


def test_small_namespaces_keep_their_blocks(world: World) -> None:
    world.remember(*({"content": f"apple {n}"} for n in range(50)))
    assert world.row("select * from loci_api.join_lexical_ranges(10, 51)") == {"joined": 0}
    assert world.row("select * from loci_api.join_lexical_ranges(51, 10)") == {"joined": 0}


def test_memories_without_words_are_joined_too(owned: World) -> None:
    ids = [row["id"] for row in owned.remember(*({"content": f"... {n * '!'}"} for n in range(30)))]
    assert join(owned, 30) == 30
    owned.erase(*ids[:7])
    assert sizes(owned) == [23]


VERIFIED = "select checked, broken, example from loci.verify(%(ns)s) where name = 'postings'"


def test_verify_finds_nothing_wrong_with_ranges_and_blocks(ranges: tuple[World, list[UUID]]) -> None:
    assert ranges[0].row(VERIFIED) == {"checked": 350, "broken": 0, "example": None}


@pytest.mark.row("R1")
@pytest.mark.parametrize(
    "harm",
    [
        "update loci_data.lexical_impacts set sparse = (sparse::vector * array_fill(0.5::real, array[8000])::vector)::sparsevec",
        "delete from loci_data.lexical_impacts",
        "delete from loci_data.lexical_ranges",
        "update loci_data.lexical_ranges set documents = documents[2:] || documents[1:1]",
        "insert into loci_data.postings (namespace_id, term, size, entries) select namespace_id, 7, 1, entries[1:1] from loci_data.postings limit 1",
    ],
)
def test_verify_tells_ranges_that_are_not_what_the_texts_say(ranges: tuple[World, list[UUID]], harm: str) -> None:
    world, _ = ranges
    world.connection.execute("reset session authorization")
    world.connection.execute(cast("LiteralString", harm))
    world.connection.execute("set session authorization loci_app")
    found = world.row(VERIFIED)
    assert found["broken"] > 0
    assert found["example"]


def test_joining_is_the_operators_alone(world: World) -> None:
    act_as(world.connection, UUID(int=77))
    with pytest.raises(errors.InsufficientPrivilege):
        world.row("select * from loci_api.join_lexical_ranges()")


def test_a_deleted_namespace_leaves_nothing_in_the_index(ranges: tuple[World, list[UUID]]) -> None:
    world, _ = ranges
    world.write("in blocks as yet")
    world.rows("select loci_api.delete_namespace(%(ns)s)")
    assert world.as_owner("select count(*) as n from loci_data.postings where namespace_id = %(ns_id)s") == [{"n": 0}]
    assert world.as_owner("select count(*) as n from loci_data.lexical_impacts where namespace_id = %(ns_id)s") == [{"n": 0}]
    assert world.as_owner("select count(*) as n from loci_data.lexical_ranges where namespace_id = %(ns_id)s") == [{"n": 0}]


@pytest.mark.parametrize("language", ["simple", "german"])
def test_scripts_without_spaces_are_in_ranges_too(admin: psycopg.Connection[Row], language: str) -> None:
    admin.execute("set session authorization loci_app")
    world = new_world(admin, language)
    for content in ("大阪支店の会議室は三階にある", "大阪で会議があった", "東京支店は狭い", "Die Mühle steht in Oslo"):
        world.write(content)
    assert join(world, 4) == 4
    assert contents(world, search(world, "大阪支店の会議室は何階ですか"))[0] == "大阪支店の会議室は三階にある"
    assert world.as_owner(INDEXED) == world.as_owner(REBUILT)


def test_how_much_of_a_question_is_said_is_the_same_in_blocks_and_in_ranges(owned: World) -> None:
    dice = random.Random(3)
    owned.remember(*({"content": f"{text(dice)} number{n}"} for n in range(230)))
    covered = """select loci_internal.question_coverage(%(ns_id)s, loci_internal.weigh_terms(%(ns_id)s, %(q)s, null), array(
                     select doc_id from loci_data.memories where namespace_id = %(ns_id)s order by doc_id limit 150)) as covered"""
    questions = ["word1 word9 word30 number7", "word2 nothing", "number100 number229"]
    before = [owned.as_owner(covered, q=question) for question in questions]
    assert join(owned) == 200
    assert [owned.as_owner(covered, q=question) for question in questions] == before
    assert any(share > 0 for share in before[0][0]["covered"])
