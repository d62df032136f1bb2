"""Texts of a command line are UTF-8: bytes of another encoding are wrong usage, and the error names where they stand."""

import os
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner, Result

from service.cli.main import app
from service.cli.service_address import NAMES
from tests.cli.tree import COMMANDS

pytestmark = pytest.mark.row("CLI")

LATIN = os.fsdecode(b"caf\xe9")
NAMESPACE_NEEDED = {"analyst create", "invitation accept", "invitation decline"}
FILLED = {"verdict": "both_true", "id": str(UUID(int=5)), "to": "2"}
SHOWN = "caf\\xe9"


@pytest.fixture(autouse=True)
def nothing_to_ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*NAMES, "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOCI_DATA_DIR", str(tmp_path / "none"))


def loci(*arguments: str, **given: Any) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="loci", **given)


TAKES = [
    (path, parameter.name)
    for path, command in COMMANDS.items()
    for parameter in command.params
    if not getattr(parameter, "is_flag", False)
]


def call_of(path: str, wanted: str) -> list[str]:
    """A call of a command in which one parameter is in Latin-1."""
    given = []
    for parameter in COMMANDS[path].params:
        if parameter.param_type_name == "argument":
            given.append(LATIN if parameter.name == wanted else FILLED.get(parameter.name, "x"))
        elif parameter.name == wanted:
            given.append(f"{parameter.opts[0]}={LATIN}")
        elif parameter.required:
            given.append(f"{parameter.opts[0]}={FILLED.get(parameter.name, 'x')}")
    needed = [] if wanted == "namespace" or path not in NAMESPACE_NEEDED else ["-n", "default"]
    return [*path.split(), *given, *needed]


@pytest.mark.sample(30)
@pytest.mark.parametrize(("path", "parameter"), TAKES)
def test_a_text_in_another_encoding_is_wrong_usage_and_named(path: str, parameter: str) -> None:
    refused = loci(*call_of(path, parameter))
    assert refused.exit_code == 2, refused.output
    (named,) = (each for each in COMMANDS[path].params if each.name == parameter)
    assert "caf\\" in refused.stderr or "unicode" in refused.stderr  # of numbers, times and ids their parsers say it
    assert named.opts[0] in refused.stderr or str(named.metavar) in refused.stderr


@pytest.mark.parametrize("arguments", [["remember", "-"], ["retain", "-"], ["memory", "add", "-"]])
def test_standard_input_in_another_encoding_is_wrong_usage_and_named(arguments: list[str]) -> None:
    refused = loci(*arguments, input=b"A caf\xe9 in Nice")
    assert (refused.exit_code, "standard input" in refused.stderr, "0xe9" in refused.stderr) == (2, True, True), refused.output


@pytest.mark.parametrize("name", sorted({*NAMES} - {"LOCI_PROFILE"}))  # of which there are four, and no other is taken
def test_a_variable_in_another_encoding_is_wrong_usage_and_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, LATIN)
    refused = loci("mcp") if name in {"LOCI_SPACE", "LOCI_USER", "LOCI_PROFILE"} else loci("recall", "tea")
    assert refused.exit_code == 2, refused.output
    assert SHOWN in refused.stderr
    assert name in refused.stderr


@pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="its file names are text")
@pytest.mark.parametrize("inner", [b"caf\xe9.md", b"caf\xe9/notes.md"])
def test_a_file_name_in_a_folder_to_import_is_wrong_usage_and_named(tmp_path: Path, inner: bytes) -> None:
    path = tmp_path / "notes" / os.fsdecode(inner)
    path.parent.mkdir(parents=True)
    path.write_text("# Notes\n")
    refused = loci("import", str(tmp_path / "notes"))
    assert (refused.exit_code, SHOWN in refused.stderr) == (2, True), refused.output


def test_texts_of_any_script_are_no_wrong_usage() -> None:
    said = loci("remember", "café, 東京, नमस्ते, 🙂")
    assert "there is no database" in said.stderr
    assert said.exit_code == 1
