"""The lexical arm: exact BM25 over postings that follow every change."""

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row

from tests.databases import Database
from tests.factories import World, act_as, day, new_world, rolled_back, stated

WORDS = [f"word{n}" for n in range(40)]
POSTED = """
select p.term, e >> 23 as doc_id, e >> 15 & 255 as frequency, e & 32767 as length
from loci_data.postings p cross join lateral unnest(p.entries) e where p.namespace_id = %(ns_id)s order by 1, 2"""
REBUILT = """
with text as (
    select m.doc_id, n.language, loci_internal.indexed_text(m) as body
    from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id where m.namespace_id = %(ns_id)s
), term as (
    select t.doc_id, d.term, d.frequency, sum(d.frequency) over (partition by t.doc_id) as length
    from text t cross join lateral loci_internal.document_terms(t.language, t.body) d
)
select term, doc_id, least(frequency, 255)::bigint as frequency, least(length, 32767)::bigint as length from term order by 1, 2"""
COUNTED = "select sum(documents) as documents, sum(terms) as terms from loci_data.corpus_counts where namespace_id = %(ns_id)s"


def search(world: World, query: str, limit: int | None = None, **filters: Any) -> list[tuple[UUID, float]]:
    as_of, known_at = filters.pop("as_of", None), filters.pop("known_at", None)
    rows = world.rows(
        "select * from loci.search_text(%(ns)s, %(query)s, %(limit)s, %(filters)s, %(as_of)s, %(known_at)s)",
        query=query,
        limit=limit,
        filters=psycopg.types.json.Jsonb(stated(filters)),
        as_of=as_of,
        known_at=known_at,
    )
    return [(row["id"], row["score"]) for row in rows]


def contents(world: World, found: list[tuple[UUID, float]]) -> list[str]:
    return [world.get(id)["content"] for id, _ in found]  # noqa: A001


def bm25(documents: Mapping[UUID, list[str]], query: list[str]) -> dict[UUID, float]:
    """BM25 by its definition: k1 = 1.2, b = 0.75, idf = ln(1 + (N - df + 0.5) / (df + 0.5))."""
    mean = sum(map(len, documents.values())) / len(documents)
    scores: dict[UUID, float] = {}
    for term in set(query):
        matching = {id: Counter(words)[term] for id, words in documents.items() if term in words}  # noqa: A001
        idf = math.log(1 + (len(documents) - len(matching) + 0.5) / (len(matching) + 0.5))
        for id, tf in matching.items():  # noqa: A001
            norm = 1.2 * (0.25 + 0.75 * len(documents[id]) / mean)
            scores[id] = scores.get(id, 0.0) + idf * tf * 2.2 / (tf + norm)
    return scores


@pytest.fixture
def corpus(connection: psycopg.Connection[Any]) -> tuple[World, dict[UUID, list[str]]]:
    """300 texts of skewed words, cut into terms without stemming."""
    world, dice = new_world(connection, "simple"), random.Random(7)
    texts = [[WORDS[min(int(dice.expovariate(0.12)), 39)] for _ in range(dice.randint(1, 60))] for _ in range(300)]
    outcomes = world.remember(*({"content": " ".join(words), "layer": 3} for words in texts))
    return world, {row["id"]: words for row, words in zip(outcomes, texts, strict=True)}


@pytest.mark.row("R1")
@pytest.mark.parametrize("query", [["word0"], ["word39"], ["word1", "word20"], ["word3", "word3", "word30", "absent"], WORDS])
def test_the_score_is_bm25_by_its_definition(corpus: tuple[World, dict[UUID, list[str]]], query: list[str]) -> None:
    world, documents = corpus
    expected = bm25(documents, query)
    found = search(world, " ".join(query), 1000)
    assert dict(found) == pytest.approx(expected, abs=1e-9)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_a_limit_returns_the_best_of_the_full_ranking(corpus: tuple[World, dict[UUID, list[str]]], limit: int) -> None:
    world, _ = corpus
    query = "word2 word9 word17"
    assert search(world, query, limit) == search(world, query, 1000)[:limit]


