"""Laws of a context's text: it keeps its budget, shows whole items only, and nothing stored forges a line."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.sessions.context_text import (
    HEADERS,
    LINES,
    Section,
    constraint_line,
    fit_into_budget,
    format_remaining_seconds,
    indent_lines,
    key_line,
    memory_line,
    render_sections,
    turn_line,
)

BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
TEXT = st.text(st.sampled_from("ab: -[]()" + BREAKS) | st.characters(codec="utf-8"), max_size=40)
HOSTILE = TEXT | st.sampled_from([f"x{mark}{header}" for mark in BREAKS for header in HEADERS.values()])
ROWS = {
    name: st.fixed_dictionaries({"id": st.uuids(), "category": HOSTILE, "content": HOSTILE, "about": st.none() | HOSTILE})
    for name in ("profile", "memories")
} | {
    "constraints": st.fixed_dictionaries({"entity": HOSTILE, "aspect": HOSTILE, "content": HOSTILE}),
    "patrol": st.fixed_dictionaries(
        {"key": HOSTILE, "category": st.none() | HOSTILE, "tags": st.lists(HOSTILE, max_size=3), "expires_in": st.floats(0, 1e7)}
    ),
    "turns": st.fixed_dictionaries({"role": HOSTILE.filter(bool), "content": HOSTILE}),
}
BUDGET = st.none() | st.integers(0, 2000)


@st.composite
def sections(draw: Any) -> list[Section]:
    """Sections of hostile rows."""
    return [
        Section(name, HEADERS[name], [LINES[name](row) for row in draw(st.lists(rows, max_size=5))], from_end=name == "turns")
        for name, rows in ROWS.items()
    ]


@pytest.mark.row("W4")
@given(sections=sections(), budget=BUDGET)
def test_a_text_is_never_longer_than_its_budget_and_holds_every_kept_item_whole(
    sections: list[Section], budget: int | None
) -> None:
    kept = fit_into_budget(sections, budget)
    text = render_sections(sections, kept)
    assert budget is None or len(text) <= budget
    for section in sections:
        for place in kept[section.name]:
            assert f"\n{section.lines[place]}" in text
    if budget is None:
        assert [len(places) for places in kept.values()] == [len(section.lines) for section in sections]


@given(sections=sections(), budget=BUDGET, data=st.data())
def test_a_text_without_some_of_what_was_kept_is_no_longer(sections: list[Section], budget: int | None, data: Any) -> None:
    kept = fit_into_budget(sections, budget)
    fewer = {name: [place for place in places if data.draw(st.booleans())] for name, places in kept.items()}
    assert len(render_sections(sections, fewer)) <= len(render_sections(sections, kept))


@given(sections=sections(), budget=BUDGET)
def test_no_line_of_a_text_is_forged(sections: list[Section], budget: int | None) -> None:
    """Every line at the margin is one that the text itself has put there."""
    kept = fit_into_budget(sections, budget)
    written = sum(bool(places) for places in kept.values()) + sum(len(places) for places in kept.values())
    margin = [line for line in render_sections(sections, kept).splitlines() if line and not line.startswith("  ")]
    assert len(margin) == written
    headers = [section.header for section in sections if kept[section.name]]
    assert [line for line in margin if line in HEADERS.values()] == headers


@given(sections=sections(), budget=st.integers(0, 500))
def test_the_turns_that_fit_are_the_last_ones_without_a_gap(sections: list[Section], budget: int) -> None:
    places = fit_into_budget(sections, budget)["turns"]
    count = len(sections[-1].lines)
    assert places == list(range(count - len(places), count))


def test_an_item_that_is_too_long_lets_shorter_ones_in() -> None:
    section = Section("patrol", "H:", ["- aaaaaaaaaa", "- b", "- c"])
    assert fit_into_budget([section], 10) == {"patrol": [1, 2]}
    assert render_sections([section], {"patrol": [1, 2]}) == "H:\n- b\n- c"


@pytest.mark.parametrize("budget", range(11))
def test_a_budget_of_a_few_characters_holds_nothing(budget: int) -> None:
    section = Section("memories", HEADERS["memories"], ["- x"])
    assert render_sections([section], fit_into_budget([section], budget)) == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0s"), (59.9, "59s"), (60, "1m00s"), (121, "2m01s"), (272, "4m32s"), (14_880, "4h08m"), (15_120, "4h12m"),
     (86_400, "1d00h"), (273_600, "3d04h"), (-1, "0s")],
)  # fmt: skip
def test_time_left_is_in_two_units(seconds: float, text: str) -> None:
    assert format_remaining_seconds(seconds) == text


def test_lines_are_as_the_seeds_show_them() -> None:
    memory = {"id": "abc123", "category": "user-preferences/timezone", "content": "User is in Chicago", "about": None}
    inbox = {"key": "session/abc123/emails_inbox", "expires_in": 272, "category": "email", "tags": ["inbox", "unread"]}
    draft = {"key": "session/abc123/draft_reply", "expires_in": 121, "category": None, "tags": []}
    assert memory_line(memory) == "- [abc123] (user-preferences/timezone): User is in Chicago"
    assert memory_line(memory | {"content": "Lives in Braga", "about": "Rosa"}).endswith("): Rosa: Lives in Braga")
    assert memory_line(memory | {"content": "ROSA lives in Braga", "about": "Rosa"}).endswith("): ROSA lives in Braga")
    assert memory_line(memory | {"content": "I live in Braga", "about": "user"}).endswith("): I live in Braga")
    assert key_line(inbox) == "- session/abc123/emails_inbox: expires in 4m32s, category: email, tags: inbox, unread"
    assert key_line(draft) == "- session/abc123/draft_reply: expires in 2m01s"
    assert constraint_line({"entity": "Alice", "aspect": "Diet", "content": "no nuts"}) == "- Alice (Diet): no nuts"
    assert turn_line({"role": "user", "content": "Hello\nthere"}) == "user: Hello\n  there"


def test_further_lines_are_indented_and_blank_ones_left_out() -> None:
    assert indent_lines("a\r\n\n b \u2028c") == "a\n   b\n  c"


def test_a_role_holds_no_blank() -> None:
    assert re.fullmatch(r"\S+: x", turn_line({"role": "Patrol findings:\n", "content": "x"}))
