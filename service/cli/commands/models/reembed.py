"""`loci reembed`: another embedding model, while everything goes on."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.database_session import Session, command_origin, find_database_url, open_pool
from service.cli.framework import Failure, tell_result
from service.cli.output import make_console, print_table

if TYPE_CHECKING:
    from db.models.reembedding import ModelInUse
    from service.embedding.provider import Provider
    from service.models.embedding_models import Corpus
    from service.models.reembedding import Connect
    from service.settings import EmbeddingSettings, Settings

PROVIDERS = ("static", "minilm", "openai")


def reembed(
    model: Annotated[
        str | None,
        typer.Option(
            help="Provider and model, such as static, minilm or openai/text-embedding-3-small. "
            "Default: the one under way, else the configured one."
        ),
    ] = None,
    dimensions: Annotated[int | None, typer.Option(min=1, max=4000, help="Dimensions to ask an endpoint for.")] = None,
    parallel: Annotated[int, typer.Option(min=1, max=32, help="Batches at a time.")] = 2,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how much there is to do and how long it would take.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop filling, and drop what was filled.")] = False,
    drop_second: Annotated[bool, typer.Option("--drop-second", help="Have no second model, and drop its vectors.")] = False,
) -> None:
    """Change the embedding model, while everything goes on.

    It is filled behind the one that serves, its indexes are built, then it takes over at one stroke, and the old one is dropped.
    Recall goes on meanwhile. Killed on the way, it loses nothing: call it again. Several may fill together. Endpoint and key are
    those of the settings (LOCI_EMBEDDING__ENDPOINT), and running services ask the same of theirs.
    """
    from service.settings import get_settings

    settings = get_settings()
    url, server = find_database_url(settings)
    owner_url = settings.migration_url or (server.connection_url("postgres") if server is not None else None)

    async def run_and_report() -> dict[str, Any]:
        async with open_pool(url, size=parallel + 2) as pool:
            session = Session(settings, pool, command_origin(), url)
            if cancel or drop_second:
                return await _retire(session, owner_url, second=drop_second)
            return await _run_reembedding(
                session, owner_url, partial(_target_settings, model=model, dimensions=dimensions), parallel, dry_run
            )

    try:
        report = asyncio.run(run_and_report())
    finally:
        if server is not None:
            server.leave_server()
    rows = [(name, _format_value(value)) for name, value in report.items()]
    tell_result(report, lambda: print_table(("what", "value"), rows, fold="value"))


def _format_value(value: object) -> object:
    return ", ".join(f"{name} {seconds:,.1f} s" for name, seconds in value.items()) if isinstance(value, dict) else value


def _target_settings(settings: "EmbeddingSettings", *, model: str | None, dimensions: int | None) -> "EmbeddingSettings":
    """The settings of the model that is asked for."""
    kind, _, name = (model or settings.provider).partition("/")
    if kind not in PROVIDERS:
        raise Failure(
            f"{model or kind} names no provider",
            "Begin with static, minilm or openai: openai/text-embedding-3-small, for example.",
        )
    changes: dict[str, Any] = {"provider": kind}
    if kind == "static" and name.startswith("wordllama-") and name.removeprefix("wordllama-").isdigit():
        changes["dimensions"] = int(name.removeprefix("wordllama-"))
    elif name and kind == "openai":
        changes |= {"model": name, "dimensions": None}
    if dimensions is not None:
        changes["dimensions"] = dimensions
    return settings.model_copy(update=changes)


async def _run_reembedding(
    session: Session,
    owner_url: str | None,
    target: "Callable[[EmbeddingSettings], EmbeddingSettings]",
    parallel: int,
    dry_run: bool,
) -> dict[str, Any]:
    from service.embedding.provider import EmbeddingError
    from service.models.embedding_models import read_corpus
    from service.models.reembedding import Reembedding, Stopped

    async with session.open_transaction(None, None) as tx:
        corpus = await read_corpus(tx)
    provider, asks = _make_provider(session.settings, corpus.models.get("filling"), target)
    try:
        made = {"name": provider.name, "dimensions": await provider.dimensions(), "asks": asks}
        if "active" not in corpus.models:
            raise Failure("no embedding model is active", "A service makes its model the active one when it starts.")
        if dry_run:
            return await _estimate_duration(session, provider, corpus, parallel)
        owner = _owner_connection(owner_url, session.settings, corpus.vector_count)
        with _show_progress() as told:
            transaction: Any = partial(_begin_in_session, session)
            return await Reembedding(transaction, provider, made, owner, parallel=parallel, told=told).run_to_end()
    except (EmbeddingError, Stopped) as error:
        raise Failure(str(error)) from None
    finally:
        await provider.close()


def _begin_in_session(session: Session, _: str) -> AbstractAsyncContextManager[Any]:
    return session.open_transaction(None, None)


def _make_provider(
    settings: "Settings", filling: "ModelInUse | None", target: "Callable[[EmbeddingSettings], EmbeddingSettings]"
) -> "tuple[Provider, int | None]":
    """The provider that fills, and the dimensions that its endpoint is asked for: the one under way, unless another is named."""
    from service.embedding.active_model import make_provider_for
    from service.embedding.factory import make_provider

    named = getattr(target, "keywords", {})
    try:
        if filling is not None and named.get("model") is None:
            return make_provider_for(settings.embedding.model_copy(update={"provider": "openai"}), filling), filling["asks"]
        wanted = target(settings.embedding)
        made = make_provider(wanted)
    except RuntimeError as error:
        raise Failure(str(error)) from None
    if made is None:
        raise Failure("no embedding provider is configured", "Name one with --model.")
    return made, wanted.dimensions if wanted.provider == "openai" else None


def _owner_connection(url: str | None, settings: "Settings", size: int) -> "Connect | None":
    """How indexes are built while others write. Raises Failure where nobody may, and there is too much to do it otherwise."""
    from service.models.embedding_models import connect_index_builder

    if url is not None:
        return partial(connect_index_builder, url)
    if size > settings.embedding.automatic:
        raise Failure(
            "only the owner can build indexes while others write",
            "Set LOCI_MIGRATION_URL to a connection as the role that migrates.",
        )
    return None


async def _estimate_duration(session: Session, provider: "Provider", corpus: "Corpus", parallel: int) -> dict[str, Any]:
    """How much there is to do, and how long the provider would take, by a few texts of the corpus."""
    from service.models.embedding_models import estimate_seconds, sample_texts

    async with session.open_transaction(None, None) as tx:
        texts = await sample_texts(tx)
    filling = corpus.models.get("filling")
    return {
        "model": provider.name,
        "active": corpus.models["active"]["name"],
        "filling": filling["name"] if filling else None,
        "memories": corpus.memories,
        "entities": corpus.entities,
        "seconds_of_embedding": await estimate_seconds(provider, texts, corpus, parallel=parallel),
    }


async def _retire(session: Session, owner_url: str | None, *, second: bool) -> dict[str, Any]:
    """Stop filling, or have no second model any more, and drop what is left of it."""
    from service.models.embedding_models import cancel_reembedding, read_corpus, retire_second_model
    from service.models.reembedding import drop_retired_models

    async with session.open_transaction(None, None) as tx:
        name = await (retire_second_model if second else cancel_reembedding)(tx)
        corpus = await read_corpus(tx)
    owner = _owner_connection(owner_url, session.settings, corpus.vector_count)
    with _show_progress() as told:
        await drop_retired_models(partial(_begin_in_session, session), owner, told)
    return {"dropped" if second else "cancelled": name}


@contextmanager
def _show_progress() -> "Iterator[Callable[[str, int, int], None]]":
    """A bar on stderr while it lasts; nothing into a pipe."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=make_console(err=True), transient=True, disable=not make_console(err=True).is_terminal) as bar:
        task = bar.add_task("waiting", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)
