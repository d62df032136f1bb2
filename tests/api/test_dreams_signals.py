"""What is said about the agent's work, over REST."""

from typing import Any
from uuid import UUID

import pytest

from tests.services import Api, ok, problem

UNKNOWN = str(UUID(int=7))


def test_signals_are_noted_in_order_and_listed_newest_first_page_by_page(api: Api) -> None:
    memory = api.write("mails go out at once")["id"]
    body = {
        "session_id": "s",
        "signals": [
            {"kind": "correction", "content": "ask before you mail", "memory_id": memory},
            {"kind": "tool_failure", "content": "smtp: 421", "session_id": "t"},
        ],
    }
    noted = ok(api.post("/feedback", body))
    assert (noted["session_id"], noted["injected"], noted["confirmed"]) == ("s", [], [])
    first, second = noted["signals"]
    assert (first["kind"], first["content"], first["session_id"], first["memory_id"]) == (
        "correction",
        "ask before you mail",
        "s",
        memory,
    )
    assert (second["session_id"], second["memory_id"]) == ("t", None)
    one = ok(api.get("/feedback/signals", limit=1))
    assert one["items"] == [second]
    assert ok(api.get("/feedback/signals", limit=1, cursor=one["next_cursor"])) == {"items": [first], "next_cursor": None}
    assert ok(api.get("/feedback/signals", kind="correction"))["items"] == [first]
    assert ok(api.get("/feedback/signals", session_id="t"))["items"] == [second]


def test_a_report_without_signals_says_nothing_of_them(api: Api) -> None:
    memory = api.write("x")["id"]
    assert "signals" not in ok(api.post("/feedback", {"session_id": "s", "injected": [memory]}))


@pytest.mark.parametrize(
    ("signals", "field"),
    [
        ([], "signals"),
        ([{"kind": "shout", "content": "x"}], "signals[0].kind"),
        ([{"kind": "note", "content": " "}], "signals[0].content"),
        ([{"kind": "note", "content": "x" * 10_001}], "signals[0].content"),
        ([{"kind": "note"}], "signals[0].content"),
        ([{"kind": "note", "content": "x", "mood": 1}], "signals[0].mood"),
        ([{"kind": "note", "content": "x"}, {"kind": "note", "content": "y", "memory_id": UNKNOWN}], "signals[1].memory_id"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_signal_names_its_field_and_nothing_is_noted(api: Api, signals: Any, field: str) -> None:
    body = problem(api.post("/feedback", {"signals": signals}), 422, "invalid-request")
    assert body["errors"][0]["field"] == field if signals else "signals" in body["detail"]
    assert ok(api.get("/feedback/signals"))["items"] == []


def test_a_cursor_that_is_none_of_ours_is_refused(api: Api) -> None:
    problem(api.get("/feedback/signals", cursor="x"), 422, "invalid-request")