@pytest.mark.row("R3")
@pytest.mark.parametrize("share", [1, 3, 50])
def test_a_filter_never_returns_fewer_rows_than_exist(world: World, share: int) -> None:
    world.remember(
        *({"content": f"apple {'pear ' * (n % 5)}{n}", "category": "rare" if n % share == 0 else "common"} for n in range(150))
    )
    expected = [n for n in range(150) if n % share == 0]
    assert len(search(world, "apple", 10, category="rare")) == min(10, len(expected))
    assert len(search(world, "apple", 200, category="rare")) == len(expected)


def test_a_filter_that_only_the_worst_match_passes_still_finds_it(world: World) -> None:
    world.remember(*({"content": "apple apple apple"} | {"layer": 3} for _ in range(60)))
    last = world.write("apple " + "pear " * 200, category="rare")
    assert [id for id, _ in search(world, "apple", 1, category="rare")] == [last["id"]]  # noqa: A001


FILTERED: list[tuple[dict[str, Any], list[str]]] = [
    ({"tags": ["x"]}, ["a"]),
    ({"tags": ["x", "y"]}, ["a", "b"]),
    ({"tags_all": ["x", "y"]}, ["a"]),
    ({"layers": [1, 3]}, ["b"]),
    ({"lineage": "lb"}, ["b"]),
    ({"source": "Ann"}, ["a"]),
    ({"session_id": "s2"}, ["b"]),
    ({"metadata": {"k": {"v": 1}}}, ["a"]),
    ({"valid_after": day(5)}, ["b"]),
    ({"valid_before": day(5)}, ["a"]),
    ({"recorded_after": day(0)}, ["a", "b"]),
    ({"recorded_before": day(0)}, []),
    ({"min_importance": 0.8}, ["b"]),
    ({"min_confidence": 0.8}, ["a"]),
    ({"category": "c"}, ["b"]),
    ({"entity": "Zeus"}, ["b"]),
]


@pytest.mark.row("R3")
@pytest.mark.parametrize(("filters", "found"), FILTERED, ids=lambda value: str(value)[:40])
def test_each_filter_keeps_what_it_names(world: World, filters: dict[str, Any], found: list[str]) -> None:
    world.write(
        "apple a",
        tags=["x", "y"],
        source="Ann",
        session_id="s1",
        metadata={"k": {"v": 1, "w": 2}},
        valid_from=day(1),
        importance=0.3,
        confidence=0.9,
    )
    world.write(
        "apple b",
        lineage="lb",
        tags=["y"],
        layer=1,
        source="Bob",
        session_id="s2",
        valid_from=day(9),
        importance=0.9,
        confidence=0.1,
        category="c/d",
        entities=[{"name": "Zeus"}],
    )
    assert sorted(text[-1] for text in contents(world, search(world, "apple", **filters))) == found


@pytest.mark.parametrize("filters", [{"colour": "red"}, {"layers": "x"}, {"valid_after": "soon"}], ids=str)
def test_a_wrong_filter_is_refused(world: World, filters: dict[str, Any]) -> None:
    with pytest.raises(psycopg.DataError):
        search(world, "apple", **filters)


@pytest.mark.parametrize("filters", [{"entity": "nobody"}, {"under": UUID(int=5)}], ids=str)
def test_a_filter_that_names_nothing_is_an_error(world: World, filters: dict[str, Any]) -> None:
    with pytest.raises(errors.NoDataFound):
        search(world, "apple", **filters)


@pytest.mark.parametrize(("moment", "found"), [(5, ["apple old"]), (15, ["apple new"])])
def test_the_past_is_searched_as_it_was(world: World, moment: int, found: list[str]) -> None:
    world.write("apple old", lineage="l", valid_from=day(1))
    world.write("apple new", lineage="l", valid_from=day(10))
    assert contents(world, search(world, "apple", as_of=day(moment))) == found


def test_a_search_known_at_an_earlier_moment_finds_what_was_believed(world: World) -> None:
    world.write("apple old", lineage="l", valid_from=day(1))
    before = world.now()
    world.write("apple new", lineage="l", valid_from=day(1))
    assert contents(world, search(world, "apple", as_of=day(5), known_at=before)) == ["apple old"]


