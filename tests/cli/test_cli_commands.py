"""What every command promises, whatever it does: JSON, help that fits, a service or a database, and none that it makes by itself."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from typer.testing import CliRunner

from service.cli import local_service, rest
from service.cli.config import known_names
from service.cli.database import _tell_checks
from service.cli.main import app
from service.settings import get_settings
from tests.catalogue import PYTHONPATH
from tests.cli.conftest import Loci
from tests.cli.tree import COMMANDS, GROUPS, SILENT
from tests.databases import Database
from tests.services import Service, serve

NOBODY = str(uuid4())
OPERATORS = {
    "analyst",
    "cell",
    "demo",
    "doctor",
    "migrate",
    "psql",
    "reembed",
    "verify",
    "worker",
}  # first words: on the database itself
NEEDS_NOTHING = {"config", "connect", "hook", "prompt list", "prompt show"}  # neither service nor database
MAKES = {"serve", "demo"}
# What goes another way over a database than over a service: streams both ways, work that is waited for, and one of each plain kind.
# The others ask both with the same requests; a thorough run calls them over both.
OVER_A_DATABASE = {
    *("import", "export", "watch", "tune", "dream", "recall", "remember", "memory change", "memory erase", "entity remove"),
    *("session show", "operation undo", "job retry", "key create", "namespace delete", "invitation accept", "psql"),
}
# How each command is called. {…} is something new of that kind; an error that must come stands behind a bar.
CALLS = {
    "remember": "tea --tag drinks",
    "recall": "tea -k 1",
    "tune": "--no-wait",
    "context": "tea",
    "retain": "I.like.tea.",
    "reflect": "--dry-run",
    "traverse": "{entity}",
    "dream": "| LOCI_LLM__ENDPOINT",
    "watch": "--after {cursor} --limit 1",
    "import": "{lines}",
    "export": "-o {path}",
    "memory add": "coffee --lineage {word}",
    "memory list": "--limit 1",
    "memory show": "{memory}",
    "memory history": "{memory}",
    "memory change": "{memory} category=work",
    "memory unsettled": "--limit 1",
    "memory settle": "{memory} {memory} both_true",
    "memory forget": "{memory}",
    "memory restore": "{forgotten}",
    "memory erase": "{memory} --yes",
    "entity add": "{word}",
    "entity list": "",
    "entity show": "{entity}",
    "entity remove": "{entity} --yes",
    "edge add": "{word} knows Bob",
    "edge list": "",
    "edge show": "{edge}",
    "edge change": "{edge} --confidence 0.5",
    "edge remove": "{edge}",
    "edge decay": "",
    "edge-type list": "",
    "edge-type set": "knows decay_rate=0.1",
    "session list": "",
    "session show": "{session}",
    "session end": "{word}",
    "operation list": "--limit 1",
    "operation show": "{operation}",
    "operation undo": "{operation}",
    "job list": "",
    "job show": "{job}",
    "job retry": "{job}",
    "job cancel": "{job}",
    "model list": "",
    "model calls": "",
    "model usage": "",
    "prompt list": "",
    "prompt show": "dream",
    "namespace create": "{word}",
    "namespace list": "",
    "namespace show": "default",
    "namespace set": "default rrf_k=60",
    "namespace move": "{namespace} --to 2 | LOCI_MIGRATION_URL",
    "namespace delete": "{namespace} --yes",
    "key create": "",
    "key list": "",
    "key change": "{key} --name other",
    "key rotate": "{key}",
    "key revoke": "{key}",
    "key uses": "{key}",
    "grant set": "{agent} --role reader",
    "grant list": "",
    "grant revoke": "{agent}",
    "grant leave": "{agent}",
    "invitation list": "{agent}",
    "invitation accept": "{agent} -n {word} | no invitation",
    "invitation decline": "{agent} -n {word} | no invitation",
    "cell add": "--url http://cell.example --database postgresql://db/loci | LOCI_MIGRATION_URL",
    "cell list": "| LOCI_MIGRATION_URL",
    "cell check": "| LOCI_MIGRATION_URL",
    "cell remove": "2 | LOCI_MIGRATION_URL",
    "cell release": "{word} | LOCI_MIGRATION_URL",
    "cell map": "-o {path} | LOCI_MIGRATION_URL",
    "analyst create": "{word} -n default | LOCI_MIGRATION_URL",
    "analyst uri": "{word} | LOCI_MIGRATION_URL",
    "analyst password": "{word} | LOCI_MIGRATION_URL",
    "analyst drop": "{word} | LOCI_MIGRATION_URL",
    "analyst list": "",
    "analyst grant": "{word} -n default | is not an analyst",
    "analyst revoke": "{word} -n default | has no grant",
    "demo": "",
    "config": "",
    "doctor": "",
    "migrate": "| LOCI_MIGRATION_URL",
    "psql": "--print",
    "reembed": "--dry-run | names no provider",
    "verify": "",
    "serve": "--help",
    "worker": "--help",
    "mcp": "--help",
    "connect": "codex --print",
    "hook": "--help",
}


@dataclass
class World:
    """The command line over a service, and new things of each kind to call it with."""

    loci: Loci
    folder: Path

    def __call__(self, text: str) -> tuple[list[str], str]:
        """The arguments of a call, and the error that must come."""
        text, _, error = text.partition("|")
        return [re.sub(r"{(\w+)}", lambda found: self._new(found[1]), word) for word in text.split()], error.strip()

    def _new(self, kind: str) -> str:
        made: dict[str, Callable[[], str]] = {
            "word": lambda: f"w{uuid4().hex[:12]}",
            "memory": lambda: self._made("memory", "add", f"a memory {uuid4()}"),
            "forgotten": lambda: self._made("memory", "forget", self._new("memory")),
            "entity": lambda: self._made("entity", "add", self._new("word")),
            "edge": lambda: self._made("edge", "add", self._new("word"), "knows", "Bob"),
            "key": lambda: self._made("key", "create"),
            "agent": lambda: self._made("key", "create", "--name", (name := self._new("word"))) and name,
            "namespace": lambda: self._made("namespace", "create", self._new("word"), field="name"),
            "session": self._session,
            "operation": lambda: self._new("memory") and self._newest(),
            "cursor": lambda: self._new("memory") and "0",  # of a change: there is one
            "job": self._job,
            "path": lambda: str(self.folder / uuid4().hex),
            "lines": self._lines,
        }
        return made[kind]()

    def _made(self, *command: str, field: str = "id") -> str:
        result = self.loci(*command, "--json")
        assert result.exit_code == 0, result.stderr
        return str(json.loads(result.stdout)[field])

    def _newest(self) -> str:
        return str(json.loads(self.loci("operation", "list", "--limit", "1", "--json").stdout)[0]["id"])

    def _job(self) -> str:
        statement = "select enqueued.id::text as id from loci_api.enqueue_job('default', 'dream') enqueued"
        return str(self.loci.rows(statement)[0]["id"])

    def _session(self) -> str:
        with rest.open_service() as asked:  # no command says a turn
            name = self._new("word")
            asked.post("/conversations/{session}/turns", {"session": name}, role="user", content="Hello")
        return name

    def _lines(self) -> str:
        path = self.folder / f"{uuid4().hex}.jsonl"
        path.write_text('{"content": "one"}\n')
        return str(path)


@pytest.fixture(scope="module")
def running(own_database: Database) -> Iterator[Service]:
    """A service over the module's database."""
    with serve(own_database, tcp=True, worker=False) as made:
        yield made


