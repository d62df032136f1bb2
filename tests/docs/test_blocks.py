"""Every block of every page is of its language, also where test_snippets.py does not run it: JSON, YAML and shell are parsed, requests
fit the OpenAPI document, and command lines of `loci` fit its real parser. TypeScript is compiled by tests/page/test_page_client.py.
"""

import json
import re
import shlex
import subprocess
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import jsonschema  # type: ignore[import-untyped]  # openapi-spec-validator brings it
import pytest
import typer
import yaml

from tests.catalogue import ROOT
from tests.cli.tree import COMMANDS, GROUPS
from tests.docs.test_snippets import COMMAND, METHOD
from tests.services import openapi_document

pytestmark = pytest.mark.every_case

PAGES = sorted(
    path
    for folder, found in (
        (ROOT, "*.md"),
        (ROOT / "docs", "**/*.md"),
        (ROOT / "sql", "*.md"),
        (ROOT / "client", "*.md"),
        (ROOT / "web" / "packages", "*/README.md"),
    )
    for path in folder.glob(found)
)
FENCE = re.compile(r"^( *)```(.*?)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`((?:\.venv/bin/)?loci [^`\n]+)`(?!`)")
LANGUAGES = {  # what blocks are, and who looks at them
    "python": "test_snippets.py and tests of the pages", "sql": "test_shared_docs.py, test_analysts.py and tests of the pages",
    "duckdb": "test_analysts.py", "ts": "test_page_client.py", "toml": "test_snippets.py", "text": "nobody", "": "as it begins",
    "json": "here", "yaml": "here", "sh": "here", "console": "here", "js": "tests of the pages", "ini": "tests/running",
    "nginx": "tests/running",
}  # fmt: skip
SHORTENED = "…"
OPERATORS = set("|&;()<>")
EAGER = {"-h", "--help", "--version", "--install-completion", "--show-completion"}  # they do something as they are parsed
BEGINNINGS = {path.split()[0] for path in COMMANDS}
PLACEHOLDER = re.compile(r"^[A-Z]+$|…")  # what a reader fills in
REFUSED: Any = typer.BadParameter.__mro__[2]  # the root of what a parser raises
GROUP = GROUPS[""]


class Block(NamedTuple):
    """A block of a page, where it is, what it is, and what it says."""

    place: str
    kind: str
    text: str


@cache
def blocks() -> list[Block]:
    found = []
    for path in PAGES:
        page = path.read_text()
        for match in FENCE.finditer(page):
            text = textwrap.dedent(match[3])
            kind = match[2].split(" ")[0]
            if not kind and "─" not in text:
                kind = "sh" if COMMAND.match(text) else "http" if METHOD.match(text) else ""
            found.append(Block(f"{path.relative_to(ROOT)}:{page.count(chr(10), 0, match.start()) + 1}", kind, text))
    return found


def of_kind(*kinds: str) -> list[Block]:
    found = [block for block in blocks() if block.kind in kinds]
    assert found, kinds
    return found


def shell() -> list[Block]:
    """Commands, without the signs of a console and what it printed."""
    typed = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
    return [
        block._replace(text="\n".join(typed.findall(block.text)))
        if block.kind == "console" or block.text.startswith("$ ")
        else block
        for block in of_kind("sh", "console")
    ]


def test_every_block_has_a_language_that_a_test_checks() -> None:
    assert {block.place: block.kind for block in blocks() if block.kind not in {*LANGUAGES, "http"}} == {}