@pytest.mark.row("R6")
@pytest.mark.parametrize(
    "question",
    [
        "What city does Alice live in?",
        "alice",
        "living in oslo, or so I believe",
        "Oslo!!! :* & | ( ' <-> --",
        "ALICE zebra",
    ],
)
def test_a_question_finds_its_answer_though_words_are_missing(world: World, question: str) -> None:
    world.write("Alice lives in Oslo.")
    world.write("Bob plays chess.")
    assert contents(world, search(world, question)) == ["Alice lives in Oslo."]


@pytest.mark.parametrize("question", ["", "the of and", "?", "zebra", "   "])
def test_a_question_without_known_words_finds_nothing(world: World, question: str) -> None:
    world.write("Alice lives in Oslo.")
    assert search(world, question) == []


@pytest.mark.row("R6", "R8")
@pytest.mark.parametrize("query", ["timezone", "preferences", "home", "Bob", "March"])
def test_category_tags_source_and_stated_date_are_searched_too(world: World, query: str) -> None:
    world.write("x", category="user-preferences/timezone", tags=["home"], source="Bob", valid_from="2020-03-04T00:00:00Z")
    assert len(search(world, query)) == 1


@pytest.mark.row("R6")
@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("They serve tea/coffee", "Who drinks coffee?"),
        ("They serve tea and coffee", "coffee/tea"),
        ("The default is in service/http/app.py", "app.py"),
        ("The default is in service/http/app.py", "service/http/app.py"),
        ("Notes are at https://wiki.example.org/team/onboarding", "onboarding"),
        ("Notes", "devices/network"),
    ],
)
def test_words_between_slashes_are_words(world: World, content: str, query: str) -> None:
    world.write(content, category="devices/network")
    world.write("something else", category="else")
    assert contents(world, search(world, query)) == [content]


@pytest.mark.row("R6")
@pytest.mark.parametrize("query", ["ines", "Who is @ines?", "Ines@Example.org", "<ines@example.org>", "mail of ines", "ines.weber"])
def test_parts_of_addresses_of_mail_are_words(world: World, query: str) -> None:
    found = "Send the plan to ines@example.org, or ask @ines.weber"
    world.write(found)
    world.write("Send the plan to alice@example.org")
    world.write("The site is example.org, and ask Bob")
    assert contents(world, search(world, query))[0] == found
    assert contents(world, search(world, "ines")) == [found]


@pytest.mark.row("R6")
def test_a_whole_address_is_found_before_its_parts(world: World) -> None:
    for content in ("ines@example.net", "alice@example.org", "Ines likes tea", "Write to ines@example.org", "example.org"):
        world.write(content)
    assert contents(world, search(world, "Whose is ines@example.org?"))[0] == "Write to ines@example.org"


@pytest.mark.row("R6")
@pytest.mark.parametrize(("language", "found"), [("english", 1), ("simple", 0), ("german", 0)])
def test_the_language_of_the_namespace_cuts_words(connection: psycopg.Connection[Any], language: str, found: int) -> None:
    world = new_world(connection, language)
    world.write("Alice was running")
    assert len(search(world, "run")) == found


# Scripts without spaces between words

WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "PostgreSQL")  # full-width letters


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("昨日は東京駅で田中さんに会った", "東京駅"),
        ("昨日は東京駅で田中さんに会った", "田中さんに会いましたか?"),
        ("犬を飼っている", "犬"),
        ("駅前の犬猫病院", "犬と猫"),
        ("ﾃｰﾌﾟは金庫にある", "テープ"),
        (f"{WIDE}を使う", "postgresql"),
        ("PostgreSQLを使う", WIDE),
        ("会議は三月5日です", "5日"),
        ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
        ("서울역에서 만났다", "서울역"),
        ("我住在北京市", "北京"),
        ("a meeting in 京都 about tea", "meetings"),
    ],
)
@pytest.mark.parametrize("language", ["simple", "english", "german"])
def test_a_text_without_spaces_is_found_by_a_part_of_it(
    connection: psycopg.Connection[Any], language: str, content: str, query: str
) -> None:
    if query == "meetings" and language != "english":
        query = "meeting"
    world = new_world(connection, language)
    world.write("something else entirely, with 別件 in it")
    world.write(content)
    assert contents(world, search(world, query)) == [content]


