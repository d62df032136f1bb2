"""OpenTelemetry: off, and nothing is sent to anyone, unless the standard OTEL_* environment says where to.

`OTEL_EXPORTER_OTLP_ENDPOINT` (or `…_TRACES_ENDPOINT`) sends spans over OTLP/HTTP, `OTEL_TRACES_EXPORTER=console` prints them;
both need the extra `traces`. A process that others have set up (opentelemetry-instrument) is left as it is: its provider is used.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from db import traces
from loci.version import __version__

PROPAGATOR = TraceContextTextMapPropagator()
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
SERVER_ERROR = 500


class NotInstalled(Exception):
    """Traces are asked for, and the libraries that send them are missing."""


def find_wanted_exporter(environment: Mapping[str, str]) -> str | None:
    """Which exporter the environment asks for: otlp, console, or None."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    named = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if named:
        return None if named == "none" else named
    return "otlp" if any(environment.get(name) for name in ENDPOINTS) else None


def set_up_tracing() -> Callable[[], None]:
    """Make spans if the environment asks for them; the function returned sends what is left. Raises NotInstalled."""
    given = trace.get_tracer_provider()
    if not isinstance(given, (ProxyTracerProvider, NoOpTracerProvider)):
        traces.set_provider(given)
        return lambda: None
    exporter = find_wanted_exporter(os.environ)
    if exporter is None:
        return lambda: None
    provider = _make_provider(exporter)
    traces.set_provider(provider)  # not for everybody: what libraries trace may quote what they were given
    shutdown: Callable[[], None] = provider.shutdown
    return shutdown


def _make_provider(exporter: str) -> Any:
    """A provider of the SDK that exports in batches. Sampling, resource and batches follow OTEL_* as the SDK reads them."""
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

        if exporter == "otlp":
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        raise NotInstalled(
            "traces are configured, and the libraries that send them are missing: pip install 'loci-pg-server[traces]'"
        ) from None
    if exporter not in {"otlp", "console"}:
        raise NotInstalled(f"OTEL_TRACES_EXPORTER is {exporter!r}; it can be otlp, console or none")
    name = os.environ.get("OTEL_SERVICE_NAME", "loci")
    provider = TracerProvider(resource=Resource.create({"service.name": name, "service.version": __version__}))
    sink: SpanExporter = OTLPSpanExporter() if exporter == "otlp" else ConsoleSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(sink))
    return provider


def context_of(headers: Mapping[str, str]) -> Context | None:
    """The trace that a caller's headers (traceparent, tracestate) continue; None: tracing is off."""
    return None if traces.is_off() else PROPAGATOR.extract(headers)


def trace_headers() -> dict[str, str]:
    """Headers that hand the current trace on."""
    carrier: dict[str, str] = {}
    if not traces.is_off():
        PROPAGATOR.inject(carrier)
    return carrier


@contextmanager
def request_span(scope: dict[str, Any]) -> Iterator[Span]:
    """The server's span of a request, continued from the caller's traceparent."""
    if traces.is_off():
        yield trace.INVALID_SPAN
        return
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    said = {"http.request.method": scope["method"], "url.scheme": scope.get("scheme", "http")}
    with traces.span(scope["method"], said, kind=SpanKind.SERVER, parent=context_of(headers)) as span:
        yield span


def record_answer(span: Span, method: str, route: str, status: int, facts: Mapping[str, str | None]) -> None:
    """Say on a request's span what it was and how it ended."""
    span.update_name(f"{method} {route}")
    span.set_attribute("http.route", route)
    span.set_attribute("http.response.status_code", status)
    for name, value in facts.items():
        if value is not None:
            span.set_attribute(f"loci.{name}", value)
    if status >= SERVER_ERROR:
        span.set_status(Status(StatusCode.ERROR))
