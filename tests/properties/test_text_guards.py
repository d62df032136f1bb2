"""Guards over texts that a model proposes: laws that hold for every text, and what a reader expects."""

import time

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.guards import find_invented_marks, find_missing_marks, kept_share, names_in, numbers_in
from service.text.marks import _CODE, Read, _is_code
from tests.dreams.texts import reader

PIECES = st.sampled_from(
    [
        *"aB19.!:-/'\"\n@#%_",
        " ",
        " Alice ",
        " Bob Smith's ",
        " two ",
        " 1,000 ",
        " 3.5 % ",
        "2024-05-01",
        " May 1, 2024 ",
        " 2:30 pm ",
        " v1.2.3 ",
        " JWTs ",
        " ISO-8601 ",
        " Müller ",
        "`user_id`",
        "https://a.b/c",
        "東京の田中さん",
        " likes tea",
        " The ",
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=12).map("".join))


@pytest.fixture
def read(connection: psycopg.Connection[dict]) -> Read:
    """How the guards read a text."""
    return reader(connection)


@pytest.mark.row("L5")
@given(TEXTS)
def test_a_text_lacks_nothing_of_itself_and_invents_nothing(read: Read, text: str) -> None:
    assert find_missing_marks(read, [text], text) == []
    assert find_invented_marks(read, [text], text) == []
    assert kept_share(read, text, text) == 1.0


@given(st.lists(TEXTS, min_size=1, max_size=3), st.data())
def test_none_of_the_sources_is_an_invention(read: Read, sources: list[str], data: st.DataObject) -> None:
    assert find_invented_marks(read, sources, data.draw(st.sampled_from(sources))) == []
    assert find_invented_marks(read, [], sources[0], allowed=sources) == []


@given(st.lists(TEXTS, max_size=3), TEXTS, TEXTS)
def test_a_line_more_in_the_text_never_loses_more(read: Read, sources: list[str], text: str, line: str) -> None:
    assert set(find_missing_marks(read, sources, f"{text}\n{line}")) <= set(find_missing_marks(read, sources, text))
    for source in sources:
        assert kept_share(read, source, f"{text}\n{line}") >= kept_share(read, source, text)


@given(st.lists(TEXTS, max_size=3), TEXTS, TEXTS)
def test_a_source_more_never_excuses_a_loss_and_never_makes_an_invention(
    read: Read, sources: list[str], source: str, text: str
) -> None:
    assert len(find_missing_marks(read, [*sources, source], text)) >= len(find_missing_marks(read, sources, text))
    assert len(find_invented_marks(read, [*sources, source], text)) <= len(find_invented_marks(read, sources, text))


@given(st.lists(TEXTS, max_size=3))
def test_all_sources_in_a_row_lack_nothing(read: Read, sources: list[str]) -> None:
    assert find_missing_marks(read, sources, "\n".join(sources)) == []


@pytest.mark.row("L5")
@pytest.mark.parametrize(
    ("sources", "text", "lost"),
    [
        (["Alice likes tea", "Alice likes green tea"], "Likes green tea", ["Alice"]),
        (["Will wants a bike"], "wants a bike", ["Will"]),
        (["The user prefers dark mode", "Prefers dark mode in VS Code"], "The user prefers dark mode", ["VS", "Code"]),
        (["Tokens are JWTs signed with RS256"], "Tokens are signed", ["JWTs", "RS256"]),
        (["Dates follow ISO-8601"], "Dates follow a standard", ["ISO-8601"]),
        (["Recall uses HNSW with ef 200"], "Recall uses HNSW", ["200"]),
        (["The limit is 1,000 requests"], "The limit is 100 requests", ["1,000"]),
        (["Postgres 17.2 is deployed"], "Postgres 17.3 is deployed", ["17.2"]),
        (["Uses Python 3.10"], "Uses Python 3.1", ["3.10"]),
        (["Standup is at 14:30"], "Standup is at 14:00", ["14:30"]),
        (["The lease ends on 2024-05-01"], "The lease ends in May 2024", ["2024-05-01"]),
        (["Has two dogs"], "Has dogs", ["two"]),
        (["A discount of 10%"], "A discount of 10", ["10%"]),
        (["The timeout is 30 ms"], "The timeout is 30 s", ["30 ms"]),
        (["Don't use `search_files` here"], "Don't use search here", ["search_files"]),
        (["Mail alice@example.com"], "Mail Alice", ["alice@example.com"]),
        (["See https://example.com/a?b=1."], "See example.com", ["https://example.com/a?b=1"]),
        (["The motto is “never again”"], "The motto is never", ["“never again”"]),
        (["Takes vitamin D"], "Takes vitamins", ["D"]),
        (["Frau Müller wohnt in Köln"], "Die Frau wohnt in Bonn", ["Müller", "Köln"]),
        (["Алиса любит чай"], "любит чай", ["Алиса"]),
        (["田中さんは東京に住んでいる"], "東京に住んでいる", ["田中さん"]),
        (["Uses iPhone and pgvector2"], "Uses a phone", ["iPhone", "pgvector2"]),
    ],
)
def test_marks_lost_by_a_merge_are_named(read: Read, sources: list[str], text: str, lost: list[str]) -> None:
    assert sorted(find_missing_marks(read, sources, text)) == sorted(lost)


