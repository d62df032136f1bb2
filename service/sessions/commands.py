"""`loci context`: what an agent injects before an inference."""

from typing import Annotated, Any

import typer

from service.cli.output import print_json
from service.cli.session import Session, run
from service.cli.shell import AsOf, Json, KnownAt, Namespace, wants_json


def show_context(
    context: typer.Context,
    message: Annotated[str | None, typer.Argument(help="What is about to be answered; without it nothing is searched for.")] = None,
    session_id: Annotated[str | None, typer.Option("--session", "-s", help="The conversation: it is shown a memory once.")] = None,
    space: Annotated[str | None, typer.Option("--space", help="Own space of working memory, such as patrol/heartbeat.")] = None,
    max_chars: Annotated[int | None, typer.Option("--max-chars", min=0, help="The text is never longer.")] = None,
    namespace: Namespace = "default",
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: Json = False,
) -> None:
    """Build what an agent injects before an inference. With --session, what it shows counts as shown."""
    from loci.models.sessions import ContextInput
    from service.recall.question import make_scope
    from service.sessions.context import ContextRequest

    stated = {
        "message": message,
        "session_id": session_id,
        "space": space,
        "max_chars": max_chars,
        "as_of": as_of,
        "known_at": known_at,
    }
    body = ContextInput.model_validate(stated)
    occasion = ContextRequest(
        body.message, body.session_id, body.space, max_chars=body.max_chars, scope=make_scope({}, body.as_of, body.known_at)
    )
    built = run(lambda session: _build(session, occasion, namespace))
    if wants_json(context, as_json):
        print_json(built)
        return
    for arm, reason in built["skipped"].items():
        typer.echo(f"without the {arm} arm: {reason}", err=True)
    if built["text"]:
        typer.echo(built["text"])


async def _build(session: Session, occasion: Any, namespace: str) -> dict[str, Any]:
    from service.embedding.active import make_active_provider
    from service.sessions import context as building

    provider = make_active_provider(session.settings.embedding)
    try:
        async with session.transaction(namespace) as tx:
            return await building.build_context(tx, occasion, provider, session.settings.embedding)
    finally:
        if provider is not None:
            await provider.close()
