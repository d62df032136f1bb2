"""Texts that were made to cost much: none costs the square of its length, in the database or in the process before it.

No time is measured. Each text is so long that its square would outlast any patience, and what is linear takes a second.
"""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from service.text import fact_splitting, proper_nouns, relative_dates, sensitive
from service.text.corrections import complete_correction
from service.text.question_times import period_of
from tests.factories import World
from tests.services import PATIENCE

LENGTH = 75_000
LIMIT = PATIENCE / 4  # seconds for a text of that length
# What looks like the beginning of something to one parser or another: an address, a path, a host, an entity, a sentence.
LOOKS_LIKE = ("a_b_", "a1@", "./", "/~", "e.", "&'e", "<a ", "a-", "1.", "1:", "Alice and ")
ENDS_LIKE = ("…", "Dr. ", '! "', ". ", "e.g. ", "。", "1 May ", "Alice and ", "$1,")


def long(unit: str) -> str:
    """A text of nothing else."""
    return unit * (LENGTH // len(unit))


@pytest.mark.parametrize("unit", LOOKS_LIKE)
def test_the_database_reads_any_text_in_linear_time(world: World, unit: str) -> None:
    world.rows("select set_config('statement_timeout', %(limit)s, true)", limit=f"{LIMIT:.0f}s")
    text = long(unit)
    try:
        world.write(text)
        world.rows("select * from loci_api.add_turns(%(ns)s, 's', %(turns)s)", turns=Jsonb([{"role": "user", "content": text}]))
        world.rows("select id from loci.search_text(%(ns)s, %(text)s, 1)", text=text)
    except psycopg.errors.QueryCanceled:
        pytest.fail(f"the database was still busy with {unit!r} after {LIMIT:.0f} s")


def test_control_characters_around_a_number_may_stand_in_a_text(world: World) -> None:
    marked = world.value("select numbers from loci_api.text_marks(array[%(text)s])", text="\x01 12.5.2024\x01 two of 3.5\x01")
    assert [number[:2] for number in marked] == [[2, "12.5.2024"], [13, "two"], [20, "3.5"]]


@pytest.mark.parametrize(
    "read",
    [
        fact_splitting.split_facts,
        sensitive.is_sensitive,
        proper_nouns.find_names,
        lambda text: relative_dates.resolve_dates(text, date(2026, 1, 1)),
        lambda text: period_of(text, datetime(2026, 1, 1, tzinfo=UTC)),
        lambda text: complete_correction(text, text),
    ],
    ids=["facts", "sensitive", "names", "dates", "periods", "corrections"],
)
def test_the_process_reads_any_text_in_linear_time(read: Callable[[str], Any]) -> None:
    for unit in ENDS_LIKE:
        began = time.monotonic()
        read(long(unit))
        assert time.monotonic() - began < LIMIT, unit