@pytest.mark.parametrize(
    ("sources", "text"),
    [
        (["Prefers dark mode", "The user likes dark mode"], "The user prefers dark mode"),
        (["Meeting on 2024-05-01 at 14:30"], "The meeting is on May 1, 2024 at 2:30 pm"),
        (["Besprechung am 1.5.2024 um 14.30 Uhr"], "Die Besprechung ist am 1. Mai 2024 um 14:30"),
        (["Needs 1,000 EUR", "Needs 1000 eur"], "Needs 1000 EUR"),
        (["Kostet 1.000,50 €"], "Kostet 1000,50 €"),
        (["Has 2 dogs"], "Has two dogs"),
        (["Alice's API keys are JWTs"], "Alice: the API key is a JWT"),
        (["Due May 1"], "Due 2024-05-01"),
        (["Release v1.2.3"], "Release 1.2.3"),
        (["Likes tea. Likes coffee."], "likes tea and coffee"),
        (["Migrated to pgvector"], "migrating to pgvector"),
        (["nothing is named here"], ""),
    ],
)
def test_a_different_spelling_is_no_loss(read: Read, sources: list[str], text: str) -> None:
    assert find_missing_marks(read, sources, text) == []


@pytest.mark.parametrize(
    ("sources", "text", "new"),
    [
        (["Alice likes tea"], "Bob likes tea", ["Bob"]),
        (["Alice Smith likes tea", "Bob Jones likes tea"], "Alice Jones likes tea", ["Alice Jones"]),
        (["The meeting is tomorrow"], "The meeting is on 2024-05-02", ["2024-05-02"]),
        (["Due on May 1"], "Due on 2024-05-01", ["2024-05-01"]),
        (["From 2024-05-01 to 2025-06-02"], "On 2024-06-02", ["2024-06-02"]),
        (["Several people"], "17 people", ["17"]),
        (["The API is slow"], "The REST API takes 300 ms", ["REST", "300 ms"]),
        (["Uses tea"], "Uses `rm -rf` for tea", ["`rm -rf`"]),
    ],
)
def test_invented_marks_are_named(read: Read, sources: list[str], text: str, new: list[str]) -> None:
    assert find_invented_marks(read, sources, text) == new


def test_an_allowed_name_is_not_invented(read: Read) -> None:
    assert find_invented_marks(read, ["likes tea"], "Alice likes 2 teas", allowed=["Alice", "2"]) == []


@pytest.mark.parametrize(
    ("text", "names", "numbers"),
    [
        ("Alice Smith met Bob's manager at OpenAI", {"Alice Smith", "Bob", "OpenAI"}, set()),
        ("User is in Chicago (America/Chicago, UTC-6)", {"Chicago", "America", "UTC-6"}, set()),
        ("10% of 1,000 on 2024-05-01 at 14:30 with 1.2.3 and 3.5", set(), {"10%", "1000", "2024-05-01", "14:30", "1.2.3", "3.5"}),
        ("我在OpenAI工作", {"OpenAI"}, set()),
        ("\u0665 مرات", set(), {"5"}),
    ],
)
def test_names_and_numbers_are_read(read: Read, text: str, names: set[str], numbers: set[str]) -> None:
    assert names_in(read, text) == names
    assert numbers_in(read, text) == numbers


@pytest.mark.parametrize(
    ("source", "text", "share"),
    [
        ("Alice likes green tea", "Alice liked green tea a lot", 1.0),
        ("Alice likes green tea", "Everything is fine", 0.0),
        ("Alice likes green tea", "tea for Alice", 0.5),
        ("der die das", "anything", 1.0),
        ("東京に住んでいる", "天気がいい", 0.0),
    ],
)
def test_how_much_of_a_source_a_text_still_says(read: Read, source: str, text: str, share: float) -> None:
    assert kept_share(read, source, text) == share


@pytest.mark.parametrize("word", ["x", "1", "a.", "x-"])
def test_a_word_as_long_as_a_text_is_read_once(word: str) -> None:
    text = word * (200_000 // len(word))
    began = time.process_time()
    for ending in ("", "_"):
        _is_code(text + ending)
        _CODE.sub("", text + ending)
    assert time.process_time() - began < 20  # a hundredth of it; a minute and more where each letter is read with all that follow
