"""The reference in docs/sql/, made from the catalogue: every view and every reading function of the schema `loci`, by subject."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.catalogue import ROOT, SUBJECTS
from tests.docs.words import ARGUMENTS, COLUMNS, VIEW_OF

FOLDER = ROOT / "docs" / "sql"
Parts = dict[str, str]
Column = tuple[str, str, str]  # name, type, meaning
ROOMS = {"shared": "memories", "text": "graph"}  # on whose page functions stand that serve all subjects
USUAL_ERRORS = re.compile(r" Errors: (?:(?:42501|P0002|22023)[,.] ?)+$")  # README.md says once what they mean
SAID_BY_ARGUMENTS = re.compile(
    r"; cursor pages(?: back| of up to [\d,]+)?|,? (?:as of|at) a moment, as known at another|, at two times"
)
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


def views(connection: psycopg.Connection[Any]) -> dict[str, tuple[str, list[Column]]]:
    """Views by name: comment, and columns with type and meaning."""
    made: dict[str, tuple[str, list[Column]]] = {}
    for view, comment, column, kind, meaning in connection.execute(VIEWS).fetchall():
        made.setdefault(view, (comment, []))[1].append((column, short(kind), meaning))
    return made


def meaning(function: Function, column: str, kind: str, described: dict[str, tuple[str, list[Column]]]) -> str | None:
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
    described, made = views(connection), functions(connection)
    columns = {
        name: [(column, kind, JOINS.sub("", text)) for column, kind, text in shown] for name, (_, shown) in described.items()
    }
    columns |= {f.name: [(name, kind, meaning(f, name, kind, described) or "") for name, kind in f.columns] for f in made}
    common, subject_of = shared_columns(columns), subjects()
    pages: dict[str, dict[str, list[str]]] = {}
    told: dict[str, dict[Column, str]] = {subject: {} for subject in subject_of.values()}
    for view, (comment, _) in described.items():
        lines = [
            f"### `{view}`",
            "",
            comment,
            "",
            *listed(view, columns, common, described, told[subject_of[view]]),
            "",
        ]
        pages.setdefault(subject_of[view], {}).setdefault("views", []).extend(lines)
    for function in made:
        lines = described_function(function, listed(function.name, columns, common, described, told[subject_of[function.name]]))
        pages.setdefault(subject_of[function.name], {}).setdefault("functions", []).extend(lines)
    parts = {subject: {part: "\n".join(lines) for part, lines in found.items()} for subject, found in pages.items()}
    words = {"contents": contents(parts), "arguments": arguments(made), "columns": defined(common)}
    return {**parts, "README": words}


def contents(pages: dict[str, Parts]) -> str:
    """The pages in the order of the subjects, with links to what they describe."""
    lines = []
    for subject in (subject for subject in SUBJECTS if subject in pages):
        names = re.findall(r"^### `(\w+)`", pages[subject].get("views", "") + pages[subject].get("functions", ""), re.MULTILINE)
        lines.append(f"- [{subject}]({subject}.md): " + " ".join(f"[`{name}`]({subject}.md#{name})" for name in names))
    return "\n".join(lines) + "\n"


def shared_columns(columns: dict[str, list[Column]]) -> dict[str, tuple[str, str]]:
    """Type and meaning of columns that mean the same in several views and functions: by name, the most frequent."""
    counted = Counter(column for shown in columns.values() for column in shown)
    made: dict[str, tuple[str, str]] = {}
    for (name, kind, text), times in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
        if times > 1:
            made.setdefault(name, (kind, text))
    return dict(sorted(made.items()))


def defined(common: dict[str, tuple[str, str]]) -> str:
    """A line for each column."""
    return "".join(f"- {typed(name, kind)}: {text}\n" for name, (kind, text) in common.items())


def typed(name: str, kind: str) -> str:
    """A name with its type, where that is not the usual one: timestamptz of `…_at`, uuid of `…_id`, else text."""
    usual = "timestamptz" if name.endswith("_at") else "uuid" if name.endswith("_id") else "text"
    return f"`{name}`" if kind == usual else f"`{name}` {kind}"


def arguments(made: list[Function]) -> str:
    """A line for each argument, with its types."""
    kinds: dict[str, set[str]] = {}
    for function in made:
        for name, kind, _ in function.arguments:
            kinds.setdefault(name, set()).add(kind)
    return "".join(f"- {typed(name, ' or '.join(sorted(kinds[name])))}: {ARGUMENTS.get(name)}\n" for name in sorted(kinds))


def nearest(name: str, columns: dict[str, list[Column]], described: Iterable[str]) -> tuple[str, list[str]]:
    """The view that has most of the columns of something, and the names of columns that it has beyond them; none if those are more."""
    shown, found = set(columns[name]), ("", [])
    for view in described:
        missing = [column for column, kind, text in columns[view] if (column, kind, text) not in shown]
        same, best = len(columns[view]) - len(missing), len(columns.get(found[0], [])) - len(found[1])
        if view != name and (described_first(view, name) or name not in described) and same > best and same > len(missing) + 2:
            found = (view, missing)
    return found


def described_first(view: str, other: str) -> bool:
    """Whether one view refers to another and not the reverse: the one with the shorter name is the plainer."""
    return (len(view), view) < (len(other), other)


def listed(
    name: str,
    columns: dict[str, list[Column]],
    common: dict[str, tuple[str, str]],
    described: dict[str, tuple[str, list[Column]]],
    told: dict[Column, str],
) -> list[str]:
    """Columns with a meaning of their own, a line each; then those that are a view's, those that mean the same everywhere, and those
    that the page has told before, under which name.
    """
    view, missing = nearest(name, columns, described)
    shown = [column for column in columns[name] if column not in columns.get(view, [])]
    own = [column for column in shown if common.get(column[0]) != column[1:]]
    others = [f"`{column[0]}`" for column in shown if column not in own]
    without = " without " + " ".join(f"`{column}`" for column in missing) if missing else ""
    rest = ", ".join(filter(None, [f"columns of `{view}`{without}" if view else "", " ".join(others)]))
    before: dict[str, list[str]] = {}
    for column in own:
        before.setdefault(told.setdefault(column, name), []).append(f"`{column[0]}`")
    new = [f"- {typed(column, kind)}: {text}" for column, kind, text in own if told[column, kind, text] == name]
    as_before = [f"- as in `{place}`: {' '.join(found)}" for place, found in before.items() if place != name]
    return [*new, *as_before, *([f"- {rest}"] if rest else [])]


def described_function(function: Function, lines: list[str]) -> list[str]:
    """How it is called, its comment, and its columns."""
    called = ", ".join(map(optional, function.arguments))
    comment = SAID_BY_ARGUMENTS.sub("", USUAL_ERRORS.sub("", function.comment))
    return [f"### `{function.name}`", "", f"`{function.name}({called})`", "", comment, "", *lines, ""]


def optional(argument: tuple[str, str, str | None]) -> str:
    """An argument as a signature shows it: one that may be null, and is by default, with a question mark."""
    name, _, default = argument
    return name if default is None else f"{name}?" if default == "NULL" else f"{name}={default.lower()}"
