"""The command line `loci`. Commands import what they need when they run, so that `loci --help` stays quick."""

import signal
import sys
from typing import Annotated

import typer

from service.access.commands import analysts, grants, invitations, keys
from service.cli.database import doctor, migrate, psql
from service.cli.demo import demo
from service.cli.mcp import mcp
from service.cli.output import echo
from service.cli.serve import serve, worker
from service.cli.shell import Commands, Defaults, quiet_libraries
from service.dreams.commands import dream, prompts
from service.graph.commands import decay, edge_types, traverse
from service.jobs.commands import app as jobs
from service.memories.commands import erase, history
from service.models.commands import calls
from service.models.commands.reembed import reembed
from service.namespaces.commands import app as namespaces
from service.namespaces.commands import verify
from service.operations.commands import log
from service.operations.commands.undo import undo
from service.operations.commands.watch import watch
from service.recall.commands import recall
from service.retain.commands import reflect, retain
from service.sessions.commands import show_context
from service.transfer.commands.export import export_
from service.transfer.commands.import_ import import_

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from loci.version import __version__

        echo(f"loci {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print data as JSON, for scripts.")] = False,
    version: Annotated[  # noqa: ARG001 (handled by its callback)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Memory and knowledge graph for AI agents, inside Postgres.

    Without DATABASE_URL, commands use the embedded PostgreSQL in the folder .loci (LOCI_DATA_DIR); they start it if needed.
    """
    quiet_libraries()
    context.obj = Defaults(as_json)


app.command()(serve)
app.command()(worker)
app.command()(mcp)
app.command()(migrate)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(psql)
app.command()(doctor)
app.command()(demo)
app.command("import")(import_)
app.command("export")(export_)
app.command()(recall)
app.command("context")(show_context)
app.command()(traverse)
app.command()(history)
app.command()(retain)
app.command()(reflect)
app.command()(decay)
app.command("edge-types")(edge_types)
app.command()(dream)
app.command()(reembed)
app.command()(erase)
app.command()(undo)
app.command("verify")(verify)
app.command()(watch)
app.add_typer(analysts.app, name="analyst")
app.add_typer(keys.app, name="key")
app.add_typer(grants.app, name="grant")
app.add_typer(invitations.app, name="invitation")
app.add_typer(namespaces, name="namespace")
app.add_typer(log.app, name="operations")
app.add_typer(jobs, name="jobs")
app.add_typer(calls.app, name="model")
app.add_typer(prompts, name="prompts")


def main() -> None:
    """Run the command line. Told to end, or without its terminal, a command leaves what it opened in order."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    app(prog_name="loci")
