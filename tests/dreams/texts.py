"""Reading texts in tests, one at a time."""

from functools import cache

import psycopg

from db.text import TEXT_MARKS
from service.text.marks import Read, Reading, reading_of, strip_unstorable


def reader(connection: psycopg.Connection[dict]) -> Read:
    """Reads a text when it is asked for."""

    @cache
    def read(text: str) -> Reading:
        row = connection.execute(TEXT_MARKS, {"texts": [strip_unstorable(text)]}).fetchone()
        assert row is not None
        return reading_of(row)

    return read
