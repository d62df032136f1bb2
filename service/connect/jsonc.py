"""Editing JSON with comments in place: what is not edited keeps every byte.

Read is what VS Code and Zed read: JSON, `//` and `/* */`, and commas behind the last. No kept library of Python both reads that
and changes one value without writing the rest anew.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_TRIVIA = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*.*?\*/)*(?://[^\r\n]*)?(?=\r?\n)", re.DOTALL)
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
USUAL_INDENT = "  "
Path = Sequence[str]


class Broken(ValueError):
    """A text is no JSON with comments."""

    def __init__(self, said: str, text: str, place: int) -> None:
        line = text.count("\n", 0, place) + 1
        super().__init__(f"line {line}, column {place - text.rfind(chr(10), 0, place)}: {said}")


@dataclass
class Node:
    """A value and where it stands. `parts` are the members of an object or the items of a list."""

    start: int
    end: int
    value: Any
    parts: list["Part"] = field(default_factory=list)


@dataclass
class Part:
    """A member of an object (with its key) or an item of a list, from `start` on; `comma` is where the one behind it stands."""

    key: str | None
    start: int
    node: Node
    comma: int | None = None


def parse(text: str) -> Node | None:
    """The value of a text; None: it has none. Raises Broken."""
    start = _skip(text, 0)
    if start == len(text):
        return None
    try:
        node = _value(text, start)
    except RecursionError:
        raise Broken("it is nested too deeply", text, start) from None
    if (rest := _skip(text, node.end)) < len(text):
        raise Broken("there is text after the end of the value", text, rest)
    return node


def put(text: str, path: Path, value: Any) -> str:
    """Set the value at a path; objects on the way are made. Raises Broken, also where something else stands on the way."""
    found, node = 0, parse(text)
    if node is None:
        newline = "\r\n" if "\r\n" in text else "\n"
        return text + _shown(_nested(path, value), USUAL_INDENT, newline, "") + newline
    for key in path:
        _expect(text, node, dict)
        part = _last(node, key)
        if part is None:
            return _insert(text, node, json.dumps(key, ensure_ascii=False) + ": ", _nested(path[found + 1 :], value))
        found, node = found + 1, part.node
    return text if _same(node.value, value) else replace(text, node, value)


def append(text: str, path: Path, value: Any) -> str:
    """Add an item to the list at a path, which is made where there is none."""
    node = find(text, path)
    if node is None:
        return put(text, path, [value])
    _expect(text, node, list)
    return _insert(text, node, "", value)


def replace(text: str, node: Node, value: Any) -> str:
    """Put another value in the place of one."""
    line = text.rfind("\n", 0, node.start) + 1
    outer = text[line : len(text) - len(text[line:].lstrip(" \t"))]
    newline = "\r\n" if "\r\n" in text else "\n"
    return text[: node.start] + _shown(value, _unit(text), newline, outer) + text[node.end :]


def remove(text: str, path: Sequence[str | int]) -> str:
    """Take the member or item at a path out, with its comma and what is left of its line; as it was where there is none."""
    holder, last = find(text, path[:-1]), path[-1]
    if holder is None:
        return text
    at = next((n for n in reversed(range(len(holder.parts))) if last in (n, holder.parts[n].key)), None)
    if at is None or isinstance(last, str) != isinstance(holder.value, dict):
        return text
    part = holder.parts[at]
    end = part.node.end if part.comma is None else part.comma + 1
    start = part.start
    rest = _REST_OF_LINE.match(text, end)
    begin = max(text.rfind("\n", 0, start) + 1, holder.start + 1)
    if rest is not None and not text[begin:start].strip() and text[begin - 1] == "\n":
        start, end = begin, rest.end() + (2 if text[rest.end()] == "\r" else 1)
    elif at > 0 and part.comma is None:
        start = holder.parts[at - 1].node.end
    text = text[:start] + text[end:]
    before = holder.parts[at - 1].comma if at > 0 and part.comma is None else None
    return text if before is None or before >= start else text[:before] + text[before + 1 :]


def find(text: str, path: Sequence[str | int]) -> Node | None:
    """The value at a path; None: there is none."""
    node = parse(text)
    for key in path:
        if node is None:
            return None
        if isinstance(key, str):
            part = _last(node, key)
        else:
            part = node.parts[key] if isinstance(node.value, list) and key < len(node.parts) else None
        node = part.node if part else None
    return node


def _skip(text: str, place: int) -> int:
    matched = _TRIVIA.match(text, place)
    end = matched.end() if matched else place
    if text.startswith("/*", end):
        raise Broken("a comment does not end", text, end)
    return end


def _value(text: str, start: int) -> Node:
    """The value that begins here."""
    if text[start : start + 1] in ("{", "["):
        return _container(text, start)
    try:
        value, end = json.JSONDecoder(parse_constant=_no_constant).raw_decode(text, start)
    except ValueError as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise Broken(f"expected a value ({said})", text, min(start, len(text))) from None
    return Node(start, end, value)


def _container(text: str, start: int) -> Node:
    """The object or list that begins here."""
    closing, is_object = ("}", True) if text[start] == "{" else ("]", False)
    parts: list[Part] = []
    place = _skip(text, start + 1)
    while not text.startswith(closing, place):
        if parts and parts[-1].comma is None:
            raise Broken(f"expected , or {closing}", text, place)
        part = _member(text, place) if is_object else Part(None, place, _value(text, place))
        parts.append(part)
        place = _skip(text, part.node.end)
        if text.startswith(",", place):
            part.comma, place = place, _skip(text, place + 1)
    value = {part.key: part.node.value for part in parts} if is_object else [part.node.value for part in parts]
    return Node(start, place + 1, value, parts)


def _member(text: str, start: int) -> Part:
    if not text.startswith('"', start):
        raise Broken('expected a name in "', text, start)
    key = _value(text, start)
    colon = _skip(text, key.end)
    if not text.startswith(":", colon):
        raise Broken("expected :", text, colon)
    return Part(key.value, start, _value(text, _skip(text, colon + 1)))


def _last(node: Node, key: str) -> Part | None:
    """The member of this name; of several the last, which is the one that counts."""
    return next((part for part in reversed(node.parts) if part.key == key), None)


def _insert(text: str, node: Node, name: str, value: Any) -> str:
    """Put a part behind the last one of an object or list: on a line of its own, unless all of it stands on one."""
    newline, unit = "\r\n" if "\r\n" in text else "\n", _unit(text)
    line = text.rfind("\n", 0, node.start) + 1
    outer = text[line : len(text) - len(text[line:].lstrip(" \t\ufeff"))].replace("\ufeff", "")
    if not node.parts:
        inner = outer + unit
        rest = _REST_OF_LINE.match(text, node.start + 1)
        said = newline + inner + name + _shown(value, unit, newline, inner)
        if rest is not None and rest.end() < node.end:
            return text[: rest.end()] + said + text[rest.end() :]
        return text[: node.end - 1].rstrip(" \t") + said + newline + outer + text[node.end - 1 :]
    last = node.parts[-1]
    begin = text.rfind("\n", 0, last.start) + 1
    inner = text[begin : last.start] if not text[begin : last.start].strip() and begin > node.start else outer + unit
    behind = last.node.end if last.comma is None else last.comma + 1
    rest = _REST_OF_LINE.match(text, behind)
    comma = "" if last.comma is not None else ","
    if rest is None or rest.end() > node.end:
        said = " " + name + json.dumps(value, ensure_ascii=False)
        return text[:behind] + comma + said + text[behind:]
    said = newline + inner + name + _shown(value, unit, newline, inner) + ("," if last.comma is not None else "")
    return text[: last.node.end] + comma + text[last.node.end : rest.end()] + said + text[rest.end() :]


def _shown(value: Any, unit: str, newline: str, indent: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _unit(text: str) -> str:
    """How far the text indents: as its first indented line."""
    found = _INDENT.search(text)
    return found[1] if found else USUAL_INDENT


def _nested(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _expect(text: str, node: Node, kind: type) -> None:
    if not isinstance(node.value, kind):
        raise Broken(f"expected {'an object' if kind is dict else 'a list'} here", text, node.start)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
