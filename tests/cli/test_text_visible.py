"""No command prints a hidden character that is stored: it could move the cursor, or turn letters around."""

import json

import pytest

from tests.api.test_text_visible import CONTENT, hides
from tests.catalogue import ROOT
from tests.cli.conftest import Loci

COMMANDS = [
    ("recall", "Alice", "-n"),
    ("context", "Alice", "-n"),
    ("memory", "history", "note", "-n"),
    ("traverse", "Alice", "-n"),
    ("operation", "list", "-n"),
]


@pytest.fixture
def stored(loci: Loci, namespace: str) -> str:
    item = {
        "content": CONTENT,
        "lineage": "note",
        "entities": [{"name": "Alice"}],
        "edges": [{"source": "Alice", "type": "keeps", "literal": CONTENT}],
    }
    loci.rows("select * from loci_api.remember(%s, %s::jsonb)", namespace, json.dumps([item]))
    return namespace


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_printed_hidden_characters_are_made_visible(loci: Loci, stored: str, command: tuple[str, ...]) -> None:
    plain, said = loci(*command, stored), loci(*command, stored, "--json")
    assert (plain.exit_code, said.exit_code) == (0, 0), plain.output + said.output
    assert not hides(plain.output + said.output)
    if command[0] not in {"operation", "traverse"}:
        assert "\\x1b" in plain.output
        assert (
            CONTENT in json.dumps(json.loads(said.stdout), ensure_ascii=False).encode().decode("unicode_escape", "ignore")
            or "\\u202e" in said.stdout
        )


def test_an_error_shows_them(loci: Loci, stored: str) -> None:
    refused = loci("memory", "history", "no\x1b[2J\u202esuch", "-n", stored)
    assert refused.exit_code != 0
    assert not hides(refused.output)


def test_all_output_of_commands_passes_one_file() -> None:
    printed = [str(path.relative_to(ROOT)) for path in (ROOT / "service").rglob("*.py") if "typer.echo(" in path.read_text()]
    assert printed == ["service/cli/output.py"]