def test_the_memory_that_has_more_of_the_question_comes_first(connection: psycopg.Connection[Any]) -> None:
    world = new_world(connection, "simple")
    for content in ("大阪支店の会議室は三階にある", "大阪で会議があった", "東京支店は狭い"):
        world.write(content)
    assert contents(world, search(world, "大阪支店の会議室は何階ですか"))[0] == "大阪支店の会議室は三階にある"


@pytest.mark.parametrize("text", ["plain ASCII, 1 + 1 = 2", "naive – “Ægir” 10 €", "Привет, мир", "שלום"])
def test_any_other_text_is_cut_as_postgresql_cuts_it(owned: World, text: str) -> None:
    terms = owned.as_owner("select term, frequency from loci_internal.document_terms('english', %(text)s) order by 1", text=text)
    assert terms == owned.rows(
        """select hashtextextended(u.lexeme, 0) as term, cardinality(u.positions)::bigint as frequency
           from unnest(to_tsvector('english', %(text)s)) u order by 1""",
        text=text,
    )


def test_an_erased_text_without_spaces_leaves_no_postings(owned: World) -> None:
    kept, gone = owned.write("東京は雨だ")["id"], owned.write("大阪は東京より暑い。ﾃｽﾄ")["id"]
    owned.change(kept, tags=["天気"])
    owned.row("select * from loci_api.compact_lexical_index(1)")
    owned.erase(gone)
    assert owned.rows(POSTED) == owned.as_owner(REBUILT)
    assert search(owned, "大阪") == []
    assert [id for id, _ in search(owned, "東京の天気")] == [kept]  # noqa: A001


def test_a_long_text_without_spaces_is_found_by_its_end(world: World) -> None:
    world.write("本日は晴天なり" * 40_000 + "終点駅")
    assert len(search(world, "終点駅")) == 1


@pytest.mark.parametrize("query", ["Muehlenstrasse", "Mühlenstraße", "mühlenstrassen"])
def test_german_umlauts_and_their_spellings_are_one(connection: psycopg.Connection[Any], query: str) -> None:
    if "ue" in query and connection.info.server_version < 180000:
        pytest.skip("the stemmer takes ue for ü since PostgreSQL 18")
    world = new_world(connection, "german")
    world.write("Wir wohnen in der Mühlenstraße")
    world.write("Sie wohnen am Markt")
    assert contents(world, search(world, query)) == ["Wir wohnen in der Mühlenstraße"]


# The index follows every change


def test_postings_after_any_changes_are_those_of_a_rebuild(owned: World) -> None:
    dice = random.Random(3)
    ids = [row["id"] for row in owned.remember(*({"content": f"{' '.join(dice.choices(WORDS, k=9))} {n}"} for n in range(40)))]
    for id in dice.choices(ids, k=60):  # noqa: A001
        owned.change(id, tags=dice.choices(WORDS, k=2), category=dice.choice(["general", "a/b", "word1-word2/word3"]))
    assert owned.rows(POSTED) == owned.as_owner(REBUILT)
    assert (
        owned.row(COUNTED)
        == owned.as_owner(f"select count(distinct doc_id) as documents, sum(frequency) as terms from ({REBUILT}) r")[0]
    )


def test_a_deleted_memory_leaves_nothing_in_the_index(owned: World) -> None:
    ids = [row["id"] for row in owned.remember(*({"content": f"apple pear {n}"} for n in range(20)))]
    owned.connection.execute("reset session authorization")
    owned.connection.execute("delete from loci_data.memories where id = any (%s)", [ids[5:15]])
    assert owned.rows(POSTED) == owned.as_owner(REBUILT)
    assert owned.row(COUNTED) == {"documents": 10, "terms": 30}
    assert owned.value("select count(*) from loci_data.memory_texts where namespace_id = %(ns_id)s") == 10
    assert (
        owned.value(
            "select count(*) from loci_data.embedding_queue where namespace_id = %(ns_id)s and memory_id = any(%(ids)s)",
            ids=ids[5:15],
        )
        == 0
    )


