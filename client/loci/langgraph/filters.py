"""Filters and match conditions of LangGraph: what they mean for a value and for a namespace."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.store.base import MatchCondition

ANY = "*"
COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value passes a filter. Raises ValueError for an operator that there is not."""
    return all(_is(value.get(key), expected) for key, expected in (wanted or {}).items())


def contained(wanted: Mapping[str, Any] | None) -> dict[str, Any]:
    """The part of a filter that the database can check: what every value that passes contains."""
    equal = {key: value["$eq"] if _is_operator(value) and "$eq" in value else value for key, value in (wanted or {}).items()}
    return {key: value for key, value in equal.items() if _is_plain(key) and _is_plain(value)}


def matches(namespace: Sequence[str], conditions: Sequence[MatchCondition] | None) -> bool:
    """Whether a namespace matches all conditions."""
    return all(_matches(namespace, condition) for condition in conditions or ())


def common_prefix(conditions: Sequence[MatchCondition] | None) -> tuple[str, ...]:
    """The longest beginning that the conditions demand word for word."""
    prefixes = [condition.path for condition in conditions or () if condition.match_type == "prefix"]
    literal = [path[: path.index(ANY)] if ANY in path else path for path in prefixes]
    return max((tuple(path) for path in literal), key=len, default=())


def _matches(namespace: Sequence[str], condition: MatchCondition) -> bool:
    path = condition.path
    if condition.match_type not in {"prefix", "suffix"}:
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(expected in {ANY, segment} for segment, expected in zip(part, path, strict=True))


def _is(value: Any, expected: Any) -> bool:
    if _is_operator(expected):
        return all(_compare(value, name, operand) for name, operand in expected.items())
    if isinstance(expected, dict):
        return isinstance(value, dict) and all(_is(value.get(key), item) for key, item in expected.items())
    if isinstance(expected, (list, tuple)):
        return isinstance(value, list) and len(value) == len(expected) and all(map(_is, value, expected))
    return bool(value == expected)


def _compare(value: Any, name: str, operand: Any) -> bool:
    if name not in COMPARISONS:
        raise ValueError(f"Unsupported operator: {name}")
    try:
        return bool(COMPARISONS[name](value, operand))
    except TypeError:  # a text and a number, or nothing at all, have no order
        return False


def _is_operator(expected: Any) -> bool:
    return isinstance(expected, dict) and any(key.startswith("$") for key in expected)


def _is_plain(expected: Any) -> bool:
    """Whether the database can hold it. A key that is not there passes for None, too, so that None is left to `passes`."""
    if isinstance(expected, dict):
        return not _is_operator(expected) and all(_is_plain(key) and _is_plain(item) for key, item in expected.items())
    if isinstance(expected, (list, tuple)):
        return all(map(_is_plain, expected))
    if isinstance(expected, str):
        return expected.isprintable()  # no NUL, no lone surrogate
    return expected is not None and not (isinstance(expected, float) and not math.isfinite(expected))
