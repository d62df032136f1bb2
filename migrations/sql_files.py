"""The files of sql/, read as the objects that they declare."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

# What a semicolon may stand in without ending a statement: comments, quoted texts and names, bodies between dollars.
_TOKEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\"[^\"]*\"|(\$\w*\$).*?\1|;|[^;'\"$-]+|.", re.DOTALL)
_MADE = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:constraint\s+)?(function|aggregate|view|trigger)\s+([\w.]+)(?:.*?\bon\s+([\w.]+))?",
    re.IGNORECASE | re.DOTALL,
)
ABOUT_ALL = ("policies", "grants")  # folders whose files are about all objects; they come last, in this order


@dataclass
class SqlObject:
    """An object that a file declares.

    `kind` is function, aggregate, view or trigger; `name` is qualified, that of a trigger by its table; `statements` make
    it, and comment on it.
    """

    kind: str
    name: str
    path: str
    statements: list[str] = field(default_factory=list)

    @property
    def makes(self) -> list[str]:
        """Statements that make it."""
        return [statement for statement in self.statements if not statement.startswith("comment on function")]

    @property
    def comments(self) -> list[str]:
        """Statements that comment on it, where it is a function: they may leave its parameters out."""
        return [statement for statement in self.statements if statement.startswith("comment on function")]


def split(text: str) -> list[str]:
    """The statements of a text, without semicolons and without the comments before them."""
    statements, current = [], ""
    for token in _TOKEN.finditer(text):
        piece = token.group()
        if piece == ";":
            statements.append(current.strip())
            current = ""
        elif current.strip() or not piece.startswith("--"):
            current += piece
    return [statement for statement in [*statements, current.strip()] if statement]


def sql_files(
    folder: Traversable | None = None, path: str = "sql", endings: tuple[str, ...] = (".sql",)
) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of each file of sql/, or of another folder, and of the folders in it, in order of the path."""
    for entry in sorted((folder or files("sql")).iterdir(), key=lambda item: item.name):
        if entry.is_dir():
            yield from sql_files(entry, f"{path}/{entry.name}", endings)
        elif entry.name.endswith(endings):
            yield f"{path}/{entry.name}", entry.read_text(encoding="utf-8")


@cache
def digest_schema() -> str:
    """A digest of all that makes a schema: the files of sql/ and of migrations/."""
    found = hashlib.sha256()
    for path, text in (*sql_files(), *sql_files(files("migrations"), "migrations", (".sql", ".py"))):
        found.update(f"{path}\0{text}\0".encode())
    return found.hexdigest()


def declared() -> list[SqlObject]:
    """All objects that the files of the subjects declare.

    A block (`do`) may make one. A comment, or a block that makes none, belongs to the object before it; another statement, to the
    one after it. Raises ValueError for a statement that belongs to none.
    """
    found: list[SqlObject] = []
    for path, text in sql_files():
        if path.split("/")[1] in ABOUT_ALL:
            continue
        before: list[str] = []
        for statement in split(text):
            made = _MADE.search(statement) if statement.startswith("do ") else _MADE.match(statement)
            if made:
                kind = made[1].lower()
                found.append(SqlObject(kind, f"{made[3]}.{made[2]}" if kind == "trigger" else made[2], path, [*before, statement]))
                before = []
            elif statement.startswith(("comment on", "do ")) and found and found[-1].path == path:
                found[-1].statements.append(statement)
            else:
                before.append(statement)
        if before:
            raise ValueError(f"{path}: no function, view or trigger that this statement belongs to: {before[0][:80]}")
    return found


def about_all() -> Iterator[tuple[str, str]]:
    """Yield (path, text) of the files that are about all objects: policies, then grants."""
    for folder in ABOUT_ALL:
        yield from sql_files(files("sql").joinpath(folder), f"sql/{folder}")
