"""`loci watch`: changes as they come."""

import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import typer
from pydantic_core import from_json

from service.cli.framework import Failure, wants_json
from service.cli.output import echo, format_cell, format_utc_offset, print_json
from service.cli.rest import LociError, Rest, open_service

RETRIED_STATUSES = (429, 502, 503, 504)
PAUSE_SECONDS = 1.0
WIDTH = 80
TITLES = ("content", "name", "type", "key", "signal", "role")  # what names a thing, the first that it has


def watch(
    namespaces: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Namespace; repeatable; '*': all. Default: that of other commands."),
    ] = None,
    kinds: Annotated[list[str] | None, typer.Option("--kind", "-k", help="Only changes of this kind; repeatable.")] = None,
    after: Annotated[str | None, typer.Option(help="Begin after the cursor of a change (0: the oldest); default: now.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="End after so many changes.")] = None,
) -> None:
    """Print changes as they come, until interrupted.

    Time, namespace, what, and by whom. With --json one object a line.
    """
    tell = _make_printer(limit, as_json=wants_json())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if (away := format_utc_offset()) and not wants_json():
        echo(f"times are UTC{away}", err=True)
    try:
        with open_service() as rest:
            _follow_stream(rest, {"namespace": namespaces or [rest.find_namespace_name()], "kind": kinds or None}, after, tell)
    except (KeyboardInterrupt, _Enough):
        pass
    except BrokenPipeError:  # whoever read has left; what waits in the buffer goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Enough(Exception):
    """As many changes as were asked for are printed."""


def _make_printer(limit: int | None, *, as_json: bool) -> Callable[[dict[str, Any]], None]:
    printed = 0

    def print_change(change: dict[str, Any]) -> None:
        nonlocal printed
        if as_json:
            print_json(change)
        else:
            echo(format_change(change))
        sys.stdout.flush()
        printed += 1
        if printed == limit:
            raise _Enough

    return print_change


def format_change(change: dict[str, Any]) -> str:
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
    return f"{format_cell(moment)}  {change['namespace']}  {what}  {title}  {change['agent'] or '-'} ({change['via']})"


def _follow_stream(rest: Rest, query: dict[str, Any], after: str | None, tell: Callable[[dict[str, Any]], None]) -> None:
    """Follow the stream of changes; a service that goes away is waited for, once it has answered."""
    from loci.sse import Parser, status_of

    parser, opened = Parser(), False
    while True:
        try:
            with rest.stream_events(parser.last_id, **query, after="latest" if after is None else after) as blocks:
                opened = True
                for block in blocks:
                    for event in parser.feed(block):
                        if event.name == "problem":
                            if status_of(event.data) in RETRIED_STATUSES:
                                continue  # the stream ends, and is opened again
                            raise _make_failure(event.data)
                        tell(from_json(event.data))
        except LociError as error:
            if not opened or (error.status is not None and error.status not in RETRIED_STATUSES):
                raise
        parser.lost()
        time.sleep(PAUSE_SECONDS)


def _make_failure(problem: bytes) -> Failure:
    try:
        body = from_json(problem)
        return Failure(body["detail"], body.get("hint"))
    except (ValueError, KeyError, TypeError):
        return Failure("the stream ended")
