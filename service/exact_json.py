"""JSON as it was written: an integer keeps all of its digits."""

import json
import re
from typing import Any, NoReturn

import orjson

LONG = re.compile(rb"\d{19}")  # from here on an integer may need more than 64 bits


def read_exactly(text: bytes) -> Any:
    """The value of a JSON text. Raises ValueError where it is none.

    orjson reads integers of more than 64 bits as floats; what may hold one is read by the slower parser, which does not.
    """
    if not LONG.search(text):
        return orjson.loads(text)
    try:
        return json.loads(text.decode(), parse_constant=_refused)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
