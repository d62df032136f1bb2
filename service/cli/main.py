"""The command line `loci`: commands on nouns (`loci memory list`), and verbs for what is done most.

A command is loaded when it is called, and imports what it needs when it runs, so that those that ask a service stay quick.
"""

import signal
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.main import get_command, get_group_from_info
from typer.models import TyperInfo

from service.cli.framework import App, Commands, quiet_libraries, set_json
from service.cli.loading import pause_garbage_collector
from service.cli.output import echo, set_utc


class Source(NamedTuple):
    """Where a command is defined, or a noun with its commands, and how it is registered."""

    place: str
    options: dict[str, Any] = {}  # noqa: RUF012 (nobody changes it)


SILENT = {"json": False}  # it runs, and prints no data of its own
FOR_PSQL = {**SILENT, "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}}
COMMANDS: dict[str, Source] = {
    "remember": Source("service.cli.commands.memories:add"),
    "recall": Source("service.cli.commands.recall:recall"),
    "tune": Source("service.cli.commands.recall:tune"),
    "context": Source("service.cli.commands.sessions:show_context"),
    "retain": Source("service.cli.commands.retain:retain"),
    "reflect": Source("service.cli.commands.retain:reflect"),
    "traverse": Source("service.cli.commands.graph:traverse"),
    "dream": Source("service.cli.commands.dreams:dream"),
    "watch": Source("service.cli.commands.operations.watch:watch"),
    "import": Source("service.cli.commands.transfer.import_:import_"),
    "export": Source("service.cli.commands.transfer.export:export_"),
    "memory": Source("service.cli.commands.memories:app"),
    "entity": Source("service.cli.commands.graph:entities"),
    "edge": Source("service.cli.commands.graph:edges"),
    "edge-type": Source("service.cli.commands.graph:edge_types"),
    "session": Source("service.cli.commands.sessions:app"),
    "operation": Source("service.cli.commands.operations.log:app"),
    "job": Source("service.cli.commands.jobs:app"),
    "model": Source("service.cli.commands.models.calls:app"),
    "prompt": Source("service.cli.commands.dreams:prompts"),
    "namespace": Source("service.cli.commands.namespaces:app"),
    "key": Source("service.cli.commands.access.keys:app"),
    "grant": Source("service.cli.commands.access.grants:app"),
    "invitation": Source("service.cli.commands.access.invitations:app"),
    "cell": Source("service.cli.commands.cells:app"),
    "analyst": Source("service.cli.commands.access.analysts:app"),
    "serve": Source("service.cli.serve:serve", SILENT),
    "worker": Source("service.cli.serve:worker", SILENT),
    "mcp": Source("service.cli.mcp:mcp", SILENT),
    "connect": Source("service.cli.commands.connect:connect"),
    "hook": Source("service.cli.commands.connect:hook", SILENT),
    "demo": Source("service.cli.demo:demo"),
    "config": Source("service.cli.database:config"),
    "doctor": Source("service.cli.database:doctor"),
    "migrate": Source("service.cli.database:migrate"),
    "psql": Source("service.cli.database:psql", FOR_PSQL),
    "reembed": Source("service.cli.commands.models.reembed:reembed"),
    "verify": Source("service.cli.commands.namespaces:verify"),
}


class Loaded(Mapping[str, Any]):
    """The commands by name, each loaded when it is first asked for."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            with pause_garbage_collector():
                self._loaded[name] = _load_command(name, COMMANDS[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Program(Commands):
    """All commands. To load all of them takes longer than most of them run."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = Loaded()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (of the interface)
        """The names of all."""
        return [*COMMANDS]


def _load_command(name: str, source: Source) -> Any:
    """A command as it is registered."""
    module, _, attribute = source.place.partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        return get_group_from_info(
            TyperInfo(found, name=name), pretty_exceptions_short=False, suggest_commands=True, rich_markup_mode=None
        )
    alone = App(add_completion=False, rich_markup_mode=None)
    alone.command(name, **source.options)(found)
    return get_command(alone)


app = App(
    cls=Program,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from loci.version import __version__

        echo(f"loci {__version__}")
        raise typer.Exit


@app.callback()
def options(
    as_json: Annotated[bool, typer.Option("--json", help="Print data as JSON, for scripts.")] = False,
    utc: Annotated[bool, typer.Option("--utc", help="Print times in UTC, and not as this machine's clock has them.")] = False,
    version: Annotated[  # noqa: ARG001 (handled by its callback)
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Memory and knowledge graph for AI agents, inside Postgres.

    With LOCI_URL, and LOCI_KEY where it asks for keys, commands ask that service. Without it they ask the one that runs on the
    database which is configured here, and open that where none runs: that of DATABASE_URL, else the embedded PostgreSQL in the
    folder .loci (LOCI_DATA_DIR). `loci config` says which.
    """
    quiet_libraries()
    set_json(as_json)
    set_utc(utc)


def main() -> None:
    """Run the command line. Told to end, or without its terminal, a command leaves what it opened in order."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    app(prog_name="loci")
