"""`loci connect` puts Loci into the configuration of a program, shows and keeps what was there, and gives it back."""

import json
import os
import stat
import sys
import tomllib
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from service.cli.commands import connect as commands
from service.cli.main import app
from service.cli.service_address import NAMES
from service.connect import config_files, jsonc
from service.connect.address import Address, find_address
from service.connect.programs import HOOK_EVENTS, PROGRAMS, hook_command, is_hook
from service.connect.user_folders import UserFolders

pytestmark = pytest.mark.row("CLI")

URL, KEY = "http://127.0.0.1:8421", "loci_key_of_this_test"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="rights and links of POSIX")
# What each program documents, with another server in it.
SAMPLES = {
    "claude-code": '{\n  "numStartups": 3,\n  "mcpServers": {\n    "github": {"type": "http", "url": "https://example.com/mcp"}\n  }\n}\n',
    "claude-desktop": '{\n  "mcpServers": {\n    "files": {\n      "command": "npx",\n      "args": ["-y", "files", "/tmp"]\n    }\n  }\n}\n',
    "codex": 'model = "gpt-5"  # the usual\n\n[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y", "docs"]\n\n[mcp_servers.docs.env]\nA = "b"\n',
    "cursor": '{\n  "mcpServers": {\n    "docs": {"url": "https://example.com/mcp", "headers": {"X": "y"}}\n  }\n}\n',
    "vscode": '{\n\t// of the team\n\t"inputs": [],\n\t"servers": {\n\t\t"docs": {"type": "stdio", "command": "npx"}, // by npm\n\t}\n}\n',
    "gemini-cli": '{\n  "theme": "GitHub",\n  "mcpServers": {"docs": {"httpUrl": "https://example.com/mcp"}}\n}\n',
    "windsurf": '{\n  "mcpServers": {\n    "docs": {"serverUrl": "https://example.com/mcp"}\n  }\n}\n',
    "zed": '// Zed settings\n{\n  "theme": "One Dark", // dark\n  "context_servers": {\n    "docs": {"command": "npx", "args": [], "env": {}},\n  },\n}\n',
}
STARTED = {"vscode": {"type": "stdio"}}
REACHED: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "http", "url": f"{URL}/mcp", "headers": {"Authorization": f"Bearer {KEY}"}},
    "codex": {"url": f"{URL}/mcp", "http_headers": {"Authorization": f"Bearer {KEY}"}},
    "cursor": {"url": f"{URL}/mcp", "headers": {"Authorization": f"Bearer {KEY}"}},
    "vscode": {"type": "http", "url": f"{URL}/mcp", "headers": {"Authorization": f"Bearer {KEY}"}},
    "gemini-cli": {"httpUrl": f"{URL}/mcp", "headers": {"Authorization": f"Bearer {KEY}"}},
    "windsurf": {"serverUrl": f"{URL}/mcp", "headers": {"Authorization": f"Bearer {KEY}"}},
    "zed": {"url": f"{URL}/mcp", "headers": {"Authorization": f"Bearer {KEY}"}},
}
PROJECTS = [name for name, program in PROGRAMS.items() if program.project]


