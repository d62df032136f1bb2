"""JSON as it was written: an integer keeps all of its digits."""

import json
import re
from typing import Any, NoReturn

import orjson

LONG_INTEGER = re.compile(rb"\d{19}")  # from here on an integer may need more than 64 bits


def read_exact_json(text: bytes) -> Any:
    """The value of a JSON text. Raises ValueError where it is none.

    orjson reads integers of more than 64 bits as floats; what may hold one is read by the slower parser, which does not.
    """
    if not LONG_INTEGER.search(text):
        return orjson.loads(text)
    try:
        return json.loads(text.decode(), parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