@pytest.fixture(scope="module")
def here(own_database: Database) -> Iterator[httpx.BaseTransport]:
    """The application in this process, opened once: otherwise each command opens it anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE_URL", own_database.app_url)
        patch.setenv("LOCI_EMBEDDING__PROVIDER", "none")
        get_settings.cache_clear()
        with local_service.open_application(worker=False) as transport:
            yield transport
        get_settings.cache_clear()


@pytest.fixture(params=["a service", "a database"])
def world(
    loci: Loci, running: Service, here: httpx.BaseTransport, request: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> World:
    """The command line over each of the two that it can ask."""

    @contextmanager
    def opened(**_: bool) -> Iterator[httpx.BaseTransport]:
        yield here

    monkeypatch.setenv("LOCI_EMBEDDING__PROVIDER", "none")
    monkeypatch.setattr(local_service, "open_application", opened)
    if request.param == "a service":
        monkeypatch.setenv("LOCI_URL", running.url)
    return World(loci, tmp_path)


def test_every_command_is_called_here() -> None:
    assert set(CALLS) == set(COMMANDS) >= OVER_A_DATABASE


ASKED = [
    (command, asked)
    for command in COMMANDS
    for asked in ("a service", "a database")
    if asked == "a service" or command in OVER_A_DATABASE or os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
]


@pytest.mark.sample(30)
@pytest.mark.row("CLI")
@pytest.mark.parametrize(("command", "world"), ASKED, indirect=["world"])
def test_a_command_asks_a_service_or_a_database_and_answers_in_json(world: World, command: str) -> None:
    arguments, error = world(CALLS[command])
    asked = [] if command in SILENT else ["--json"]
    result = world.loci(*command.split(), *arguments, *asked)
    assert error in result.output, result.output
    assert (result.exit_code == 0) is (not error) or command == "doctor", result.output  # whose verdict is of the whole world
    if asked and not error:
        json.loads(result.stdout)


def test_long_integers_are_printed_as_they_were_written(world: World) -> None:
    metadata = '{"n": 12345678901234567890123, "m": -1e-7}'
    (row,) = world.loci.rows(
        """select r.id::text from loci_api.remember('default', jsonb_build_array(jsonb_build_object(
               'content', %s::text, 'metadata', %s::jsonb))) r""",
        f"long {uuid4()}",
        metadata,
    )
    result = world.loci("memory", "show", row["id"], "--json")
    assert '"n":12345678901234567890123' in result.stdout, result.output
    assert json.loads(result.stdout)["metadata"] == json.loads(metadata)


@pytest.mark.sample(30)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_in_its_help_what_it_does_and_takes_json(command: str) -> None:
    said = CliRunner().invoke(app, [*command.split(), "--help"], prog_name="loci", env={"COLUMNS": "80"}).stdout
    assert ("--json" in said) is (command not in SILENT)
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.parametrize("group", GROUPS)
def test_descriptions_of_a_group_fit_the_line_of_each_command(group: str) -> None:
    said = CliRunner().invoke(app, [*group.split(), "--help"], prog_name="loci", env={"COLUMNS": "80"}).stdout
    listed = said.split("Commands:\n")[1].splitlines()
    assert len(listed) == len(GROUPS[group].commands)
    assert [line for line in listed if "..." in line or len(line) > 80 or len(line.split()) < 2] == []


@pytest.mark.sample(30)
@pytest.mark.row("CLI")
@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in {*MAKES, *NEEDS_NOTHING, "mcp"}])
def test_a_command_where_there_is_no_database_says_where_it_looked_and_makes_none(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("LOCI_") or name == "DATABASE_URL"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    get_settings.cache_clear()
    text = re.sub(r"{(path|lines)}", os.devnull, CALLS[command].partition("|")[0]).replace("--help", "")
    arguments = re.sub(r"{\w+}", NOBODY, text).split()
    arguments = ["x", *arguments[-2:]] if command == "analyst create" else arguments
    result = CliRunner().invoke(app, [*command.split(), *arguments], prog_name="loci")
    get_settings.cache_clear()
    assert result.exit_code == 1, result.output
    assert f"there is no database in {tmp_path / '.loci'}" in result.stderr
    assert all(name in result.stderr for name in ("LOCI_URL", "DATABASE_URL", "LOCI_DATA_DIR"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [name for name in COMMANDS if name.split()[0] in OPERATORS])
def test_commands_on_the_database_say_so_where_only_a_service_is_named(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("LOCI_URL", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    get_settings.cache_clear()
    arguments = re.sub(r"{\w+}", "ada", CALLS[command].partition("|")[0]).replace("--help", "").split()
    result = CliRunner().invoke(app, [*command.split(), *arguments], prog_name="loci")
    get_settings.cache_clear()
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: `loci {command}` works on the database itself, and LOCI_URL names a service")


def test_a_service_that_is_not_there_or_wants_a_key_is_one_line(
    loci: Loci, running: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCI_URL", "http://127.0.0.1:9")
    assert loci("recall", "x").stderr.startswith("error: no service answers at http://127.0.0.1:9")
    assert loci("watch").stderr.startswith("error: no service answers at http://127.0.0.1:9")
    monkeypatch.setenv("LOCI_URL", "127.0.0.1:8420")
    assert loci("recall", "x").stderr.startswith(
        "error: LOCI_URL is not the address of a service: '127.0.0.1:8420'\nhint: It begins with http"
    )
    monkeypatch.setenv("LOCI_URL", f"{running.url}/api/v1/")
    assert loci("memory", "list").exit_code == 0
    monkeypatch.setenv("LOCI_KEY", "loci_wrong")
    refused = loci("memory", "list")
    assert (refused.exit_code, "LOCI_KEY" in refused.stderr) == (1, True)


def test_a_key_acts_with_its_rights_over_a_service_and_over_a_database(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = json.loads(world.loci("key", "create", "--role", "reader", "--json").stdout)
    monkeypatch.setenv("LOCI_KEY", made["key"])
    assert world.loci("memory", "list").exit_code == 0
    refused = world.loci("remember", "x")
    assert (refused.exit_code, "writer" in refused.stderr) == (1, True)


def test_an_agent_is_known_by_its_name_where_one_has_it(world: World) -> None:
    name = f"agent{uuid4().hex[:8]}"
    for _ in range(2):
        assert world.loci("key", "create", "--name", name, "--json").exit_code == 0
        told = world.loci("operation", "list", "--agent", name, "--json")
        if told.exit_code == 0:
            assert json.loads(told.stdout) == []
    assert told.stderr.startswith(f"error: 2 agents are called {name!r}: ")
    assert "is called 'nobody-at-all'" in world.loci("grant", "set", "nobody-at-all").stderr


def test_a_memory_is_named_by_its_lineage_wherever_by_its_id(world: World) -> None:
    lineage = f"people/{uuid4().hex[:8]}"
    first, last = (world._made("memory", "add", f"{lineage} lives in {city}", "--lineage", lineage) for city in ("Oslo", "Porto"))

    def one(verb: str, *arguments: str) -> str:
        return world._made("memory", verb, lineage, *arguments)

    assert one("show") == one("change", "category=home") == one("forget") == one("restore") == last
    none = world.loci("memory", "restore", lineage)
    assert none.stderr.startswith(f"error: no version of lineage {lineage!r} is forgotten\n")
    assert one("forget") == last
    for verb in ("show", "change", "forget"):
        gone = world.loci("memory", verb, lineage, *(["category=work"] if verb == "change" else []))
        assert (gone.exit_code, "memory history" in gone.stderr) == (1, True), verb
    assert world._made("memory", "erase", lineage, "--versions", "this", "--yes", field="erased") == "1"
    assert json.loads(world.loci("memory", "history", lineage, "--json").stdout)[0]["id"] == first
    assert world._made("memory", "erase", lineage, "--yes", field="erased") == "1"
    for verb in ("show", "forget", "restore", "erase"):
        unknown = world.loci("memory", verb, lineage, *(["--yes"] if verb == "erase" else []))
        assert (unknown.exit_code, lineage in unknown.stderr) == (1, True), verb


def test_a_folder_and_an_export_go_to_a_service_and_come_back(world: World) -> None:
    notes = world.folder / "notes"
    (notes / "a").mkdir(parents=True)
    (notes / "a" / "tea.md").write_text("# Tea\n\nTea is [[green]].\n")
    here, copy = (json.loads(world.loci("namespace", "create", f"n{uuid4().hex[:8]}", "--json").stdout)["name"] for _ in range(2))
    done = json.loads(world.loci("import", str(notes), "-n", here, "--json").stdout)
    assert (done["format"], done["namespace"], done["written"]["memories"]) == ("obsidian", here, 1)
    target = world.folder / "out"
    assert (
        json.loads(world.loci("export", "-n", here, "--format", "markdown", "--to", str(target), "--json").stdout)["written"] == 1
    )
    again = json.loads(world.loci("import", str(target), "-n", here, "--json").stdout)
    assert (again["format"], again["there"]["memories"]) == ("markdown", 1)
    file = world.folder / "all.jsonl"
    assert world.loci("export", "-n", here, "-o", str(file)).exit_code == 0
    restored = json.loads(world.loci("import", str(file), "-n", copy, "--json").stdout)
    assert (restored["namespace"], restored["written"]["memory"]) == (copy, 1)


# Where siblings call the same thing otherwise, each command understands the other word too.
SAME = [("--output", "--to"), ("--k", "--limit"), ("--edge-type", "--type")]


@pytest.mark.parametrize(("name", "other"), SAME, ids=["/".join(pair) for pair in SAME])
def test_an_option_has_the_name_that_its_siblings_give_it_too(name: str, other: str) -> None:
    options = [{*option.opts} for command in COMMANDS.values() for option in command.params]
    assert [names for names in options if name in names] == [names for names in options if {name, other} <= names] != []


@pytest.mark.parametrize("option", ["--output", "-o", "--to"])
def test_an_export_is_written_to_the_file_that_any_name_of_the_option_names(world: World, option: str) -> None:
    file = world.folder / f"x{option}.jsonl"
    assert world.loci("export", option, str(file)).exit_code == 0
    assert json.loads(file.read_bytes().splitlines()[0])["kind"]
    refused = world.loci("export", option, str(world.folder))
    assert (refused.exit_code, "--format markdown" in refused.stderr) == (1, True)
    refused = world.loci("export", "--format", "markdown")
    assert (refused.exit_code, "--output" in refused.stderr) == (1, True)


def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    from service.cli.commands.transfer.folder import write_folder
    from service.cli.framework import Failure

    for path in ("../x.md", "/x.md", "a/../../x.md", "a\\..\\x.md", "x.sh"):
        line = json.dumps({"path": path, "text": "x"}).encode() + b"\n"
        with pytest.raises(Failure, match="outside"):
            write_folder(iter([line]), tmp_path / "in")
    assert [path.name for path in tmp_path.rglob("*")] == ["in"]


@pytest.mark.row("CLI")
def test_a_command_that_asks_a_service_loads_nothing_heavy(running: Service) -> None:
    program = """
