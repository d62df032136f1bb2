"""The programs that `loci connect` knows: where each keeps its MCP servers, and in which form, as its documentation says."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.connect.user_folders import WINDOWS, UserFolders

NAME = "loci"  # under which the server stands
HOOK_EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
HOOK = "hook claude-code"
HOOK_SECONDS = 5  # after which the program gives a hook up, which ends long before
Json = dict[str, Any]


@dataclass(frozen=True)
class Remote:
    """How a program states a server at an address: the names of the fields, and what stands beside them."""

    url: str
    headers: str = "headers"
    beside: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A program. `servers` is the name of its list; `project` its file in a project, if it has one; `remote` None: commands alone.

    `hooks` are its files of hooks, for the user and in a project.
    """

    title: str
    servers: str
    user: Callable[[UserFolders], Path]
    project: str | None = None
    remote: Remote | None = None
    beside: Mapping[str, str] = field(default_factory=dict)
    hooks: tuple[Callable[[UserFolders], Path], str] | None = None
    then: str = "Restart it, and ask it what it remembers."

    def started_entry(self, command: list[str], environment: Mapping[str, str]) -> Json:
        """The entry of a server that the program starts."""
        stated = {"env": dict(environment)} if environment else {}
        return {**self.beside, "command": command[0], "args": command[1:], **stated}

    def remote_entry(self, url: str, headers: Mapping[str, str]) -> Json:
        """The entry of a server at an address."""
        assert self.remote is not None  # noqa: S101 (whoever calls has asked)
        stated = {self.remote.headers: dict(headers)} if headers else {}
        return {**self.remote.beside, self.remote.url: url, **stated}


def _claude_path(places: UserFolders) -> Path:
    return places.find_folder("CLAUDE_CONFIG_DIR", ".claude")


def _claude_servers(places: UserFolders) -> Path:
    """In the home folder, unless a variable moves the whole configuration."""
    moved = _claude_path(places)
    return moved / ".claude.json" if moved != places.home / ".claude" else places.home / ".claude.json"


def _zed_path(places: UserFolders) -> Path:
    return (places.application_data / "Zed" if places.system == WINDOWS else places.xdg_config / "zed") / "settings.json"


PROGRAMS: dict[str, Program] = {
    "claude-code": Program(
        "Claude Code", "mcpServers", _claude_servers, ".mcp.json", Remote("url", beside={"type": "http"}),
        hooks=(lambda places: _claude_path(places) / "settings.json", ".claude/settings.local.json"),
        then="Start it anew; /mcp and /hooks show what it has read.",
    ),
    "claude-desktop": Program(
        "Claude Desktop", "mcpServers", lambda places: places.application_data / "Claude" / "claude_desktop_config.json"
    ),
    "codex": Program(
        "Codex", "mcp_servers", lambda places: places.find_folder("CODEX_HOME", ".codex") / "config.toml", ".codex/config.toml",
        Remote("url", "http_headers"), then="Start it anew; /mcp shows the server. Of projects it reads trusted ones.",
    ),
    "cursor": Program(
        "Cursor", "mcpServers", lambda places: places.home / ".cursor" / "mcp.json", ".cursor/mcp.json", Remote("url")
    ),
    "vscode": Program(
        "VS Code", "servers", lambda places: places.application_data / "Code" / "User" / "mcp.json", ".vscode/mcp.json",
        Remote("url", beside={"type": "http"}), {"type": "stdio"}, then="Run `MCP: List Servers` in it, and start loci.",
    ),
    "gemini-cli": Program(
        "Gemini CLI", "mcpServers", lambda places: places.home / ".gemini" / "settings.json", ".gemini/settings.json",
        Remote("httpUrl"), then="Start it anew; /mcp shows the server.",
    ),
    "windsurf": Program(
        "Windsurf", "mcpServers", lambda places: places.home / ".codeium" / "windsurf" / "mcp_config.json",
        remote=Remote("serverUrl"), then="Press refresh where it lists its MCP servers.",
    ),
    "zed": Program("Zed", "context_servers", _zed_path, remote=Remote("url"), then="The agent panel's settings show the server."),
}  # fmt: skip


def hook_command(command: list[str], system: str) -> str:
    """The line of a shell that runs the hook."""
    words = [*command, *HOOK.split()]
    if system != WINDOWS:
        return shlex.join(words)
    return " ".join(f'"{word}"' if " " in word else word for word in (word.replace("\\", "/") for word in words))


def hook_entry(line: str) -> Json:
    """Entries in the list of an event."""
    return {"hooks": [{"type": "command", "command": line, "timeout": HOOK_SECONDS}]}


def is_hook(entry: object) -> bool:
    """Whether an item of an event's list is ours."""
    inner = entry.get("hooks") if isinstance(entry, dict) else None
    lines = [each.get("command") for each in inner if isinstance(each, dict)] if isinstance(inner, list) else []
    return any(isinstance(line, str) and "loci" in line and line.endswith(HOOK) for line in lines)