class Machine:
    """The command line in a home folder of its own, and a project."""

    def __init__(self, home: Path) -> None:
        self.places = UserFolders(home=home)
        self.project = home / "rocket"

    def __call__(self, *arguments: str, input: str | None = None) -> Result:
        return CliRunner().invoke(app, ["connect", *arguments], input=input, prog_name="loci")

    def file(self, program: str, *, project: bool = False) -> Path:
        known = PROGRAMS[program]
        return self.project / str(known.project) if project else known.user(self.places)

    def has(self, program: str, text: str | bytes, *, project: bool = False) -> Path:
        path = self.file(program, project=project)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def tree(self) -> dict[str, bytes]:
        """Every file of the home folder, but for the copies."""
        found = [
            path
            for path in self.places.home.rglob("*")
            if path.is_file() and not path.is_relative_to(self.places.state_folder / "connect")
        ]
        return {str(path): path.read_bytes() for path in found}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    for name in (*NAMES, "DATABASE_URL", "LOCI_DATA_DIR", "LOCI_PORT", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    made = Machine(tmp_path)
    made.project.mkdir()
    monkeypatch.chdir(made.project)
    return made


def data_of(path: Path) -> Any:
    text = path.read_text()
    if path.suffix == ".toml":
        return tomllib.loads(text)
    node = jsonc.parse_value(text)
    assert node is not None
    return node.value


def entry_of(program: str, path: Path) -> Any:
    return data_of(path)[PROGRAMS[program].servers]["loci"]


def test_each_program_has_a_sample() -> None:
    assert set(PROGRAMS) == set(SAMPLES)


def test_a_program_that_is_not_known_is_wrong_usage_with_the_nearest(machine: Machine) -> None:
    refused = machine("claudecode")
    assert (refused.exit_code, "Did you mean claude-code?" in " ".join(refused.stderr.split())) == (2, True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_fresh_file_names_the_program_that_runs_from_anywhere(machine: Machine, program: str) -> None:
    done = machine(program, "--yes", "--no-hooks")
    assert done.exit_code == 0, done.output
    entry = entry_of(program, machine.file(program))
    assert entry == {**STARTED.get(program, {}), "command": entry["command"], "args": ["mcp"]}
    assert Path(entry["command"]).is_absolute()
    assert Path(entry["command"]).is_file()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_file_keeps_comments_and_other_servers_and_comes_back_byte_for_byte(machine: Machine, program: str) -> None:
    path = machine.has(program, SAMPLES[program])
    before, tree = data_of(path), machine.tree()
    assert machine(program, "--yes").exit_code == 0
    after = data_of(path)
    assert after[PROGRAMS[program].servers].pop("loci")["args"] == ["mcp"]
    assert after == before
    kept = [line for line in SAMPLES[program].splitlines() if line.strip(" \t}],") and line not in path.read_text()]
    assert [line for line in kept if f"{line}," not in path.read_text() and "httpUrl" not in line] == []
    assert machine(program, "--undo", "--yes").exit_code == 0
    assert machine.tree() == tree


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_second_run_changes_nothing(machine: Machine, program: str) -> None:
    machine.has(program, SAMPLES[program])
    machine(program, "--yes")
    tree = machine.tree()
    again = machine(program)
    assert (again.exit_code, again.stdout) == (0, "nothing to change: it is so already\n")
    assert machine.tree() == tree
    assert json.loads(machine(program, "--json").stdout)[0]["change"] == "none"


@pytest.mark.parametrize("program", PROGRAMS)
def test_undo_of_a_fresh_file_takes_it_away(machine: Machine, program: str) -> None:
    machine(program, "--yes")
    assert machine(program, "--undo", "--yes").exit_code == 0
    assert machine.tree() == {}


@pytest.mark.parametrize("program", PROGRAMS)
def test_undo_keeps_what_was_changed_since_and_takes_out_what_was_put_in(machine: Machine, program: str) -> None:
    path = machine.has(program, SAMPLES[program])
    machine(program, "--yes", "--no-hooks")
    more = "\n# more\n" if path.suffix == ".toml" else "\n// more\n"
    path.write_text(path.read_text() + more)
    assert machine(program, "--undo", "--yes", "--no-hooks").exit_code == 0
    assert more.strip() in path.read_text()
    text = SAMPLES[program]
    assert data_of(path) == (tomllib.loads(text) if path.suffix == ".toml" else jsonc.parse_value(text).value)  # type: ignore[union-attr]


def test_undo_after_two_connections_gives_back_what_was_before_the_first(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = machine.has("cursor", SAMPLES["cursor"])
    machine("cursor", "--yes")
    monkeypatch.setenv("LOCI_URL", URL)
    machine("cursor", "--yes")
    assert entry_of("cursor", path)["env"] == {"LOCI_URL": URL}
    machine("cursor", "--undo", "--yes")
    assert path.read_text() == SAMPLES["cursor"]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("text", [b'{"mcpServers": ', b"[mcp_servers", b'{"a": "\xff"}', b"[1, 2]", b'"text"'])
def test_a_file_that_cannot_be_read_is_refused_by_name_and_stays(machine: Machine, program: str, text: bytes) -> None:
    path = machine.has(program, text)
    refused = machine(program, "--yes", "--no-hooks")
    assert refused.exit_code == 1
    assert f"error: {path} cannot be edited: " in refused.stderr
    assert machine.tree() == {str(path): text}


@pytest.mark.parametrize("program", REACHED)
def test_over_http_the_entry_has_the_address_and_the_key(machine: Machine, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_URL", f"{URL}/")
    monkeypatch.setenv("LOCI_KEY", KEY)
    done = machine(program, "--http", "--yes")
    assert done.exit_code == 0, done.output
    assert entry_of(program, machine.file(program)) == REACHED[program]
    assert KEY not in done.output


def test_a_program_that_takes_no_address_says_so(machine: Machine) -> None:
    assert set(PROGRAMS) - set(REACHED) == {"claude-desktop"}
    refused = machine("claude-desktop", "--http")
    assert (refused.exit_code, "takes no address" in refused.stderr) == (1, True)


def test_settings_of_the_shell_are_told_to_the_server(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_DATA_DIR", "data")
    monkeypatch.setenv("LOCI_USER", "rosa")
    assert machine("codex", "--yes", "-n", "team").exit_code == 0
    told = {"LOCI_USER": "rosa", "LOCI_NAMESPACE": "team", "LOCI_DATA_DIR": str(machine.project / "data")}
    assert entry_of("codex", machine.file("codex"))["env"] == told


@pytest.mark.parametrize("program", PROJECTS)
def test_a_project_has_its_own_file_without_a_key(machine: Machine, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_URL", URL)
    monkeypatch.setenv("LOCI_KEY", KEY)
    done = machine(program, "--project", "--yes")
    assert "LOCI_KEY must be set where" in done.stderr
    assert entry_of(program, machine.file(program, project=True))["env"] == {"LOCI_URL": URL}
    assert not machine.file(program).exists()
    assert [path for path, content in machine.tree().items() if KEY.encode() in content] == []
    refused = machine(program, "--project", "--http")
    assert (refused.exit_code, "a key does not go into a project's file" in refused.stderr) == (1, True)


@pytest.mark.parametrize("program", [name for name in PROGRAMS if name not in PROJECTS])
def test_a_program_without_files_of_projects_says_so(machine: Machine, program: str) -> None:
    refused = machine(program, "--project")
    assert (refused.exit_code, "has no servers of a project" in refused.stderr) == (1, True)


def test_it_shows_the_change_and_asks(machine: Machine) -> None:
    path = machine.has("zed", SAMPLES["zed"])
    refused = machine("zed", input="n\n")
    assert refused.exit_code == 1
    assert f"+++ {path}" in refused.stderr
    assert '+    "loci": {' in refused.stderr
    assert path.read_text() == SAMPLES["zed"]
    assert machine("zed", input="y\n").exit_code == 0
    assert "loci" in path.read_text()


def test_print_writes_nothing_and_shows_no_secret(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "theirs-of-another-server"
    text = SAMPLES["cursor"].replace('{"X": "y"}', f'{{"API_KEY": "{other}"}}')
    path = machine.has("cursor", text)
    monkeypatch.setenv("LOCI_KEY", KEY)
    shown = machine("cursor", "--print")
    assert "LOCI_KEY" in shown.stdout
    assert KEY not in shown.output
    assert other not in shown.output
    assert machine.tree() == {str(path): text.encode()}
    assert KEY not in machine("cursor", "--print", "--json").output


def test_without_a_program_it_lists_them(machine: Machine) -> None:
    machine("codex", "--yes")
    rows = {row["program"]: row for row in json.loads(machine("--json").stdout)}
    assert set(rows) == set(PROGRAMS)
    assert [name for name, row in rows.items() if row["connected"]] == ["codex"]
    assert rows["codex"]["file"] == str(machine.file("codex"))


def test_the_copy_is_where_it_says(machine: Machine) -> None:
    machine.has("gemini-cli", SAMPLES["gemini-cli"])
    done = machine("gemini-cli", "--yes")
    copy = done.stderr.split("as it was: ")[1].splitlines()[0]
    assert Path(copy).read_text() == SAMPLES["gemini-cli"]


@POSIX
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_rights_of_a_file_stay(machine: Machine, mode: int) -> None:
    path = machine.has("cursor", SAMPLES["cursor"])
    path.chmod(mode)
    for arguments in ([], ["--undo"]):
        machine("cursor", "--yes", *arguments)
        assert stat.S_IMODE(path.stat().st_mode) == mode


@POSIX
def test_a_new_file_of_the_user_and_all_copies_are_the_users_alone(machine: Machine) -> None:
    machine.has("codex", SAMPLES["codex"])
    machine("claude-code", "--yes")
    machine("codex", "--yes")
    made = [
        machine.file("claude-code"),
        machine.places.state_folder / "service.json",
        *(machine.places.state_folder / "connect").iterdir(),
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}


@POSIX
@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_leads_to_the_edited_file(machine: Machine, there: bool) -> None:
    real = machine.places.home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    path = machine.file("cursor")
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    if there:
        real.write_text(SAMPLES["cursor"])
    machine("cursor", "--yes")
    assert path.is_symlink()
    assert entry_of("cursor", real)["args"] == ["mcp"]
    machine("cursor", "--undo", "--yes")
    assert path.is_symlink()
    assert real.exists() is there


def test_a_file_that_changes_while_it_asks_is_left_alone(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = machine.has("cursor", SAMPLES["cursor"])
    monkeypatch.setattr(commands, "confirm_or_exit", lambda *_, **__: path.write_text('{"theirs": 1}'))
    refused = machine("cursor")
    assert (refused.exit_code, "has changed meanwhile" in refused.stderr) == (1, True)
    assert path.read_text() == '{"theirs": 1}'


def test_a_write_that_fails_leaves_the_file_whole(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = machine.has("cursor", SAMPLES["cursor"])
    whole = config_files._replace_file

    def full(target: Path, content: bytes, mode: int | None) -> None:
        if target == path:
            monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        whole(target, content, mode)

    monkeypatch.setattr(config_files, "_replace_file", full)
    refused = machine("cursor", "--yes")
    assert (refused.exit_code, "No space left" in refused.stderr) == (1, True)
    assert machine.tree() == {str(path): SAMPLES["cursor"].encode()}


# Hooks of Claude Code


def test_claude_code_gets_a_hook_for_each_moment_and_keeps_others(machine: Machine) -> None:
    path = machine.places.home / ".claude" / "settings.json"
    path.parent.mkdir()
    text = '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"type": "command", "command": "say done"}]}\n    ]\n  }\n}\n'
    path.write_text(text)
    assert machine("claude-code", "--yes").exit_code == 0
    hooks = data_of(path)["hooks"]
    assert set(hooks) == set(HOOK_EVENTS)
    ours = [[item for item in hooks[event] if is_hook(item)] for event in HOOK_EVENTS]
    assert all(len(items) == 1 for items in ours)
    assert ours[0][0]["hooks"][0]["command"].endswith("loci hook claude-code")
    assert hooks["Stop"][0] == {"hooks": [{"type": "command", "command": "say done"}]}
    machine("claude-code", "--undo", "--yes")
    assert path.read_text() == text


def test_hooks_taken_out_of_a_changed_file_leave_those_of_others(machine: Machine) -> None:
    machine("claude-code", "--yes")
    path = machine.places.home / ".claude" / "settings.json"
    theirs = {"hooks": [{"type": "command", "command": "say done"}]}
    path.write_text(jsonc.append_item(path.read_text(), ("hooks", "Stop"), theirs))
    machine("claude-code", "--undo", "--yes")
    assert {event: items for event, items in data_of(path)["hooks"].items() if items} == {"Stop": [theirs]}


def test_without_hooks_none_are_written(machine: Machine) -> None:
    machine("claude-code", "--yes", "--no-hooks")
    assert list(machine.tree()) == [str(machine.file("claude-code"))]


def test_hooks_of_a_project_stay_out_of_what_is_committed(machine: Machine) -> None:
    machine("claude-code", "--project", "--yes")
    assert {str(Path(path).relative_to(machine.project)) for path in machine.tree()} == {".mcp.json", ".claude/settings.local.json"}


def test_hooks_find_the_service_that_was_connected(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_URL", URL)
    monkeypatch.setenv("LOCI_KEY", KEY)
    machine("claude-code", "--yes")
    assert find_address(UserFolders(home=machine.places.home, environment={})) == Address(URL, KEY)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Address(URL, KEY, "noted")),
        ({"LOCI_NAMESPACE": "other"}, Address(URL, KEY, "other")),
        ({"LOCI_URL": "http://elsewhere/mcp"}, Address("http://elsewhere")),
        ({"LOCI_URL": "http://elsewhere", "LOCI_KEY": "theirs"}, Address("http://elsewhere", "theirs")),
        ({"LOCI_KEY": "for-no-service-that-was-named"}, Address(URL, KEY, "noted")),
    ],
)
def test_a_key_goes_to_the_service_that_it_was_stated_with(tmp_path: Path, environment: dict[str, str], expected: Address) -> None:
    places = UserFolders(home=tmp_path, environment=environment)
    places.state_folder.mkdir(parents=True)
    (places.state_folder / "service.json").write_text(Address(URL, KEY, "noted").format_note())
    assert find_address(places) == expected


@pytest.mark.parametrize("noted", ["", "[]", "{", '{"url": 1}'])
def test_a_note_that_is_rubbish_counts_as_none(tmp_path: Path, noted: str) -> None:
    places = UserFolders(home=tmp_path, environment={"LOCI_PORT": "9000", "LOCI_KEY": KEY})
    places.state_folder.mkdir(parents=True)
    (places.state_folder / "service.json").write_text(noted)
    assert find_address(places) == Address("http://127.0.0.1:9000")


# Where each program keeps its file

FILES = {
    ("claude-code", "linux"): "/home/ann/.claude.json",
    ("claude-code", "darwin"): "/home/ann/.claude.json",
    ("claude-code", "win32"): "/home/ann/.claude.json",
    ("claude-desktop", "linux"): "/home/ann/.config/Claude/claude_desktop_config.json",
    ("claude-desktop", "darwin"): "/home/ann/Library/Application Support/Claude/claude_desktop_config.json",
    ("claude-desktop", "win32"): "/home/ann/AppData/Roaming/Claude/claude_desktop_config.json",
    ("codex", "linux"): "/home/ann/.codex/config.toml",
    ("codex", "darwin"): "/home/ann/.codex/config.toml",
    ("codex", "win32"): "/home/ann/.codex/config.toml",
    ("cursor", "linux"): "/home/ann/.cursor/mcp.json",
    ("cursor", "darwin"): "/home/ann/.cursor/mcp.json",
    ("cursor", "win32"): "/home/ann/.cursor/mcp.json",
    ("vscode", "linux"): "/home/ann/.config/Code/User/mcp.json",
    ("vscode", "darwin"): "/home/ann/Library/Application Support/Code/User/mcp.json",
    ("vscode", "win32"): "/home/ann/AppData/Roaming/Code/User/mcp.json",
    ("gemini-cli", "linux"): "/home/ann/.gemini/settings.json",
    ("gemini-cli", "darwin"): "/home/ann/.gemini/settings.json",
    ("gemini-cli", "win32"): "/home/ann/.gemini/settings.json",
    ("windsurf", "linux"): "/home/ann/.codeium/windsurf/mcp_config.json",
    ("windsurf", "darwin"): "/home/ann/.codeium/windsurf/mcp_config.json",
    ("windsurf", "win32"): "/home/ann/.codeium/windsurf/mcp_config.json",
    ("zed", "linux"): "/home/ann/.config/zed/settings.json",
    ("zed", "darwin"): "/home/ann/.config/zed/settings.json",
    ("zed", "win32"): "/home/ann/AppData/Roaming/Zed/settings.json",
}


@pytest.mark.parametrize(("program", "system"), FILES)
def test_a_file_is_where_the_program_documents_it(program: str, system: str) -> None:
    places = UserFolders(system, Path("/home/ann"), {})
    assert PROGRAMS[program].user(places).as_posix() == FILES[program, system]


@pytest.mark.parametrize(
    ("program", "environment", "expected"),
    [
        ("claude-code", {"CLAUDE_CONFIG_DIR": "/conf"}, "/conf/.claude.json"),
        ("codex", {"CODEX_HOME": "/conf"}, "/conf/config.toml"),
        ("zed", {"XDG_CONFIG_HOME": "/conf"}, "/conf/zed/settings.json"),
        ("vscode", {"XDG_CONFIG_HOME": "conf"}, "/home/ann/.config/Code/User/mcp.json"),
    ],
)
def test_variables_of_programs_move_their_files(program: str, environment: dict[str, str], expected: str) -> None:
    assert PROGRAMS[program].user(UserFolders("linux", Path("/home/ann"), environment)).as_posix() == expected


@pytest.mark.parametrize(
    ("system", "command", "line"),
    [
        ("linux", str(PurePosixPath("/opt/my loci/bin/loci")), "'/opt/my loci/bin/loci' hook claude-code"),
        ("darwin", "/opt/loci/bin/loci", "/opt/loci/bin/loci hook claude-code"),
        ("win32", str(PureWindowsPath("C:/Program Files/loci.exe")), '"C:/Program Files/loci.exe" hook claude-code'),
    ],
)
def test_a_hook_is_a_line_of_the_systems_shell(system: str, command: str, line: str) -> None:
    assert hook_command([command], system) == line
