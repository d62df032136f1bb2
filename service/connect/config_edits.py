"""Changes that `loci connect` makes in a program's files, and how they are taken out again."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.cli.framework import Failure
from service.connect import jsonc, toml
from service.connect.programs import HOOK_EVENTS, NAME, Program, hook_entry, is_hook


@dataclass(frozen=True)
class Edit:
    """A file, what is put in, and how that is taken out where the file has changed since; None: the file goes."""

    path: Path
    put: Callable[[str], str]
    remove: Callable[[str], str | None]


def server_edit(path: Path, program: Program, entry: dict[str, Any]) -> Edit:
    """Put the server into a program's list."""
    place = (program.servers, NAME)
    put, remove = (toml.put_table, toml.remove_table) if path.suffix == ".toml" else (jsonc.put_value, jsonc.remove_value)
    return Edit(
        path,
        lambda text: _edit_and_check(path, text, lambda: put(text, place, entry), lambda data: _set_entry(data, place, entry)),
        lambda text: _edit_and_check(path, text, lambda: remove(text, place), lambda data: _remove_entry(data, place)),
    )


def has_server(path: Path, program: Program) -> bool:
    """Whether a program's file names the server; one that cannot be read does not."""
    try:
        data = _parse_file(path, path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    servers = data.get(program.servers) if isinstance(data, dict) else None
    return isinstance(servers, dict) and NAME in servers


def hooks_edit(path: Path, line: str) -> Edit:
    """Put the hook into the list of each event."""
    entry = hook_entry(line)
    return Edit(
        path,
        lambda text: _edit_and_check(path, text, lambda: _with_hooks(text, entry), None),
        lambda text: _edit_and_check(path, text, lambda: _without_hooks(text), None),
    )


def file_edit(path: Path, text: str) -> Edit:
    """A file of our own."""
    return Edit(path, lambda _: text, lambda _: None)


def _with_hooks(text: str, entry: dict[str, Any]) -> str:
    for event in HOOK_EVENTS:
        place = ("hooks", event)
        ours = _places_of_hooks(text, event)
        if not ours:
            text = jsonc.append_item(text, place, entry)
        elif (found := jsonc.find_value(text, (*place, ours[0]))) is not None and found.value != entry:
            text = jsonc.replace_value(text, found, entry)
    return text


def _without_hooks(text: str) -> str:
    for event in HOOK_EVENTS:
        for at in reversed(_places_of_hooks(text, event)):
            text = jsonc.remove_value(text, ("hooks", event, at))
    return text


def _places_of_hooks(text: str, event: str) -> list[int]:
    node = jsonc.find_value(text, ("hooks", event))
    return [] if node is None or not isinstance(node.value, list) else [n for n, item in enumerate(node.value) if is_hook(item)]


def _edit_and_check(path: Path, text: str, edit: Callable[[], str], expected: Callable[[Any], Any] | None) -> str:
    """The edited text, if it says what it must and everything else as before. Raises Failure, naming the file."""
    try:
        edited, before = edit(), _parse_file(path, text)
        after = _parse_file(path, edited)
    except (jsonc.Broken, toml.Broken) as error:
        raise Failure(f"{path} cannot be edited: {error}", "Mend the file, and try again; nothing was written.") from None
    if expected is not None and after != expected(copy.deepcopy(before)):
        raise Failure(
            f"{path} cannot be edited without changing more of it", "Put the server in by hand: docs/mcp.md has the form."
        )
    return edited


def _parse_file(path: Path, text: str) -> Any:
    if path.suffix == ".toml":
        return toml.read_document(text)
    node = jsonc.parse_value(text)
    return {} if node is None else node.value


def _set_entry(data: Any, place: tuple[str, str], value: Any) -> Any:
    data.setdefault(place[0], {})[place[1]] = value
    return data


def _remove_entry(data: Any, place: tuple[str, str]) -> Any:
    if isinstance(data.get(place[0]), dict):
        data[place[0]].pop(place[1], None)
    return data
