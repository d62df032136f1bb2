"""`loci connect`: memory for the agent that one has, by its program's configuration. `loci hook`: what that program then runs."""

import difflib
import json
import shutil
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from service.cli.framework import Failure, Namespace, Yes, confirm_or_exit, message_printer, tell_result
from service.cli.output import echo, print_rows
from service.cli.service_address import base_url, find_stated_value
from service.connect.address import ADDRESS_FILE, Address, usual_url
from service.connect.config_edits import Edit, file_edit, has_server, hooks_edit, server_edit
from service.connect.config_files import Change, apply_change, apply_undo, plan_change, plan_undo
from service.connect.hooks.redaction import redact_secrets
from service.connect.programs import PROGRAMS, Program, hook_command
from service.connect.user_folders import UserFolders

PLAIN = ("LOCI_URL", "LOCI_NAMESPACE", "LOCI_USER", "LOCI_SPACE")
SECRET = ("LOCI_KEY", "DATABASE_URL")
HIDDEN = "********"


def connect(
    program: Annotated[str | None, typer.Argument(metavar="PROGRAM", help="Whose configuration; none: list the programs.")] = None,
    project: Annotated[bool, typer.Option("--project", help="For the project in this folder, not for all of the user's.")] = False,
    http: Annotated[bool, typer.Option("--http", help="Let the program ask the running service, and start none.")] = False,
    hooks: Annotated[
        bool, typer.Option("--hooks/--no-hooks", help="Bring context in and take conversations, where the program has hooks.")
    ] = True,
    namespace: Namespace = None,
    print_: Annotated[bool, typer.Option("--print", help="Show what would change, and write nothing.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Give the files back as they were.")] = False,
    yes: Yes = False,
) -> None:
    """Give memory to a program: Claude Code, Codex, Cursor and others.

    It shows what it changes in the program's configuration, asks, and keeps a copy. LOCI_URL, LOCI_KEY, LOCI_NAMESPACE,
    LOCI_USER and the database that are set here go in. A key never goes into a project's file.
    """
    places = UserFolders()
    if program is None:
        _tell_programs(places)
        return
    known = _find_program(program)
    edits = _plan_edits(known, places, project=project, http=http, hooks=hooks, namespace=namespace)
    changes = [plan_undo(edit, places.state_folder) if undo else plan_change(edit) for edit in edits]
    shown = [_diff_without_secrets(change) for change in changes]
    rows = [
        {"path": str(change.path), "change": _name_kind_of_change(change), "diff": text}
        for change, text in zip(changes, shown, strict=True)
    ]
    due = [change for change in changes if change.before != change.after]
    if print_ or not due:
        tell_result(rows, lambda: echo("\n".join(shown).strip() or "nothing to change: it is so already"))
        return
    echo("\n".join(shown).strip(), err=True)
    confirm_or_exit(f"Write {'these files' if len(due) > 1 else 'this file'}?", yes=yes)
    copies = [_write_change(change, places, undo=undo, private=not project) for change in due]
    tell_result(rows, message_printer("\n".join([*filter(None, copies), *([] if undo else [f"{known.title}: {known.then}"])])))


def _find_program(name: str) -> Program:
    """The program of this name. Raises BadParameter."""
    if name not in PROGRAMS:
        near = get_close_matches(name, PROGRAMS, 1)
        raise typer.BadParameter(
            f"{name!r} is none of {', '.join(PROGRAMS)}" + (f". Did you mean {near[0]}?" if near else ""), param_hint="PROGRAM"
        )
    return PROGRAMS[name]


def _write_change(change: Change, places: UserFolders, *, undo: bool, private: bool) -> str | None:
    """Write a file, and say where its copy is."""
    if undo:
        apply_undo(change, places.state_folder)
        return None
    copied = apply_change(change, places.state_folder, private=private)
    return f"{change.path} as it was: {copied}" if copied else None


def _tell_programs(places: UserFolders) -> None:
    """The programs, their files, and whether these name Loci."""
    rows: list[dict[str, Any]] = [
        {"program": name, "title": each.title, "file": str(each.user(places)), "connected": has_server(each.user(places), each)}
        for name, each in PROGRAMS.items()
    ]
    tell_result(rows, lambda: print_rows(("program", "connected", "file"), rows))


