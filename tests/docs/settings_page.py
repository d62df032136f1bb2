"""The lists of docs/settings.md: the service's settings from their fields, those of a namespace from setting_definitions."""

import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import orjson
import psycopg
from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

from service.settings import Settings
from tests.catalogue import ROOT

FEW = 5  # settings of a group that say the same as those of another, from which they are told in one line
LARGEST = 10**8  # of a count: no bound that one would state
PAGE = ROOT / "docs" / "settings.md"
PART = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)
NAMED = {bool: "boolean", int: "integer", float: "number", str: "text", Path: "path", list: "list", dict: "JSON object"}
DEFINITIONS = "select subject, name, standard, type, lowest, highest, meaning from loci.setting_definitions()"


def parts(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """The generated parts of the page by the name of their marker."""
    return {"environment": environment(), "namespace": namespace(connection)}


def filled(text: str, made: dict[str, str]) -> str:
    """The page with its generated parts written anew."""
    return PART.sub(lambda found: f"{found[1]}{made[found[2]]}{found[3]}", text)


def environment() -> str:
    """The service's settings: those of its own, then those of each group."""
    groups = {name: field for name, field in Settings.model_fields.items() if isinstance(field.default, BaseModel)}
    own = {name: field for name, field in Settings.model_fields.items() if name not in groups}
    tables = [f"### Service\n\n{fields_table('LOCI_', own, {})}"]
    told: dict[tuple[str, ...], str] = {}  # what a setting says, and its name
    for name, group in groups.items():
        tables.append(
            f"### {group.description}\n\n{fields_table(f'LOCI_{name.upper()}__', type(group.default).model_fields, told)}"
        )
    return "\n".join(tables)


def fields_table(prefix: str, fields: dict[str, FieldInfo], told: dict[tuple[str, ...], str]) -> str:
    """Lines of fields, each under the name that it has in the environment; those that another group has told, in one line."""
    rows = [row(variable(prefix, name, field), field) for name, field in fields.items()]
    new = [each for each in rows if each[1:] not in told]
    same = [each[0] for each in rows if each[1:] in told]
    if len(same) < FEW:
        new, same = rows, []
    for each in rows:
        told.setdefault(each[1:], each[0])
    if not same:
        return table(new)
    like = next(told[each[1:]] for each in rows if each[0] in same).partition("__")[0]
    return f"{table(new)}- {', '.join(f'`{name}`' for name in same)}: as those of `{like}__…`\n"


def row(name: str, field: FieldInfo) -> tuple[str, str, str, str]:
    """Name, default, values and meaning of a field."""
    return name, default(field.default), values(field), field.description or ""


def variable(prefix: str, name: str, field: FieldInfo) -> str:
    """The environment variable of a field: the shortest of its names."""
    if isinstance(field.validation_alias, AliasChoices):
        return min((str(choice) for choice in field.validation_alias.choices), key=len)
    return prefix + name.upper()


def default(value: Any) -> str:
    """A default as one would write it."""
    match value:
        case None | [] | {}:
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case float():
            return f"`{value:g}`"
    return f"`{value}`"


def values(field: FieldInfo) -> str:
    """Which values a field may have."""
    kind = field.annotation
    if get_origin(kind) in {Union, UnionType}:
        (kind,) = (choice for choice in get_args(kind) if choice is not NoneType)
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    limits = {limit: getattr(rule, limit) for rule in field.metadata for limit in ("ge", "gt", "le") if hasattr(rule, limit)}
    return NAMED[get_origin(kind) or kind] + bounds(limits.get("ge"), limits.get("le"), limits.get("gt"))  # type: ignore[index]


def bounds(lowest: Any, highest: Any, above: Any = None) -> str:
    """A range, in signs."""
    least = f">{plain(above)}" if above is not None else "" if lowest is None else f"≥{plain(lowest)}"
    if highest is None:
        return f" {least}" if least else ""
    return f" {plain(lowest)}–{plain(highest)}" if lowest is not None else f" {least}, ≤{plain(highest)}".replace(" ,", "")


def plain(number: Any) -> str:
    """A bound without needless digits."""
    return str(int(number)) if number == int(number) else str(number)


def namespace(connection: psycopg.Connection[Any]) -> str:
    """Lines for each subject that has settings."""
    subjects: dict[str, list[tuple[str, str, str, str]]] = {}
    for subject, name, standard, kind, lowest, highest, meaning in connection.execute(DEFINITIONS).fetchall():
        shown = f"`{orjson.dumps(standard).decode()}`"
        subjects.setdefault(subject, []).append((name, shown, kind_of(kind, lowest, highest), meaning))
    return "\n".join(f"### {subject}\n\n{table(rows)}" for subject, rows in subjects.items())


def kind_of(kind: str, lowest: Decimal | None, highest: Decimal | None) -> str:
    """Type and range of a namespace's setting."""
    if " | " in kind:
        return ", ".join(f"`{choice}`" for choice in kind.split(" | "))
    return kind + bounds(lowest, None if highest == LARGEST else highest)


def table(rows: Iterable[tuple[str, str, str, str]]) -> str:
    """A line for each setting."""
    return "".join(
        f"- `{name}` ({standard}{f'; {allowed}' if allowed != 'text' else ''}): {meaning}\n"
        for name, standard, allowed, meaning in rows
    )
