"""The command line `loci`: commands on nouns (`loci memory list`), and verbs for what is done most.

Commands import what they need when they run, so that `loci --help` and those that ask a service stay quick.
"""

import signal
import sys
from typing import Annotated

import typer

from service.access.commands import analysts, grants, invitations, keys
from service.cli.database import config, doctor, migrate, psql
from service.cli.demo import demo
from service.cli.mcp import mcp
from service.cli.output import echo
from service.cli.serve import serve, worker
from service.cli.shell import App, quiet_libraries, set_json
from service.connect.commands import connect, hook
from service.dreams.commands import dream, prompts
from service.graph.commands import edge_types, edges, entities, traverse
from service.jobs.commands import app as jobs
from service.memories.commands import add
from service.memories.commands import app as memories
from service.models.commands import calls
from service.models.commands.reembed import reembed
from service.namespaces.commands import app as namespaces
from service.namespaces.commands import verify
from service.operations.commands import log
from service.operations.commands.watch import watch
from service.recall.commands import recall, tune
from service.retain.commands import reflect, retain
from service.sessions.commands import app as sessions
from service.sessions.commands import show_context
from service.transfer.commands.export import export_
from service.transfer.commands.import_ import import_

app = App(
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
    as_json: Annotated[bool, typer.Option("--json", help="Print data as JSON, for scripts.")] = False,
    version: Annotated[  # noqa: ARG001 (handled by its callback)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Memory and knowledge graph for AI agents, inside Postgres.

    With LOCI_URL, and LOCI_KEY where it asks for keys, commands ask a service that runs. Without it they open the database
    themselves: that of DATABASE_URL, else the embedded PostgreSQL in the folder .loci (LOCI_DATA_DIR). `loci config` says which.
    """
    quiet_libraries()
    set_json(as_json)


app.command("remember")(add)
app.command()(recall)
app.command()(tune)
app.command("context")(show_context)
app.command()(retain)
app.command()(reflect)
app.command()(traverse)
app.command()(dream)
app.command()(watch)
app.command("import")(import_)
app.command("export")(export_)
app.add_typer(memories, name="memory")
app.add_typer(entities, name="entity")
app.add_typer(edges, name="edge")
app.add_typer(edge_types, name="edge-type")
app.add_typer(sessions, name="session")
app.add_typer(log.app, name="operation")
app.add_typer(jobs, name="job")
app.add_typer(calls.app, name="model")
app.add_typer(prompts, name="prompt")
app.add_typer(namespaces, name="namespace")
app.add_typer(keys.app, name="key")
app.add_typer(grants.app, name="grant")
app.add_typer(invitations.app, name="invitation")
app.add_typer(analysts.app, name="analyst")
app.command(json=False)(serve)
app.command(json=False)(worker)
app.command(json=False)(mcp)
app.command()(connect)
app.command(json=False)(hook)
app.command()(demo)
app.command()(config)
app.command()(doctor)
app.command()(migrate)
app.command(json=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(psql)
app.command()(reembed)
app.command()(verify)


def main() -> None:
    """Run the command line. Told to end, or without its terminal, a command leaves what it opened in order."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    app(prog_name="loci")