@pytest.fixture(scope="module")
def written(own_database: Database) -> tuple[World, list[UUID]]:
    """300 memories, written one by one: each has blocks of its own."""
    dice = random.Random(11)
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as connection:
        world = new_world(connection)
        ids = [world.write(f"{' '.join(dice.choices(WORDS, k=dice.randint(1, 30)))} {n}")["id"] for n in range(300)]
        world.change(ids[150], tags=["plum", "plum"])
    return world, ids


@pytest.fixture
def blocks(own_database: Database, written: tuple[World, list[UUID]]) -> Iterator[tuple[World, list[UUID]]]:
    """The same, in a transaction that is rolled back."""
    with rolled_back(own_database, written[0]) as world:
        yield world, written[1]


def test_tidying_changes_no_result(blocks: tuple[World, list[UUID]]) -> None:
    world, _ = blocks
    query = " ".join(WORDS)
    before, counts = search(world, query, 1000), world.row(COUNTED)
    tidied = world.row("select * from loci_api.compact_lexical_index(100)")
    assert tidied["folded"] > 100
    assert tidied["joined"] > 100
    assert search(world, query, 1000) == before
    assert world.row(COUNTED) == counts
    assert world.rows(POSTED) == world.as_owner(REBUILT)


def test_an_index_that_was_tidied_can_still_be_changed(blocks: tuple[World, list[UUID]]) -> None:
    world, ids = blocks
    world.row("select * from loci_api.compact_lexical_index(100)")
    world.change(ids[100], tags=["pear"])
    assert world.rows(POSTED) == world.as_owner(REBUILT)


@pytest.mark.parametrize("tidied", [False, True])
@pytest.mark.parametrize("gone", [range(1), range(150, 151), range(1, 300, 2), range(300)], ids=["first", "one", "half", "all"])
def test_after_an_erasure_the_index_is_that_of_a_rebuild(blocks: tuple[World, list[UUID]], gone: range, tidied: bool) -> None:
    world, ids = blocks
    if tidied:
        world.row("select * from loci_api.compact_lexical_index(100)")
    world.erase(*(ids[n] for n in gone))
    assert world.rows(POSTED) == world.as_owner(REBUILT)
    assert (
        world.row(COUNTED)
        == world.as_owner(f"select count(distinct doc_id) as documents, coalesce(sum(frequency), 0) as terms from ({REBUILT}) r")[0]
    )
    assert len(search(world, " ".join(WORDS), 1000)) == 300 - len(gone)


def test_a_block_of_more_entries_than_one_statement_writes_loses_exactly_what_was_erased(owned: World) -> None:
    outcomes = owned.remember(*({"content": f"apple {n}", "layer": 3} for n in range(2500)))
    before = dict(search(owned, "apple", 3000))
    gone = {row["id"] for row in outcomes[1000:1100]}
    owned.erase(*gone)
    assert {id for id, _ in search(owned, "apple", 3000)} == before.keys() - gone  # noqa: A001
    assert owned.rows(POSTED) == owned.as_owner(REBUILT)


def test_tidying_is_the_operators_alone(world: World) -> None:
    act_as(world.connection, UUID(int=77))
    with pytest.raises(errors.InsufficientPrivilege):
        world.row("select * from loci_api.compact_lexical_index()")


def test_a_mebibyte_of_distinct_words_is_stored_and_found(world: World) -> None:
    text = " ".join(f"{n:x}q" for n in range(170_000))[: 1024 * 1024].rsplit(" ", 1)[0]
    assert len(text) > 1_000_000
    world.write(text)
    world.write("short")
    assert [len(content) for content in contents(world, search(world, text.rsplit(" ", 1)[1]))] == [len(text)]


def test_one_word_said_a_thousand_times_is_found(world: World) -> None:
    world.write("apple " * 1000)
    assert len(search(world, "apple")) == 1
