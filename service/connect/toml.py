"""Editing TOML in place, by tomlkit, which keeps comments, order and spaces of what is not edited."""

import re
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from service.connect.jsonc import Path

_HEADER = re.compile(r"\s*\[\[?([^\]]+)\]")


class Broken(ValueError):
    """A text is no TOML."""


def read_document(text: str) -> dict[str, Any]:
    """The value of a text. Raises Broken."""
    return dict(_parse_document(text).unwrap())


def put_table(text: str, path: Path, value: dict[str, Any]) -> str:
    """Set the table at a path; tables on the way are made. Raises Broken, also where something else stands on the way."""
    document = _parse_document(text)
    held: Any = document
    for key in path[:-1]:
        if key not in held:
            held[key] = tomlkit.table(is_super_table=True)
        held = held[key]
        if not hasattr(held, "items"):
            raise Broken(f"expected a table at {key}")
    found = held.get(path[-1])
    if found is not None and found.unwrap() == value:
        return text
    is_table = held is document or not isinstance(held, InlineTable)
    held[path[-1]] = _make_table(value, followed=held is not document) if is_table else _make_inline_value(value)
    return _lines_as_in(text, tomlkit.dumps(document))


def remove_table(text: str, path: Path) -> str:
    """Take the table at a path out; as it was where there is none. Comments behind it stay."""
    document = _parse_document(text)
    held: Any = document
    for key in path[:-1]:
        held = held.get(key) if hasattr(held, "items") else None
    if not hasattr(held, "items") or path[-1] not in held:
        return text
    del held[path[-1]]
    removed, cut = document.unwrap(), _without_lines(text, ".".join(path))
    return cut if _says_only(cut, removed) else _lines_as_in(text, tomlkit.dumps(document))


def _without_lines(text: str, name: str) -> str:
    """A text without the lines of a table and of those in it, from a header to the last line that says something."""
    kept: list[str] = []
    ours, held_back = False, list[str]()
    for line in text.splitlines(keepends=True):
        if header := _HEADER.match(line):
            ours = f"{header[1]}.".replace(" ", "").startswith(f"{name}.")
        if ours and line.strip() and not line.lstrip().startswith("#"):
            held_back = []
        elif ours:
            held_back.append(line)
        else:
            kept += [*held_back, line]
            held_back = []
    return "".join([*kept, *held_back])


def _says_only(text: str, expected: dict[str, Any]) -> bool:
    try:
        said: dict[str, Any] = tomlkit.parse(text).unwrap()
    except TOMLKitError:
        return False
    return {name: value for name, value in said.items() if value != {}} == {n: v for n, v in expected.items() if v != {}}


def _parse_document(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise Broken(str(error)) from None


def _make_table(value: dict[str, Any], *, followed: bool) -> Any:
    """A table with its inner ones on one line each; `followed`: an empty line ends it."""
    table = tomlkit.table()
    table.update({key: _make_inline_value(inner) if isinstance(inner, dict) else inner for key, inner in value.items()})
    return table.add(tomlkit.nl()) if followed else table


def _make_inline_value(value: dict[str, Any]) -> Any:
    table = tomlkit.inline_table()
    table.update(value)
    return table


def _lines_as_in(text: str, edited: str) -> str:
    """Lines end as all of the text do."""
    windows = "\r\n" in text and "\n" not in text.replace("\r\n", "")
    return edited.replace("\r\n", "\n").replace("\n", "\r\n") if windows else edited
