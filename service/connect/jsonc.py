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


def parse_value(text: str) -> Node | None:
    """The value of a text; None: it has none. Raises Broken."""
    start = _skip_blanks(text, 0)
    if start == len(text):
        return None
    try:
        node = _parse_node(text, start)
    except RecursionError:
        raise Broken("it is nested too deeply", text, start) from None
    if (rest := _skip_blanks(text, node.end)) < len(text):
        raise Broken("there is text after the end of the value", text, rest)
    return node


def put_value(text: str, path: Path, value: Any) -> str:
    """Set the value at a path; objects on the way are made. Raises Broken, also where something else stands on the way."""
    found, node = 0, parse_value(text)
    if node is None:
        newline = "\r\n" if "\r\n" in text else "\n"
        return text + _format_value(_nest_value(path, value), USUAL_INDENT, newline, "") + newline
    for key in path:
        _expect_kind(text, node, dict)
        part = _find_last_member(node, key)
        if part is None:
            return _insert_part(text, node, json.dumps(key, ensure_ascii=False) + ": ", _nest_value(path[found + 1 :], value))
        found, node = found + 1, part.node
    return text if _same_values(node.value, value) else replace_value(text, node, value)


def append_item(text: str, path: Path, value: Any) -> str:
    """Add an item to the list at a path, which is made where there is none."""
    node = find_value(text, path)
    if node is None:
        return put_value(text, path, [value])
    _expect_kind(text, node, list)
    return _insert_part(text, node, "", value)


def replace_value(text: str, node: Node, value: Any) -> str:
    """Put another value in the place of one."""
    line = text.rfind("\n", 0, node.start) + 1
    outer = text[line : len(text) - len(text[line:].lstrip(" \t"))]
    newline = "\r\n" if "\r\n" in text else "\n"
    return text[: node.start] + _format_value(value, _guess_indent(text), newline, outer) + text[node.end :]


def remove_value(text: str, path: Sequence[str | int]) -> str:
    """Take the member or item at a path out, with its comma and what is left of its line; as it was where there is none."""
    holder, last = find_value(text, path[:-1]), path[-1]
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


def find_value(text: str, path: Sequence[str | int]) -> Node | None:
    """The value at a path; None: there is none."""
    node = parse_value(text)
    for key in path:
        if node is None:
            return None
        if isinstance(key, str):
            part = _find_last_member(node, key)
        else:
            part = node.parts[key] if isinstance(node.value, list) and key < len(node.parts) else None
        node = part.node if part else None
    return node


def _skip_blanks(text: str, place: int) -> int:
    matched = _TRIVIA.match(text, place)
    end = matched.end() if matched else place
    if text.startswith("/*", end):
        raise Broken("a comment does not end", text, end)
    return end


def _parse_node(text: str, start: int) -> Node:
    """The value that begins here."""
    if text[start : start + 1] in ("{", "["):
        return _parse_container(text, start)
    try:
        value, end = json.JSONDecoder(parse_constant=_no_constant).raw_decode(text, start)
    except ValueError as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise Broken(f"expected a value ({said})", text, min(start, len(text))) from None
    return Node(start, end, value)


def _parse_container(text: str, start: int) -> Node:
    """The object or list that begins here."""
    closing, is_object = ("}", True) if text[start] == "{" else ("]", False)
    parts: list[Part] = []
    place = _skip_blanks(text, start + 1)
    while not text.startswith(closing, place):
        if parts and parts[-1].comma is None:
            raise Broken(f"expected , or {closing}", text, place)
        part = _parse_member(text, place) if is_object else Part(None, place, _parse_node(text, place))
        parts.append(part)
        place = _skip_blanks(text, part.node.end)
        if text.startswith(",", place):
            part.comma, place = place, _skip_blanks(text, place + 1)
    value = {part.key: part.node.value for part in parts} if is_object else [part.node.value for part in parts]
    return Node(start, place + 1, value, parts)


def _parse_member(text: str, start: int) -> Part:
    if not text.startswith('"', start):
        raise Broken('expected a name in "', text, start)
    key = _parse_node(text, start)
    colon = _skip_blanks(text, key.end)
    if not text.startswith(":", colon):
        raise Broken("expected :", text, colon)
    return Part(key.value, start, _parse_node(text, _skip_blanks(text, colon + 1)))


def _find_last_member(node: Node, key: str) -> Part | None:
    """The member of this name; of several the last, which is the one that counts."""
    return next((part for part in reversed(node.parts) if part.key == key), None)


def _insert_part(text: str, node: Node, name: str, value: Any) -> str:
    """Put a part behind the last one of an object or list: on a line of its own, unless all of it stands on one."""
    newline, unit = "\r\n" if "\r\n" in text else "\n", _guess_indent(text)
    line = text.rfind("\n", 0, node.start) + 1
    outer = text[line : len(text) - len(text[line:].lstrip(" \t\ufeff"))].replace("\ufeff", "")
    if not node.parts:
        inner = outer + unit
        rest = _REST_OF_LINE.match(text, node.start + 1)
        said = newline + inner + name + _format_value(value, unit, newline, inner)
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
    said = newline + inner + name + _format_value(value, unit, newline, inner) + ("," if last.comma is not None else "")
    return text[: last.node.end] + comma + text[last.node.end : rest.end()] + said + text[rest.end() :]


def _format_value(value: Any, unit: str, newline: str, indent: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _guess_indent(text: str) -> str:
    """How far the text indents: as its first indented line."""
    found = _INDENT.search(text)
    return found[1] if found else USUAL_INDENT


def _nest_value(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _same_values(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _expect_kind(text: str, node: Node, kind: type) -> None:
    if not isinstance(node.value, kind):
        raise Broken(f"expected {'an object' if kind is dict else 'a list'} here", text, node.start)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
