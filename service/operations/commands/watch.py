"""`loci watch`: changes as they come."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import echo, print_json, show
from service.cli.session import Session, run
from service.cli.shell import Failure, Json, wants_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from loci.sse import Parser
    from service.operations.feed import Batch, Place

API = "/api/v1"
LOOK_EVERY = 0.5  # seconds: over a database nobody else may give changes their places
AGAIN = (429, 502, 503, 504)
PAUSE = 1.0
WIDTH = 80
TITLES = ("content", "name", "type", "key", "signal", "role")  # what names a thing, the first that it has


def watch(
    context: typer.Context,
    namespaces: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", envvar="LOCI_NAMESPACE", help="Namespace; repeatable; '*': all. Default: default."),
    ] = None,
    kinds: Annotated[list[str] | None, typer.Option("--kind", "-k", help="Only changes of this kind; repeatable.")] = None,
    after: Annotated[str | None, typer.Option(help="Begin after the cursor of a change (0: the oldest); default: now.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="End after so many changes.")] = None,
    key: Annotated[str | None, typer.Option(envvar="LOCI_KEY", help="API key, for --url; better in the environment.")] = None,
    url: Annotated[
        str | None, typer.Option(envvar="LOCI_URL", help="Ask this running service instead of opening the database.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print changes as they come, until interrupted: time, namespace, what, and by whom. With --json one object a line."""
    tell = _printer(limit, as_json=wants_json(context, as_json))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        if url:
            _from_service(url, key, {"namespace": namespaces, "kind": kinds}, after, tell)
        else:
            run(lambda session: _from_database(session, namespaces or None, kinds or None, after, tell))
    except (KeyboardInterrupt, _Enough):
        pass
    except BrokenPipeError:  # whoever read has left; what waits in the buffer goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Enough(Exception):
    """As many changes as were asked for are printed."""


def _printer(limit: int | None, *, as_json: bool) -> "Callable[[dict[str, Any]], None]":
    printed = 0

    def tell(change: dict[str, Any]) -> None:
        nonlocal printed
        if as_json:
            print_json(change)
        else:
            echo(line(change))
        sys.stdout.flush()
        printed += 1
        if printed == limit:
            raise _Enough

    return tell


def line(change: dict[str, Any]) -> str:
    """A change for people: time, namespace, kind and action, its beginning, who and through what."""
    fields = {**(change["before"] or {}), **(change["after"] or {}), "content": change["content"]}
    title = next((str(fields[name]) for name in TITLES if fields.get(name)), str(change["subject_id"] or ""))
    title = " ".join(title.split())
    title = title if len(title) <= WIDTH else title[: WIDTH - 1] + "…"
    moment = change["changed_at"]
    moment = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    what = f"{change['kind']} {change['action']}"
    if change["action"] == "changed":
        before = change["before"] or {}
        what += f" ({', '.join(name for name, value in (change['after'] or {}).items() if before.get(name) != value)})"
    return f"{show(moment)}  {change['namespace']}  {what}  {title}  {change['agent'] or '-'} ({change['via']})"


async def _from_database(
    session: Session,
    namespaces: list[str] | None,
    kinds: list[str] | None,
    after: str | None,
    tell: "Callable[[dict[str, Any]], None]",
) -> None:
    """Follow the feed of the database itself."""
    from db.pool import Transaction
    from service.operations.feed import Feed, FeedQuestion, Place, read_batch
    from service.supervision import Supervisor

    question = FeedQuestion(namespaces or ["default"], kinds)

    def entered() -> AbstractAsyncContextManager[Transaction]:
        return session.transaction(None, None)

    async def read(place: "Place | None") -> "Batch":
        async with entered() as tx:
            return await read_batch(tx, question, place, sequence=True)

    feed = Feed(session.url)
    background = Supervisor()
    background.start("streams", feed.run)
    start = None if after is None else Place(after)
    try:
        async for batch in feed.follow(read, start, idle=LOOK_EVERY, all_namespaces=namespaces == ["*"]):
            for change in batch.items:
                tell(change)
    finally:
        await background.close()


def _from_service(
    url: str, key: str | None, query: dict[str, Any], after: str | None, tell: "Callable[[dict[str, Any]], None]"
) -> None:
    """Follow the stream of a running service; one that goes away is waited for, once it has answered."""
    import httpx

    from loci.sse import HEARTBEAT, Parser

    base = url.rstrip("/").removesuffix(API)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    parser, opened = Parser(), False
    with httpx.Client(base_url=f"{base}{API}", timeout=httpx.Timeout(3 * HEARTBEAT, connect=5), headers=headers) as client:
        while True:
            place = {"last-event-id": parser.last_id} if parser.last_id else {}
            asked = {**query, "after": "latest" if after is None else after}
            params = {name: value for name, value in asked.items() if value is not None}
            try:
                with client.stream("GET", "/events", params=params, headers=place) as response:
                    if response.is_success:
                        opened = True
                        _follow(response.iter_bytes(), parser, tell)
                    elif not (opened and response.status_code in AGAIN):
                        response.read()
                        raise _refusal(response.content, response.reason_phrase)
            except httpx.TransportError as error:
                if not opened:
                    raise Failure(f"cannot reach {base}: {error}", "Check --url, and that the service runs.") from None
            parser.lost()
            time.sleep(PAUSE)


def _follow(blocks: Iterator[bytes], parser: "Parser", tell: "Callable[[dict[str, Any]], None]") -> None:
    import orjson

    for block in blocks:
        for event in parser.feed(block):
            if event.name == "problem":
                raise _refusal(event.data, "the stream ended")
            tell(orjson.loads(event.data))


def _refusal(problem: bytes, otherwise: str) -> Failure:
    import orjson

    try:
        body = orjson.loads(problem)
        return Failure(body["detail"], body.get("hint"))
    except (ValueError, KeyError, TypeError):
        return Failure(otherwise)
