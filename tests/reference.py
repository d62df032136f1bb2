"""The reference in docs/sql/, made from the catalogue: every view and every reading function of the schema `loci`, by subject."""

import re
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.catalogue import ROOT, SUBJECTS
from tests.words import ARGUMENTS, COLUMNS, VIEW_OF

FOLDER = ROOT / "docs" / "sql"
Parts = dict[str, str]
ROOMS = {"shared": "memories", "text": "graph"}  # on whose page functions stand that serve all subjects
JOINS = re.compile(r" Joins \w+\.\w+\.$")  # at the end of the comment of a column: the row of which view it names
DECLARED = re.compile(r"^create (?:or replace )?(?:function|view) loci\.(\w+)", re.MULTILINE)

VIEWS = """
select c.relname, obj_description(c.oid, 'pg_class'), a.attname, format_type(a.atttypid, null), col_description(c.oid, a.attnum)
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
where c.relnamespace = 'loci'::regnamespace and c.relkind = 'v' order by c.relname, a.attnum"""
FUNCTIONS = """
select distinct on (p.proname) p.proname, obj_description(p.oid, 'pg_proc'),
       pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), y.typrelid
from pg_proc p join pg_type y on y.oid = p.prorettype
where p.pronamespace = 'loci'::regnamespace and p.prokind = 'f' and has_function_privilege('loci_analyst', p.oid, 'execute')
order by p.proname, p.pronargs desc, p.proargtypes::text"""
RECORD = (
    "select a.attname, format_type(a.atttypid, null) from pg_attribute a where a.attrelid = %s and a.attnum > 0 order by a.attnum"
)
SHORT = {"timestamp with time zone": "timestamptz", "double precision": "float8"}


def subjects() -> dict[str, str]:
    """The subject of each view and function: the folder that declares it."""
    made: dict[str, str] = {}
    for path in sorted(ROOT.glob("sql/**/*.sql")):
        folder = path.relative_to(ROOT).parts[1]
        made |= dict.fromkeys(DECLARED.findall(path.read_text()), ROOMS.get(folder, folder))
    return made


@dataclass(frozen=True)
class Function:
    """A function of the contract: its comment, its arguments (name, type, default) and its columns (name, type)."""

    name: str
    comment: str
    arguments: list[tuple[str, str, str | None]]
    columns: list[tuple[str, str]]


def short(text: str) -> str:
    """A type as people write it."""
    for long, brief in SHORT.items():
        text = text.replace(long, brief)
    return text


def fields(text: str) -> list[str]:
    """The parts between the commas of a list of arguments or columns."""
    return [part for part in re.split(r", (?=p_|\w+ |\")(?![^(]*\))", text) if part]


def named(part: str) -> tuple[str, str]:
    """Name and type of a column."""
    name, _, kind = part.partition(" ")
    return name.strip('"'), short(kind)


def argument(part: str) -> tuple[str, str, str | None]:
    """Name, type and default of an argument, as callers name it without its prefix."""
    head, _, default = part.partition(" DEFAULT ")
    name, kind = named(head)
    return name.removeprefix("p_"), kind, re.sub(r"::[\w ]+(\[\])?", "", default) or None


def functions(connection: psycopg.Connection[Any]) -> list[Function]:
    """Functions of the contract, by name: those of the schema `loci` that analysts may call."""
    found = []
    for name, comment, arguments, result, record in connection.execute(FUNCTIONS).fetchall():
        if result.startswith("TABLE("):
            columns = [named(part) for part in fields(result[6:-1])]
        elif record:
            columns = [(n, short(t)) for n, t in connection.execute(RECORD, [record]).fetchall()]
        else:
            columns = [(name, short(result))] if result != "void" else []
        found.append(Function(name, comment, [argument(part) for part in fields(arguments)], columns))
    return found


def views(connection: psycopg.Connection[Any]) -> dict[str, tuple[str, list[tuple[str, str, str]]]]:
    """Views by name: comment, and columns with type and meaning."""
    made: dict[str, tuple[str, list[tuple[str, str, str]]]] = {}
    for view, comment, column, kind, meaning in connection.execute(VIEWS).fetchall():
        made.setdefault(view, (comment, []))[1].append((column, short(kind), meaning))
    return made


def meaning(function: Function, column: str, kind: str, described: dict[str, tuple[str, list[tuple[str, str, str]]]]) -> str | None:
    """What a column of a function means; None where nothing says so."""
    own = COLUMNS.get(f"{function.name}.{column}")
    view = described.get(VIEW_OF.get(function.name, ""), ("", []))[1]
    like = next((text for name, type_, text in view if (name, type_) == (column, kind)), None)
    anywhere = {
        JOINS.sub("", text) for _, shown in described.values() for name, type_, text in shown if (name, type_) == (column, kind)
    }
    text = own or like or COLUMNS.get(column) or (anywhere.pop() if len(anywhere) == 1 else None)
    return text and JOINS.sub("", text)


def render(connection: psycopg.Connection[Any]) -> dict[str, Parts]:
    """The generated parts of each page, by the names of the page and of their markers."""
    described, subject_of = views(connection), subjects()
    made: dict[str, dict[str, list[str]]] = {}
    for view, (comment, shown) in described.items():
        made.setdefault(subject_of[view], {}).setdefault("views", []).extend(described_view(view, comment, shown))
    for function in functions(connection):
        made.setdefault(subject_of[function.name], {}).setdefault("functions", []).extend(described_function(function, described))
    pages = {subject: {part: "\n".join(lines) for part, lines in parts.items()} for subject, parts in made.items()}
    return {**pages, "README": {"contents": contents(pages)}}


def contents(pages: dict[str, Parts]) -> str:
    """A table of the pages, in the order of the subjects, with links to what they describe."""
    lines = ["| page | views | functions |", "|---|---|---|"]
    for subject in (subject for subject in SUBJECTS if subject in pages):
        linked = {
            part: " ".join(f"[`{name}`]({subject}.md#{name})" for name in re.findall(r"^### `(\w+)`", text, re.MULTILINE))
            for part, text in pages[subject].items()
        }
        lines.append(f"| [{subject}]({subject}.md) | {linked.get('views', '')} | {linked.get('functions', '')} |")
    return "\n".join(lines) + "\n"


def described_view(view: str, comment: str, shown: list[tuple[str, str, str]]) -> list[str]:
    """Comment, and a table of the columns."""
    lines = [f"### `{view}`", "", comment, "", "| column | type | meaning |", "|---|---|---|"]
    return [*lines, *(f"| `{name}` | {kind} | {text} |" for name, kind, text in shown), ""]


def described_function(function: Function, described: dict[str, tuple[str, list[tuple[str, str, str]]]]) -> list[str]:
    """Comment, and a table of arguments and columns."""
    lines = [f"### `{function.name}`", "", function.comment, "", "| argument or column | type | meaning |", "|---|---|---|"]
    for name, kind, default in function.arguments:
        shown = f" = {default}" if default else ""
        lines.append(f"| ({name}{shown}) | {kind} | {ARGUMENTS.get(name)} |")
    lines += [f"| `{name}` | {kind} | {meaning(function, name, kind, described)} |" for name, kind in function.columns]
    return [*lines, ""]
