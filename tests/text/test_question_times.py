"""The time that a question asks about, told from where and when it is asked."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from service.text.question_times import period_of

ASKED = datetime(2026, 11, 27, 10, tzinfo=UTC)  # a Friday


@pytest.mark.row("R15")
@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did I do yesterday?", "2026-11-26", "2026-11-27"),
        ("Was habe ich gestern gemacht?", "2026-11-26", "2026-11-27"),
        ("What did I eat this morning?", "2026-11-27", "2026-11-28"),
        ("What did I do three days ago?", "2026-11-24", "2026-11-25"),
        ("Where was I two weeks ago?", "2026-11-10", "2026-11-17"),
        ("Wo war ich vor zwei Wochen?", "2026-11-10", "2026-11-17"),
        ("Whom did I meet last week?", "2026-11-16", "2026-11-23"),
        ("Was war letzten Monat?", "2026-10-01", "2026-11-01"),
        ("What did I do last year?", "2025-01-01", "2026-01-01"),
        ("What did I do last summer?", "2026-06-01", "2026-09-01"),
        ("Was war letzten Sommer?", "2026-06-01", "2026-09-01"),
        ("Where did I ski in winter?", "2025-12-01", "2026-03-01"),
        ("What happened in May?", "2026-05-01", "2026-06-01"),
        ("Was war im Dezember?", "2025-12-01", "2026-01-01"),
        ("What did Ann do in May 2023?", "2023-05-01", "2023-06-01"),
        ("What did Ann say on 9 November, 2022?", "2022-11-09", "2022-11-10"),
        ("What did Ann say on November 9th?", "2026-11-09", "2026-11-10"),
        ("Was war am 3. März 2024?", "2024-03-03", "2024-03-04"),
        ("Where did I live in 2019?", "2019-01-01", "2020-01-01"),
        ("What did I do on Monday?", "2026-11-23", "2026-11-24"),
        ("What did I do last Friday?", "2026-11-20", "2026-11-21"),
        ("Who came last weekend?", "2026-11-21", "2026-11-23"),
        ("What happened in the last 3 days?", "2026-11-24", "2026-11-28"),
        ("What was said on 2026-02-03?", "2026-02-03", "2026-02-04"),
    ],
)
def test_a_time_in_a_question_is_told_from_the_day_on_which_it_is_asked(question: str, start: str, end: str) -> None:
    period = period_of(question, ASKED)
    assert period is not None
    assert (period.start.isoformat()[:10], period.end.isoformat()[:10]) == (start, end)
    assert period.said in question


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("What have I done since Tuesday?", "2026-11-24"),
        ("Was ist seit Dienstag passiert?", "2026-11-24"),
        ("Where have I lived since 2020?", "2020-01-01"),
        ("What changed since last week?", "2026-11-16"),
        ("Was ist seit letztem Jahr anders?", "2025-01-01"),
    ],
)
def test_since_a_time_is_until_the_question(question: str, start: str) -> None:
    period = period_of(question, ASKED)
    assert period is not None
    assert (period.start.isoformat()[:10], period.end) == (start, ASKED)


@pytest.mark.parametrize(
    "question",
    [
        "What may I do?",
        "Does the army march on?",
        "How many kids do I have?",
        "Who is 25 years old?",
        "When did I move to Rome?",
        "What is my favorite spring roll?",
        "Who directed Palo Alto (2013 film)?",
        "Which port does version 2026.1 use?",
        "Wer ist Frau Mai?",
    ],
)
def test_words_and_numbers_that_are_no_time_are_none(question: str) -> None:
    assert period_of(question, ASKED) is None


def test_yesterday_is_in_the_time_zone_of_the_asker() -> None:
    asked = datetime(2026, 11, 27, 23, 30, tzinfo=UTC)
    period = period_of("What did I do yesterday?", asked.astimezone(ZoneInfo("Asia/Tokyo")))
    assert period is not None
    assert (period.start.astimezone(UTC), period.end.astimezone(UTC)) == (
        datetime(2026, 11, 26, 15, tzinfo=UTC),
        datetime(2026, 11, 27, 15, tzinfo=UTC),
    )


def test_a_day_that_no_calendar_has_is_read_as_far_as_it_can_be() -> None:
    period = period_of("What happened on 31 February 2022?", ASKED)
    assert period is not None
    assert period.said == "February 2022"
