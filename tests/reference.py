"""The reference in docs/sql.md, made from the catalogue: every view and every function that analysts may call."""

import re
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.words import ARGUMENTS, COLUMNS, VIEW_OF

# Called by analysts too, but parts of the service's own recall, export, undo and rights, or for admins: no contract.
PARTS = {
    "authorize",
    "busy_with",
    "edge_types_used",
    "entity_catalogue",
    "export_header",
    "export_page",
    "facts_to_decide",
    "feed_bounds",
    "get_documents",
    "last_pass",
    "linked_memories",
    "list_grants",
    "list_key_usage",
    "list_keys",
    "list_refused_requests",
    "look_memories",
    "memory_to_enrich",
    "neighbour_memories",
    "orphans_to_place",
    "recall_arms",
    "recall_around",
    "recall_each",
    "recall_graph",
    "recall_scope",
    "recall_walk",
    "recent_signals",
    "related_memories",
    "removable_memories",
    "search_context",
    "stale_entities",
    "unfinished_decay",
}
BESIDE = {"canonical_name", "contradiction", "effective_confidence", "list_namespaces", "triple"}  # without a namespace in front
VIEWS = """
select c.relname, obj_description(c.oid, 'pg_class'), a.attname, format_type(a.atttypid, null), col_description(c.oid, a.attnum)
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
where c.relnamespace = 'loci'::regnamespace and c.relkind = 'v' order by c.relname, a.attnum"""
FUNCTIONS = """
select p.proname, obj_description(p.oid, 'pg_proc'), p.provolatile = 'v', coalesce(p.proargnames && array['p_namespace', 'p_namespaces'], false),
       has_function_privilege('loci_analyst', p.oid, 'execute'), pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), y.typrelid
from pg_proc p join pg_type y on y.oid = p.prorettype
where p.pronamespace = 'loci'::regnamespace and p.prokind = 'f' and has_function_privilege('loci_app', p.oid, 'execute')
order by p.proname"""
RECORD = (
    "select a.attname, format_type(a.atttypid, null) from pg_attribute a where a.attrelid = %s and a.attnum > 0 order by a.attnum"
)
SHORT = {"timestamp with time zone": "timestamptz", "double precision": "float8"}


@dataclass(frozen=True)
class Function:
    """A function of the contract: its comment, its arguments (name, type, default) and its columns (name, type)."""

    name: str
    comment: str
    reads: bool
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
    """Functions of the contract, by name: those that analysts may call, then those that write."""
    found = []
    for name, comment, writes, placed, analysts, arguments, result, record in connection.execute(FUNCTIONS).fetchall():
        if name in PARTS or not (placed or name in BESIDE) or not (analysts or writes):
            continue
        if result.startswith("TABLE("):
            columns = [named(part) for part in fields(result[6:-1])]
        elif record:
            columns = [(n, short(t)) for n, t in connection.execute(RECORD, [record]).fetchall()]
        else:
            columns = [(name, short(result))] if result != "void" else []
        found.append(Function(name, comment, not writes, [argument(part) for part in fields(arguments)], columns))
    return sorted(found, key=lambda function: (not function.reads, function.name))


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
    anywhere = {text for _, shown in described.values() for name, type_, text in shown if (name, type_) == (column, kind)}
    return own or like or COLUMNS.get(column) or (anywhere.pop() if len(anywhere) == 1 else None)


def render(connection: psycopg.Connection[Any]) -> str:
    """The reference as Markdown."""
    described = views(connection)
    lines = ["### Views", ""]
    for view, (comment, shown) in described.items():
        lines += [f"#### `{view}`", "", comment, "", "| column | type | meaning |", "|---|---|---|"]
        lines += [f"| `{name}` | {kind} | {text} |" for name, kind, text in shown] + [""]
    made = functions(connection)
    lines += ["### Functions that read", "", "Arguments go by position, or by name with `p_` in front: `p_limit => 5`.", ""]
    for function in (f for f in made if f.reads):
        lines += described_function(function, described)
    lines += [
        "### Functions that write",
        "",
        "The service's role calls these; analysts cannot. Columns of the answer are named as above.",
        "",
    ]
    for function in (f for f in made if not f.reads):
        lines += [f"- `{signature(function)}`{answer(function)}: {function.comment}"]
    return "\n".join(lines) + "\n"


def described_function(function: Function, described: dict[str, tuple[str, list[tuple[str, str, str]]]]) -> list[str]:
    """Signature, comment, and tables of arguments and columns."""
    lines = [f"#### `{function.name}`", "", function.comment, "", "| argument or column | type | meaning |", "|---|---|---|"]
    for name, kind, default in function.arguments:
        shown = f" = {default}" if default else ""
        lines.append(f"| ({name}{shown}) | {kind} | {ARGUMENTS.get(name)} |")
    lines += [f"| `{name}` | {kind} | {meaning(function, name, kind, described)} |" for name, kind in function.columns]
    return [*lines, ""]


def signature(function: Function) -> str:
    """Name and arguments, without types."""
    return f"{function.name}({', '.join(name + (' = ' + default if default else '') for name, _, default in function.arguments)})"


def answer(function: Function) -> str:
    """Names of the columns of a writer's answer."""
    return f" → {', '.join(name for name, _ in function.columns)}" if function.columns else ""
