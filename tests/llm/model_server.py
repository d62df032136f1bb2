"""An OpenAI-compatible endpoint on loopback that answers what a test wrote down.

It speaks the protocol for real: chat completions whole and as streams, embeddings, and reranking. It refuses what strict endpoints refuse, so a
request or a schema that passes here passes there too.

    with model_server([status(429, retry_after=1), {"items": []}]) as endpoint:
        settings = LLMSettings(endpoint=endpoint.url, model="scripted")

A script is a list of steps, one for each request, whose last stays; or one function of the request. A step is a Reply or what it says:
a string as it is, anything else as JSON; or a function of the request that gives one of these.
"""

import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.llm.strict_schema import refusal_of

RERANK = {"model", "query", "documents", "top_n", "texts", "truncate"}  # fields of a request for reranking
ENDED = 60.0  # seconds after which a hanging reply is given up


@dataclass(frozen=True)
class Request:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float  # time.monotonic()

    @property
    def purpose(self) -> str:
        """The name of the schema that is asked for; empty: none."""
        return str(self.body.get("response_format", {}).get("json_schema", {}).get("name", ""))

    @property
    def prompt(self) -> str:
        """What the system is told."""
        return "\n".join(message["content"] for message in self.body["messages"] if message["role"] == "system")

    @property
    def texts(self) -> list[str]:
        """The texts that are to be reranked."""
        found: list[str] = self.body.get("documents") or self.body.get("texts") or []
        return found

    @property
    def data(self) -> Any:
        """What the last message holds, as JSON."""
        return json.loads(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Reply:
    """One reply. `raw` takes the place of a completion; `stream` None: as was asked."""

    text: str | None = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    raw_type: str = "application/json"
    wait: float = 0.0  # seconds before the first byte
    pause: float = 0.0  # seconds before each chunk of text
    pieces: int = 4  # chunks that the text comes in
    cut: int | None = None  # bytes of the body after which the connection is closed
    finish: str | None = "stop"
    refusal: str | None = None
    usage: tuple[int, int] | None = (100, 50)  # tokens of prompt and completion; None: they are not counted
    stream: bool | None = None
    comments: bool = False  # lines between the chunks that mean nothing, as some endpoints send to keep a connection open


Step = Any  # Reply, a value, or a function of the request
Script = list[Step] | Callable[[Request], Step]


def say(value: Any, **options: Any) -> Reply:
    """An answer: a string as it is, anything else as JSON."""
    return Reply(value if isinstance(value, str) or value is None else json.dumps(value), **options)


def prose(before: str, value: Any, after: str = "", **options: Any) -> Reply:
    """JSON with talk around it."""
    return say(before + json.dumps(value) + after, **options)


def fence(value: Any, language: str = "json", **options: Any) -> Reply:
    """JSON in a fenced block, as chat models like it."""
    return say(f"Sure! Here it is:\n\n```{language}\n{json.dumps(value, indent=2)}\n```\nAnything else?", **options)


def slow(value: Any, seconds: float, pieces: int = 4) -> Reply:
    """An answer in pieces, with seconds before each."""
    return replace(say(value), pause=seconds, pieces=pieces)


def cut(value: Any, after: int = 40) -> Reply:
    """The connection is closed after so many bytes of the body."""
    return replace(say(value), cut=after)


def truncated(value: Any, length: int = 10) -> Reply:
    """The answer ends where its tokens did."""
    whole = say(value)
    return replace(whole, text=(whole.text or "")[:length], finish="length")


def garbage(body: bytes = b"<html>Bad gateway</html>", kind: str = "text/html") -> Reply:
    """200, and no completion at all."""
    return Reply(raw=body, raw_type=kind)


def status(code: int, body: Any = None, retry_after: object = None, **headers: str) -> Reply:
    """An error of the endpoint."""
    said = {"error": {"message": "as the script says", "type": "scripted", "code": None}} if body is None else body
    given = {**({} if retry_after is None else {"retry-after": str(retry_after)}), **headers}
    return Reply(status=code, raw=said if isinstance(said, bytes) else json.dumps(said).encode(), headers=given)


def judgement(scores: list[Any], **beside: Any) -> Reply:
    """Scores of texts in their order, as a reranker says them: the best first."""
    rows = [{"index": nth, "relevance_score": score} for nth, score in enumerate(scores)]
    rows.sort(key=lambda row: -row["relevance_score"])
    return Reply(raw=json.dumps({"results": rows, **beside}).encode())


def by_words(request: Request) -> list[float]:
    """How many words of the question each text has."""
    words = set(request.body["query"].lower().split())
    return [float(len(words & set(text.lower().split()))) for text in request.texts]


def hang(seconds: float = ENDED) -> Reply:
    """Nothing comes for so long."""
    return replace(say({}), wait=seconds)


class ModelServer(ThreadingHTTPServer):
    """The endpoint. `script` may be changed at any time; `requests` are those that came, `chats` those of them for completions."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, script: Script | None = None, *, dimensions: int = 8, port: int = 0, strict: bool = True) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.strict = strict
        self.script: Script = [{}] if script is None else script
        self.embeddings: Script | None = None
        self.judgements: Script | None = None  # of reranking; None: by words in common
        self.dimensions = dimensions
        self.takes_limits = True  # in schemas
        self.told: dict[str, Any] = {}  # what it says of itself, by path; a dictionary each
        self.requests: list[Request] = []
        self.refused: list[str] = []
        self.ending = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """What LOCI_LLM__ENDPOINT is set to."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def chats(self) -> list[Request]:
        """Requests for completions."""
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    @property
    def reranks(self) -> list[Request]:
        """Requests for reranking."""
        return [request for request in self.requests if request.path.endswith("/rerank")]

    def next_step(self, request: Request) -> Reply:
        """The reply to a request. What breaks the rules of the protocol is refused, whatever the script says."""
        with self._lock:
            self.requests.append(request)
            chat = request.path.endswith("/chat/completions")
            wrong = refusal_of(request.body, limits=self.takes_limits) if chat and self.strict else None
            if wrong is not None:
                self.refused.append(wrong[1])
                return status(
                    400, {"error": {"message": wrong[1], "type": "invalid_request_error", "param": wrong[0], "code": None}}
                )
            reranking = request.path.endswith("/rerank")
            if not chat and request.path in self.told:
                return say(None, raw=json.dumps(self.told[request.path]).encode())
            script = self.script if chat else self.judgements if reranking else self.embeddings
            step = (script.pop(0) if len(script) > 1 else script[0]) if isinstance(script, list) else script
        if reranking and (unknown := sorted(set(request.body) - RERANK)):
            return status(422, {"message": f"unknown field: {unknown[0]}"})
        if not chat and step is None:
            return judgement(by_words(request)) if reranking else self._vectors(request.body)
        said = step(request) if callable(step) else step
        return said if isinstance(said, Reply) else say(said)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""

    def _vectors(self, body: dict[str, Any]) -> Reply:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        length = body.get("dimensions") or self.dimensions
        data = [
            {"object": "embedding", "index": n, "embedding": vector(text, length, str(body["model"]))}
            for n, text in enumerate(texts)
        ]
        tokens = sum(len(text) // 4 for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return Reply(raw=json.dumps({"object": "list", "data": data, "model": body["model"], "usage": usage}).encode())


def vector(text: str, dimensions: int, model: str = "") -> list[float]:
    """A vector of a text: words in common bring two texts near each other; another model has other vectors."""
    sums = [0.0] * dimensions
    for word in text.lower().split() or [""]:
        digest = hashlib.shake_128(f"{model}/{word}".encode()).digest(dimensions)
        sums = [total + byte / 127.5 - 1 for total, byte in zip(sums, digest, strict=True)]
    length = math.sqrt(sum(value * value for value in sums)) or 1.0
    return [value / length for value in sums]


class _Cut(Exception):
    """The connection ends here."""


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            body = json.loads(content)
        except ValueError:
            body = {}
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.next_step(Request(self.path, headers, body, time.monotonic()))
        with suppress(_Cut, OSError):
            if reply.wait:
                self.server.ending.wait(reply.wait)
            self._send(reply, body)
            return
        self.close_connection = True

    def do_GET(self) -> None:
        told = self.server.told.get(self.path)
        with suppress(OSError):
            self._whole(Reply(status=404 if told is None else 200), json.dumps(told or {}).encode(), "application/json")

    def _send(self, reply: Reply, body: dict[str, Any]) -> None:
        """Write a reply, as far as it goes."""
        if reply.raw is not None:
            self._whole(reply, reply.raw, reply.raw_type)
        elif reply.stream if reply.stream is not None else body.get("stream"):
            self._streamed(reply, body)
        else:
            message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
            choice = {"index": 0, "message": message, "finish_reason": reply.finish, "logprobs": None}
            said = {**_head(body, "chat.completion"), "choices": [choice]}
            if reply.usage:
                said["usage"] = _usage(reply.usage)
            if reply.pause:
                self.server.ending.wait(reply.pause * reply.pieces)
            self._whole(reply, json.dumps(said).encode(), "application/json")

    def _whole(self, reply: Reply, payload: bytes, kind: str) -> None:
        self.send_response(reply.status)
        for name, value in {"content-type": kind, "content-length": str(len(payload)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload if reply.cut is None else payload[: reply.cut])
        if reply.cut is not None:
            raise _Cut

    def _streamed(self, reply: Reply, body: dict[str, Any]) -> None:
        self.send_response(reply.status)
        for name, value in {
            "content-type": "text/event-stream; charset=utf-8",
            "transfer-encoding": "chunked",
            **reply.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        left = [reply.cut]
        counted = bool(body.get("stream_options", {}).get("include_usage"))
        for event in _events(reply, body, counted=counted):
            if reply.pause and "content" in str(event):
                self.server.ending.wait(reply.pause)
            line = f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
            self._chunk((": still thinking\n\n" + line if reply.comments else line).encode(), left)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, payload: bytes, left: list[int | None]) -> None:
        """One chunk of a stream; past the cut the connection ends in the middle of it."""
        kept = payload if left[0] is None else payload[: left[0]]
        self.wfile.write(f"{len(payload):x}\r\n".encode() + kept)
        if len(kept) < len(payload):
            raise _Cut
        left[0] = None if left[0] is None else left[0] - len(kept)
        self.wfile.write(b"\r\n")
        self.wfile.flush()

    def log_message(self, *_: object) -> None: ...


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-scripted", "object": kind, "created": int(time.time()), "model": body.get("model")}


def _usage(tokens: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}


def _events(reply: Reply, body: dict[str, Any], *, counted: bool) -> Iterator[dict[str, Any] | str]:
    """What a stream says: the role, pieces of text, how it ended, usage if it was asked for, and its end."""
    head = _head(body, "chat.completion.chunk")

    def delta(finish: str | None = None, **said: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": said, "finish_reason": finish, "logprobs": None}
        return {**head, "choices": [choice], **({"usage": None} if counted else {})}

    yield delta(role="assistant", content="")
    text = reply.text or ""
    size = max(1, -(-len(text) // max(1, reply.pieces)))
    for start in range(0, len(text), size):
        yield delta(content=text[start : start + size])
    if reply.refusal is not None:
        yield delta(refusal=reply.refusal)
    if reply.finish is not None:
        yield delta(reply.finish)
    if counted and reply.usage:
        yield {**head, "choices": [], "usage": _usage(reply.usage)}
    yield "[DONE]"


@contextmanager
def model_server(script: Script | None = None, *, dimensions: int = 8, strict: bool = True) -> Iterator[ModelServer]:
    """An endpoint that answers until the block ends. `strict`: it refuses what strict endpoints refuse, whatever the script says."""
    server = ModelServer(script, dimensions=dimensions, strict=strict)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ending.set()
        server.shutdown()
        server.server_close()