@pytest.mark.parametrize("block", of_kind("json"), ids=lambda block: block.place)
def test_json_can_be_read(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", of_kind("yaml"), ids=lambda block: block.place)
def test_yaml_can_be_read(block: Block) -> None:
    assert [row for row in yaml.safe_load_all(block.text) if row is None] == []


def test_shell_is_shell(tmp_path: Path) -> None:
    found = shell()
    for number, block in enumerate(found):
        (tmp_path / str(number)).write_text(block.text)
    each = 'for name in "$@"; do bash -n "$name" 2>&1 || echo "wrong: $name"; done'
    done = subprocess.run(
        ["bash", "-c", each, "-", *map(str, range(len(found)))], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [found[int(number)].place for number in re.findall(r"^wrong: (\d+)$", done.stdout, re.MULTILINE)] == [], done.stdout


# Command lines


def simple_commands(text: str) -> Iterator[list[str]]:
    """The words of each command of a script, without variables before it."""
    for line in text.replace("\\\n", " ").splitlines():
        try:
            words = shlex.shlex(line, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            parts = list(words)
        except ValueError:  # a quotation goes over lines
            continue
        command: list[str] = []
        for word in [*parts, ";"]:
            if set(word) <= OPERATORS:
                if command:
                    yield command
                command = []
            elif command or not re.match(r"\w+=", word):
                command.append(word)


def told(command: list[str]) -> list[str] | None:
    """What `loci` is told by a command, also one that hands it on, as `docker compose run loci …` and `kubectl exec pod -- loci …` do."""
    places = [at for at, word in enumerate(command) if PurePosixPath(word).name == "loci"]
    for at in reversed(places):
        following = command[at + 1 : at + 2]
        if at == 0 or command[at - 1] == "--" or (following and following[0] in BEGINNINGS):
            return command[at + 1 :]
    return None


def wrong_of(arguments: list[str], *, whole: bool = True) -> str | None:
    """What the parser of `loci` says against arguments; nothing is run. A file need not be there."""
    if EAGER & set(arguments):
        return None
    command, name, context = GROUP, "loci", None
    try:
        while True:
            context = command.make_context(name, list(arguments), parent=context)
            if not hasattr(command, "commands"):
                return None
            rest = [*context._protected_args, *context.args]
            name, command, arguments = command.resolve_command(context, rest)
    except REFUSED as error:
        said = error.format_message()
        filled_in = said.startswith("Invalid value") and any(PLACEHOLDER.search(word) for word in arguments)
        left_out = "does not exist" in said or (not whole and re.search("^Missing|^Usage|requires an argument", said))
        return None if left_out or filled_in else said


LINES = [
    (block.place, shlex.join(found)) for block in shell() for command in simple_commands(block.text) if (found := told(command))
]
SPANS = sorted(
    {(str(path.relative_to(ROOT)), span) for path in PAGES if path.name != "cli.md" for span in SPAN.findall(path.read_text())}
)


def test_command_lines_are_found_and_wrong_ones_are_told() -> None:
    assert len(LINES) > 40
    assert len(SPANS) > 100
    for line in ("key create --nmespace x", "memry get x", "recall q --k three", "key rotate"):
        assert wrong_of(shlex.split(line)) is not None, line
    assert wrong_of(["recall", "q", "--k", "3"]) is None


@pytest.mark.parametrize(("place", "line"), LINES)
def test_a_command_line_fits_the_parser(place: str, line: str) -> None:
    assert wrong_of(shlex.split(line)) is None, place


def test_commands_in_sentences_fit_the_parser() -> None:
    wrong = []
    for place, span in SPANS:
        for command in simple_commands(span):
            found = told(command)
            if found is not None and (said := wrong_of(found, whole=False)) is not None:
                wrong.append((place, span, said))
    assert wrong == []


# Requests


def operation_of(method: str, address: str) -> dict[str, Any]:
    """The operation of the document that a request asks for. Raises AssertionError where there is none."""
    path = urlsplit(address).path
    path = path if path.startswith("/api/") or path in openapi_document()["paths"] else f"/api/v1{path}"
    for known, operations in openapi_document()["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", known), path) and method.lower() in operations:
            found: dict[str, Any] = operations[method.lower()]
            return found
    raise AssertionError(f"the document has no {method} {path}")


def check_request(method: str, address: str, body: str | None) -> None:
    """Raise where a request is none of the document, or its parameters or its body do not fit it."""
    operation = operation_of(method, address)
    names = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
    assert {name for name, _ in parse_qsl(urlsplit(address).query, keep_blank_values=True)} <= names
    if body is not None and SHORTENED not in body:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.validate(json.loads(body), {**schema, "components": openapi_document()["components"]})


def requests_of(block: Block) -> Iterator[tuple[str, str, str | None]]:
    if block.kind == "http":
        lines = block.text.splitlines(keepends=True)
        at = [number for number, line in enumerate(lines) if METHOD.match(line)]
        for start, end in pairwise([*at, len(lines)]):
            body = "".join(lines[start + 1 : end]).strip()
            method, path = lines[start].split()[:2]
            yield method, path, body if body.startswith(("{", "[")) else None
        return
    for command in simple_commands(block.text):
        if command[0] == "curl" and SHORTENED not in command:
            sent = next((word for before, word in pairwise(command) if before in ("-d", "--data")), None)
            address = next((word for word in command if "/api/" in word or word.endswith("/readyz")), None)
            method = next((word for before, word in pairwise(command) if before == "-X"), "POST" if sent else "GET")
            if address and not (sent or "").startswith("@"):
                yield method, address, sent


REQUESTS = [(block.place, *sent) for block in [*of_kind("http"), *shell()] for sent in requests_of(block)]


def test_a_wrong_request_is_told() -> None:
    for method, address, body in (
        ("GET", "/nowhere", None),
        ("GET", "/edges?entty=x", None),
        ("POST", "/api/v1/retain", '{"contents": "x"}'),
    ):
        with pytest.raises((AssertionError, jsonschema.ValidationError)):
            check_request(method, address, body)


@pytest.mark.parametrize(("place", "method", "address", "body"), REQUESTS, ids=[f"{each[1]} {each[2]}"[:60] for each in REQUESTS])
def test_a_request_fits_the_document(place: str, method: str, address: str, body: str | None) -> None:
    assert place
    check_request(method, address, body)
