"""`loci context`: what an agent injects before an inference."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import echo, print_json
from service.cli.session import Session, open_provider, run
from service.cli.shell import AsOf, Json, KnownAt, Namespace, wants_json

if TYPE_CHECKING:
    from service.sessions.context import ContextRequest


def show_context(
    context: typer.Context,
    message: Annotated[str | None, typer.Argument(help="What is about to be answered; without it nothing is searched for.")] = None,
    session_id: Annotated[str | None, typer.Option("--session", "-s", help="The conversation: it is shown a memory once.")] = None,
    space: Annotated[str | None, typer.Option("--space", help="Own space of working memory, such as patrol/heartbeat.")] = None,
    min_relevance: Annotated[
        float | None, typer.Option("--min-relevance", min=0, max=1, help="Leave out memories less likely to answer.")
    ] = None,
    max_chars: Annotated[int | None, typer.Option("--max-chars", min=0, help="The text is never longer.")] = None,
    namespace: Namespace = "default",
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: Json = False,
) -> None:
    """Build what an agent injects before an inference. With --session, what it shows counts as shown."""
    from loci.models.sessions import ContextInput
    from service.sessions.context import request_of

    stated = {
        "message": message,
        "session_id": session_id,
        "space": space,
        "min_relevance": min_relevance,
        "max_chars": max_chars,
        "as_of": as_of,
        "known_at": known_at,
    }
    request = request_of(ContextInput.model_validate(stated))
    built = run(lambda session: _build(session, request, namespace))
    if wants_json(context, as_json):
        print_json(built)
        return
    for arm, reason in built["skipped"].items():
        echo(f"without the {arm} arm: {reason}", err=True)
    if built["waiting"]:
        echo(f"{built['waiting']:,} memories wait for their vectors", err=True)
    if built["text"]:
        echo(built["text"])


async def _build(session: Session, request: "ContextRequest", namespace: str) -> dict[str, Any]:
    from service.sessions.context import build_context

    async with open_provider(session) as provider, session.transaction(namespace) as tx:
        return await build_context(tx, request, provider, session.settings.embedding)
