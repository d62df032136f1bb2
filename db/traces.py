"""Spans of transactions and statements, for OpenTelemetry. None is made, at next to no cost, until `set_provider` is called.

Fields of a span: which function of SQL, how long, whether it failed and with which SQLSTATE. Never parameters, nor what an error
says: both may quote a memory.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, TracerProvider

Attributes = Mapping[str, str | int | float | bool]
CALLED = re.compile(r"\b(loci(?:_api)?\.\w+)\(")
_muted: ContextVar[bool] = ContextVar("loci_muted", default=False)


class _Tracing:
    """The tracer in use; None: tracing is off."""

    tracer: Tracer | None = None


def set_provider(provider: TracerProvider | None) -> None:
    """Make spans with this provider from now on; None: make none."""
    _Tracing.tracer = provider.get_tracer("loci") if provider is not None else None


def is_off() -> bool:
    """Whether no span is made here."""
    return _Tracing.tracer is None or _muted.get()


@contextmanager
def mute_spans(wanted: bool = True) -> Iterator[None]:
    """Make no spans in this block: looks at empty queues are not worth one. `muted(False)` inside makes them again."""
    token = _muted.set(wanted)
    try:
        yield
    finally:
        _muted.reset(token)


@contextmanager
def span(
    name: str, attributes: Attributes | None = None, *, kind: SpanKind = SpanKind.INTERNAL, parent: Context | None = None
) -> Iterator[Span]:
    """Time a block as a span under the current one, or under `parent`. Where tracing is off, the span records nothing."""
    tracer = _Tracing.tracer
    if tracer is None or _muted.get():
        yield trace.INVALID_SPAN
        return
    made = tracer.start_span(name, context=parent, kind=kind, attributes=attributes)
    token = contexts.attach(trace.set_span_in_context(made, parent))
    try:
        yield made
    except BaseException as error:
        mark_span_failure(made, error)
        raise
    finally:
        contexts.detach(token)
        made.end()


def mark_span_failure(made: Span, error: BaseException) -> None:
    """Mark a span as failed, by the kind of its error."""
    made.set_attribute("error.type", type(error).__name__)
    state = getattr(error, "sqlstate", None)
    if state:
        made.set_attribute("db.response.status_code", state)
    made.set_status(Status(StatusCode.ERROR))


@lru_cache(maxsize=512)
def describe_statement(statement: str) -> tuple[str, dict[str, str]]:
    """Name and attributes of a statement's span: the function that it calls, and its text, which holds no values."""
    text = " ".join(statement.split())
    verb = text.partition(" ")[0].upper()
    called = CALLED.search(text)
    attributes = {"db.system.name": "postgresql", "db.operation.name": verb, "db.query.text": text}
    if called is None:
        return verb, attributes
    return called[1], {**attributes, "db.stored_procedure.name": called[1]}


def begin_statement(statement: str) -> Span | None:
    """The span of a statement that is about to be sent; None: none is made."""
    tracer = _Tracing.tracer
    if tracer is None or _muted.get():
        return None
    name, attributes = describe_statement(statement)
    return tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes)


def end_statement(made: Span | None, error: BaseException | None = None) -> None:
    """End a statement's span, once the server has said what became of it."""
    if made is None:
        return
    if error is not None:
        mark_span_failure(made, error)
    made.end()
