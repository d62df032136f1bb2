"""The command line `loci`. Commands import what they need when they run, so that `loci --help` stays quick."""

from typing import Annotated

import typer

from service.cli import (
    analysts,
    asking,
    database,
    decaying,
    demo,
    dreaming,
    erasing,
    exporting,
    grants,
    importing,
    jobs,
    keys,
    mcp,
    modelling,
    namespaces,
    operating,
    reembedding,
    retaining,
    serving,
    undoing,
    verifying,
    watching,
)
from service.cli.shell import Commands, Defaults, quiet_libraries

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
        from importlib.metadata import version

        typer.echo(f"loci {version('loci')}")
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


for module in (
    serving,
    mcp,
    database,
    demo,
    importing,
    exporting,
    asking,
    retaining,
    decaying,
    dreaming,
    reembedding,
    erasing,
    undoing,
    verifying,
    watching,
):
    module.register(app)
app.add_typer(analysts.app, name="analyst")
app.add_typer(keys.app, name="key")
app.add_typer(grants.app, name="grant")
app.add_typer(namespaces.app, name="namespace")
app.add_typer(operating.app, name="operations")
app.add_typer(jobs.app, name="jobs")
app.add_typer(modelling.app, name="model")
app.add_typer(modelling.prompts, name="prompts")


def main() -> None:
    """Run the command line."""
    app(prog_name="loci")


__all__ = ["app", "main"]
