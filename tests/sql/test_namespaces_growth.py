"""How a namespace has grown, by week."""

from datetime import UTC, date, datetime
from typing import Any

import psycopg
import pytest

from tests.factories import World


def test_each_week_has_its_writes_and_the_number_of_memories_at_its_end(owned: World) -> None:
    for text, moment in [("one", "2026-03-01"), ("two", "2026-03-02"), ("three", "2026-03-08T23:59:59"), ("four", "2026-03-16")]:
        owned.write(text)
        owned.as_owner(
            "update loci_data.memories set recorded_at = %(at)s::timestamp at time zone 'UTC' where namespace_id = %(ns_id)s and content = %(text)s returning id",
            at=moment,
            text=text,
        )
    found = owned.rows(
        "select * from loci.namespace_growth(%(ns)s, 3, %(now)s)", now=datetime(2026, 3, 18, 12, tzinfo=UTC)
    )  # "one" was written on the Sunday before
    assert [(row["week"], row["written"], row["memories"]) for row in found] == [
        (date(2026, 3, 2), 2, 3),
        (date(2026, 3, 9), 0, 3),
        (date(2026, 3, 16), 1, 4),
    ]


@pytest.mark.parametrize(("weeks", "now"), [(0, "now"), (521, "now"), (3, "infinity"), (None, "now")])
def test_a_number_of_weeks_that_is_none_is_refused(world: World, weeks: Any, now: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        world.rows("select * from loci.namespace_growth(%(ns)s, %(weeks)s, %(now)s)", weeks=weeks, now=now)
