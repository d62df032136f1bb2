"""Days that a text names from where it stands, worked out without a model."""

from datetime import date

import pytest

from service.text.relative_dates import remove_expressions, resolve_dates

WEDNESDAY = date(2026, 11, 18)


def meanings(text: str, base: date = WEDNESDAY) -> list[tuple[str, str]]:
    return [(one.said, one.means) for one in resolve_dates(text, base)]


@pytest.mark.row("L5")
@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("yesterday", "2026-11-17"),
        ("Tomorrow", "2026-11-19"),
        ("the day before yesterday", "2026-11-16"),
        ("day after tomorrow", "2026-11-20"),
        ("last night", "2026-11-17"),
        ("last Tuesday", "2026-11-17"),
        ("last Wednesday", "2026-11-11"),
        ("this Friday", "2026-11-20"),
        ("next Monday", "2026-11-23"),
        ("in two weeks", "2026-12-02"),
        ("3 days ago", "2026-11-15"),
        ("a couple of days ago", "2026-11-16"),
        ("last week", "2026-11-09 to 2026-11-15"),
        ("next month", "2026-12"),
        ("three months ago", "2026-08"),
        ("last year", "2025"),
        ("vorgestern", "2026-11-16"),
        ("Übermorgen", "2026-11-20"),
        ("vor drei Tagen", "2026-11-15"),
        ("in zwei Wochen", "2026-12-02"),
        ("letzten Dienstag", "2026-11-17"),
        ("nächsten Montag", "2026-11-23"),
        ("vor einem Jahr", "2025"),
        ("nächsten Monat", "2026-12"),
    ],
)
def test_an_expression_means_a_day_or_a_stretch(said: str, means: str) -> None:
    assert meanings(f"Bob met Carol, {said}, in Porto.") == [(said, means)]


@pytest.mark.parametrize(
    "text", ["next Friday", "nächsten Freitag", "on Monday", "am Morgen", "in 2026", "every day", "the last day", "9999 years ago"]
)
def test_an_ambiguous_or_dayless_expression_is_left(text: str) -> None:
    assert meanings(f"Bob meets Carol {text}") == []


def test_the_end_of_a_month_and_of_a_year_are_crossed() -> None:
    assert meanings("tomorrow, next month, in 2 months", date(2025, 12, 31)) == [
        ("tomorrow", "2026-01-01"),
        ("next month", "2026-01"),
        ("in 2 months", "2026-02"),
    ]


def test_days_outside_the_calendar_are_left() -> None:
    assert meanings("tomorrow or yesterday", date(9999, 12, 31)) == [("yesterday", "9999-12-30")]


def test_a_text_without_its_expressions_has_the_rest() -> None:
    text = "Yesterday Bob met Carol, and in two weeks again"
    assert remove_expressions(text, resolve_dates(text, WEDNESDAY)).split() == ["Bob", "met", "Carol,", "and", "again"]
