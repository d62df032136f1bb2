"""`loci context` and `loci session`: what an agent injects before an inference, and conversations."""

from typing import Annotated, Any

import typer

from service.cli.framework import App, AsOf, Failure, KnownAt, Limit, Namespace, Session, tell_result, tell_rows
from service.cli.output import echo, print_table
from service.cli.rest import open_service
from service.cli.service_address import find_stated_value as from_environment

app = App("List conversations, show their turns, and end sessions.")
Id = Annotated[str, typer.Argument(metavar="SESSION", help="The conversation.")]


def show_context(
    message: Annotated[
        str | None, typer.Argument(metavar="MESSAGE", help="What is about to be answered; without it nothing is searched for.")
    ] = None,
    session_id: Session = None,
    user: Annotated[str | None, typer.Option(help="Who asks, whom I and my mean; default: nobody in particular.")] = None,
    space: Annotated[str | None, typer.Option("--space", help="Own space of working memory, such as patrol/heartbeat.")] = None,
    min_relevance: Annotated[
        float | None, typer.Option("--min-relevance", min=0, max=1, help="Leave out memories less likely to answer.")
    ] = None,
    max_chars: Annotated[int | None, typer.Option("--max-chars", min=0, help="The text is never longer.")] = None,
    namespace: Namespace = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> None:
    """Build what an agent injects before an inference.

    With --session, what it shows counts as shown: a conversation is shown a memory once.
    """
    stated = {
        "message": message,
        "session_id": session_id,
        "user": user,
        "space": space or from_environment("LOCI_SPACE"),
        "min_relevance": min_relevance,
        "max_chars": max_chars,
        "as_of": as_of,
        "known_at": known_at,
    }
    with open_service(namespace) as rest:
        built = rest.post("/context", **stated)
    tell_result(built, lambda: _tell_context(built))


def _tell_context(built: dict[str, Any]) -> None:
    for arm, reason in built["skipped"].items():
        echo(f"without the {arm} arm: {reason}", err=True)
    if built.get("waiting"):
        echo(f"{built['waiting']:,} memories wait for their vectors", err=True)
    if built["text"]:
        echo(built["text"])


@app.command("list")
def list_(namespace: Namespace = None, limit: Limit = 50) -> None:
    """List sessions that have turns."""
    with open_service(namespace) as rest:
        rows = rest.list_items("/conversations", limit=limit)
    tell_rows(rows, *(rows[0] if rows else ("session_id", "turns")))


@app.command()
def show(session: Id, namespace: Namespace = None, limit: Annotated[int, typer.Option(min=1, max=1000)] = 50) -> None:
    """Show the last turns of a conversation."""
    with open_service(namespace) as rest:
        rows = rest.get("/conversations/{session}/turns", {"session": session}, limit=limit)["items"]
    if not rows:  # to the service a session is a name, and one that nobody has used yet has no turns
        raise Failure(f"session {session!r} does not exist, or has no turns", "`loci session list` names those that have.")
    cells = ([row["said_at"], row["role"], row["content"]] for row in rows)
    tell_result(rows, lambda: print_table(("said_at", "role", "content"), cells, fold="content"))


@app.command()
def end(session: Id, namespace: Namespace = None) -> None:
    """End a session: what was of use to it is confirmed."""
    with open_service(namespace) as rest:
        row = rest.post("/sessions/{session}/end", {"session": session})
    tell_result(row, lambda: tell_rows([row], *row))
