"""Traces: one tree from the request to its statements, continued from the caller's, and nothing in it that anybody has said."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from db import traces
from service.observability import tracing
from tests.services import Api, eventually, ok

SECRET = "xylophone"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """Tracing on, into memory."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    traces.set_provider(provider)
    yield exporter
    traces.set_provider(None)


def tree(spans: InMemorySpanExporter, root: str) -> list[ReadableSpan]:
    """The spans of the trace in which a span of this name is, once that has ended."""
    found = eventually(lambda: [span for span in spans.get_finished_spans() if span.name == root])
    return [span for span in spans.get_finished_spans() if span.context.trace_id == found[-1].context.trace_id]


def ancestors(span: ReadableSpan, among: list[ReadableSpan]) -> list[str]:
    by_id = {each.context.span_id: each for each in among}
    names = []
    parent = span.parent
    while parent is not None and parent.span_id in by_id:
        names.append(by_id[parent.span_id].name)
        parent = by_id[parent.span_id].parent
    return names


def test_a_recall_is_one_tree_from_the_request_to_its_statements(api: Api, spans: InMemorySpanExporter) -> None:
    api.write("Alice plays the xylophone")
    eventually(api.embedded)  # what waits is embedded with a question, and that is a span too
    spans.clear()
    api.recall("Who plays the xylophone?")
    found = tree(spans, "POST /api/v1/recall")
    names = {span.name: ancestors(span, found) for span in found}
    assert names["POST /api/v1/recall"] == []
    assert names["transaction"] == ["POST /api/v1/recall"]
    assert names["loci_api.begin_request"] == ["transaction", "POST /api/v1/recall"]
    assert names["embed"] == ["recall embed", "POST /api/v1/recall"]
    assert names["loci_api.recall_in_one_call"] == ["recall one_call", "transaction", "POST /api/v1/recall"]
    request = next(span for span in found if span.name == "POST /api/v1/recall")
    assert request.kind is SpanKind.SERVER
    assert request.attributes is not None
    assert request.attributes["http.route"] == "/api/v1/recall"
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["loci.namespace"] == api.namespace
    statement = next(span for span in found if span.name == "loci_api.recall_in_one_call")
    assert statement.kind is SpanKind.CLIENT
    assert statement.attributes is not None
    assert statement.attributes["db.system.name"] == "postgresql"
    assert "from loci_api.recall_in_one_call(%(namespace)s, %(query)s" in str(statement.attributes["db.query.text"])
    assert all(span.start_time and span.end_time and request.start_time <= span.start_time <= span.end_time for span in found)


def test_the_trace_of_the_caller_is_continued(api: Api, spans: InMemorySpanExporter) -> None:
    ok(api.client.get("/memories", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"}))
    found = tree(spans, "GET /api/v1/memories")
    request = next(span for span in found if span.name == "GET /api/v1/memories")
    assert request.parent is not None
    assert (f"{request.context.trace_id:032x}", f"{request.parent.span_id:016x}") == (TRACE, PARENT)


def test_no_key_and_no_words_of_memories_or_errors_are_in_a_trace(api: Api, spans: InMemorySpanExporter) -> None:
    key = ok(api.post("/keys", {"name": "tracer", "role": "writer"}), 201)["key"]
    headers = {"Authorization": f"Bearer {key}"}
    api.client.post("/memories", json={"content": f"the {SECRET} is red", "lineage": SECRET}, headers=headers)
    api.client.get(f"/memories/{SECRET}/history", headers=headers)
    api.client.post("/recall", json={"query": f"which {SECRET}?"}, headers=headers)
    api.client.post("/memories", json={"content": "x", "corrects": SECRET}, headers=headers)  # 422
    api.client.get(f"/entities/{SECRET}", headers=headers)  # 404 from the database
    eventually(lambda: any(span.name == "worker vectors" for span in spans.get_finished_spans()))
    found = "\n".join(span.to_json() for span in spans.get_finished_spans())
    assert "POST /api/v1/recall" in found
    assert SECRET not in found
    assert key not in found
    assert key.split("_", 2)[2] not in found


def test_a_statement_that_fails_says_with_which_sqlstate(api: Api, spans: InMemorySpanExporter) -> None:
    assert api.get("/entities/nobody").status_code == 404
    failed = [span for span in tree(spans, "GET /api/v1/entities/{ref}") if not span.status.is_ok]
    states = {(span.attributes or {}).get("db.response.status_code") for span in failed}
    assert "P0002" in states


def test_background_work_makes_a_tree_when_there_is_work_and_none_when_there_is_not(api: Api, spans: InMemorySpanExporter) -> None:
    def names(root: ReadableSpan) -> set[str]:
        return {span.name for span in spans.get_finished_spans() if span.context.trace_id == root.context.trace_id}

    def works() -> bool:
        roots = [span for span in spans.get_finished_spans() if span.name == "worker vectors"]
        return any(names(root) >= {"embed", "loci_api.store_memory_vectors"} for root in roots)

    api.write("a new memory")
    eventually(works)
    assert not [span for span in spans.get_finished_spans() if "claim" in span.name or span.name == "loci_api.sequence_changes"]


def test_a_tool_of_mcp_is_in_the_trace_of_its_request(api: Api, spans: InMemorySpanExporter) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "x"}}}
    headers = {"accept": "application/json, text/event-stream", "host": "localhost", "X-Namespace": api.namespace}
    answer = api.client.post("http://localhost/mcp", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    found = tree(spans, "POST /mcp")
    tool = next(span for span in found if span.name == "tools/call recall")
    inner = next(span for span in found if span.name == "POST /api/v1/recall")
    assert ancestors(inner, found) == ["tools/call recall", "POST /mcp"]
    assert (tool.attributes or {})["gen_ai.tool.name"] == "recall"
    assert {(span.attributes or {}).get("loci.request_id") for span in found if span.kind is SpanKind.SERVER} == {
        answer.headers["x-request-id"]
    }


def test_libraries_add_nothing_to_a_trace_whoever_set_it_up(
    api: Api, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)  # as a process has it that others have set up
    ok(api.get("/memory/search", q=SECRET))
    found = tree(spans, "GET /api/v1/memory/search")
    assert {span.instrumentation_scope.name for span in found if span.instrumentation_scope} == {"loci"}
    assert SECRET not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_nothing_is_traced_unless_the_environment_asks() -> None:
    assert tracing.find_wanted_exporter({}) is None
    assert tracing.find_wanted_exporter({"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_EXPORTER": "none"}) is None
    assert tracing.find_wanted_exporter({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}) is None
    assert tracing.find_wanted_exporter({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}) is None
    assert tracing.find_wanted_exporter({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}) == "otlp"
    assert tracing.find_wanted_exporter({"OTEL_TRACES_EXPORTER": "console"}) == "console"
    assert traces.is_off()