def _plan_edits(
    program: Program, places: UserFolders, *, project: bool, http: bool, hooks: bool, namespace: str | None
) -> list[Edit]:
    """Changes, by file. Raises Failure for what the program has not."""
    if project and program.project is None:
        raise Failure(f"{program.title} has no servers of a project", "Leave --project out.")
    if http and program.remote is None:
        raise Failure(f"{program.title} starts its servers, and takes no address of one in its file", "Leave --http out.")
    path = Path.cwd() / program.project if project and program.project else program.user(places)
    environment = _server_environment(namespace)
    secrets = [name for name in SECRET if name in environment]
    if project and secrets:
        if http:
            raise Failure("a key does not go into a project's file", "Leave --project or LOCI_KEY out.")
        environment = {name: value for name, value in environment.items() if name not in secrets}
        names = " and ".join(secrets)
        echo(f"note: {names} must be set where {program.title} is started: a project's file has no secrets", err=True)
    url = base_url(environment.get("LOCI_URL") or usual_url(places))
    entry = (
        program.remote_entry(f"{url}/mcp", _make_headers(environment))
        if http
        else program.started_entry([*_find_loci_command(), "mcp"], environment)
    )
    edits = [server_edit(path, program, entry)]
    if hooks and program.hooks is not None:
        user, inner = program.hooks
        edits.append(hooks_edit(Path.cwd() / inner if project else user(places), hook_command(_find_loci_command(), places.system)))
        if not project:
            address = Address(url, *(environment.get(name) for name in ("LOCI_KEY", "LOCI_NAMESPACE", "LOCI_USER")))
            edits.append(file_edit(places.state_folder / ADDRESS_FILE, address.format_note()))
    return edits


def _server_environment(namespace: str | None) -> dict[str, str]:
    """The server's environment: what is set here. A folder is named from anywhere."""
    found = {name: value for name in (*PLAIN, *SECRET) if (value := find_stated_value(name))}
    if namespace:
        found["LOCI_NAMESPACE"] = namespace
    if folder := find_stated_value("LOCI_DATA_DIR"):
        found["LOCI_DATA_DIR"] = str(Path(folder).expanduser().absolute())
    if "LOCI_URL" in found:  # the service has the database
        found = {name: value for name, value in found.items() if name not in {"DATABASE_URL", "LOCI_DATA_DIR"}}
    return found


def _make_headers(environment: dict[str, str]) -> dict[str, str]:
    key = environment.get("LOCI_KEY")
    names = {"X-Namespace": "LOCI_NAMESPACE", "X-User": "LOCI_USER", "X-Space": "LOCI_SPACE"}
    sent = {header: environment[name] for header, name in names.items() if name in environment}
    return {**({"Authorization": f"Bearer {key}"} if key else {}), **sent}


def _find_loci_command() -> list[str]:
    """The program that starts `loci`: the one that runs now, else the one beside this Python, else the one on the path."""
    beside = Path(sys.executable).with_name("loci.exe" if sys.platform == "win32" else "loci")
    running = Path(sys.argv[0]).absolute()
    for path in (running if running.stem == "loci" else beside, beside):
        if path.is_file():
            return [str(path)]
    found = shutil.which("loci")
    return [found] if found else [sys.executable, "-m", "service.cli"]


def _name_kind_of_change(change: Change) -> str:
    if change.before == change.after:
        return "none"
    return "create" if change.before is None else "remove" if change.after is None else "edit"


def _diff_without_secrets(change: Change) -> str:
    """Changes line by line, without secrets."""
    sides = (change.before, change.after)
    before, after = ((side or b"").decode(errors="replace").splitlines() for side in sides)
    was, becomes = (str(change.path) if side is not None else "/dev/null" for side in sides)
    text = "\n".join(difflib.unified_diff(before, after, was, becomes, lineterm=""))
    for secret in filter(None, map(find_stated_value, SECRET)):
        text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], HIDDEN)
    return redact_secrets(text)  # other servers have some, too


def hook(
    program: Annotated[Literal["claude-code"], typer.Argument(metavar="PROGRAM", help="Whose hook it is.")],
) -> None:
    """Run as a program's hook: its JSON on stdin, context on stdout.

    `loci connect claude-code` puts it where the program runs it. It always ends with 0; its log says what was wrong.
    """
    del program  # one is known
    from service.connect.hooks.claude_code import main

    main()