import sys
from service.cli.main import app
app(["memory", "list", "--json"], standalone_mode=False)
print(*sorted(sys.modules), file=sys.stderr)
"""
    environment = {**os.environ, "LOCI_URL": running.url, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert isinstance(json.loads(done.stdout), list)
    heavy = {
        "fastapi",
        "starlette",
        "numpy",
        "sqlalchemy",
        "alembic",
        "psycopg",
        "pydantic_settings",
        "procrastinate",
        "mcp",
    }
    assert heavy & set(done.stderr.split()) == set()
    assert [name for name in done.stderr.split() if name.startswith(("db.", "loci.models.memories", "loci._methods"))] == []


@pytest.mark.row("CLI")
def test_the_settings_in_force_are_shown_with_their_sources_and_names_that_nobody_reads(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("LOCI_PORT=9000\nLOCI_EMBEDING__PROVIDER=none\nLOCI_KEY=loci_secret\n")
    monkeypatch.setenv("LOCI_LLM__API_KEY", "sk-secret")
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:secret@host/db")
    monkeypatch.setenv("LOCI_DATA_DIRR", "x")
    get_settings.cache_clear()
    result = loci("config", "--json")
    assert (result.exit_code, "secret" in result.output) == (0, False)
    said = json.loads(result.stdout)
    rows = {row["name"]: (row["value"], row["source"]) for row in said["settings"]}
    assert rows["LOCI_PORT"] == (9000, ".env")
    assert rows["LOCI_KEY"][1] == ".env"
    assert rows["LOCI_LLM__API_KEY"][1] == "environment"
    assert rows["DATABASE_URL"] == ("postgresql://me:********@host/db", "environment")
    assert rows["LOCI_HOST"] == ("127.0.0.1", "default")
    assert {row["name"]: row["nearest"] for row in said["unknown"]} == {
        "LOCI_DATA_DIRR": "LOCI_DATA_DIR",
        "LOCI_EMBEDING__PROVIDER": "LOCI_EMBEDDING__PROVIDER",
    }
    told = loci("config")
    assert "LOCI_DATA_DIRR (environment); did you mean LOCI_DATA_DIR?" in told.stderr
    shown = {words[0]: words[1] for words in map(str.split, told.stdout.splitlines())}
    assert (shown["LOCI_PORT"], shown["LOCI_READ_WAIT"]) == ("9000", "0.05")  # as they are written there
    assert {"LOCI_URL", "LOCI_LIMITS__PACE", "LOCI_EMBEDDING"} <= known_names()


def test_a_command_whose_reader_has_left_ends_without_a_word(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    command = [sys.executable, "-m", "service.cli", "config"]
    done = subprocess.run(command, check=False, env=environment, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_doctor_keeps_its_verdict_at_any_width(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from db.health import Check

    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.delenv("NO_COLOR", raising=False)
    checks = [Check("database", True, "x" * 500), Check("role", False, "is a superuser")]
    _tell_checks(checks)
    plain = capsys.readouterr().out.splitlines()
    assert (plain[0].split()[:2], plain[1]) == (["ok", "database:"], "WRONG role: is a superuser")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    _tell_checks(checks)
    coloured = capsys.readouterr().out.splitlines()
    assert (coloured[1].startswith("\x1b["), "WRONG" in coloured[1]) == (True, True)
    monkeypatch.setenv("NO_COLOR", "1")
    _tell_checks(checks)
    assert capsys.readouterr().out.splitlines() == plain


def test_a_shell_can_complete_commands() -> None:
    asked = {"_LOCI_COMPLETE": "complete_bash", "COMP_WORDS": "loci mem", "COMP_CWORD": "1"}
    said = CliRunner().invoke(app, [], prog_name="loci", env=asked)
    assert said.stdout.split() == ["memory"]


def test_loading_a_command_pauses_the_garbage_collector_and_freezes_its_modules() -> None:
    within = "import gc; from service.cli.loading import pause_garbage_collector\nwith pause_garbage_collector(): import uuid; resting = not gc.isenabled()"
    told = "print(resting, gc.isenabled(), gc.get_freeze_count() > 0)"
    said = subprocess.run(
        [sys.executable, "-c", f"{within}\n{told}"],
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == ["True", "True", "True"]
