"""A proxy between the service and a model, which keeps when each request came and ended, and the tokens that the model counted."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

PATIENCE = 600.0


@dataclass(frozen=True)
class Heard:
    """A completion: what was asked, the tokens of prompt and answer as the server counted them, and its times."""

    body: dict[str, Any]
    tokens: tuple[int, int] | None
    began: float
    ended: float


class Recorder(ThreadingHTTPServer):
    """The proxy. `heard` are completions in the order in which they ended."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream.removesuffix("/v1")
        self.heard: list[Heard] = []

    @property
    def url(self) -> str:
        """Where it is asked instead of the model."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Recorder

    def do_GET(self) -> None:
        self._pass_on("GET", b"")

    def do_POST(self) -> None:
        self._pass_on("POST", self.rfile.read(int(self.headers.get("content-length", 0))))

    def _pass_on(self, method: str, content: bytes) -> None:
        """Ask the model and hand on what it says, piece by piece; the connection ends with the reply."""
        began, said = time.monotonic(), b""
        with httpx.stream(method, self.server.upstream + self.path, content=content, timeout=PATIENCE) as reply:
            self.send_response(reply.status_code)
            self.send_header("content-type", reply.headers.get("content-type", "application/json"))
            self.send_header("connection", "close")
            self.end_headers()
            for piece in reply.iter_raw():
                said += piece
                self.wfile.write(piece)
                self.wfile.flush()
        if self.path.endswith("/chat/completions"):
            self.server.heard.append(Heard(json.loads(content), _counted(said), began, time.monotonic()))

    def log_message(self, *_: object) -> None: ...


def _counted(said: bytes) -> tuple[int, int] | None:
    """Tokens as the last event of a stream says them."""
    found = None
    for line in said.decode(errors="replace").splitlines():
        if line.startswith("data: {") and (usage := json.loads(line[6:]).get("usage")):
            found = usage["prompt_tokens"], usage["completion_tokens"]
    return found


@contextmanager
def recording(upstream: str) -> Iterator[Recorder]:
    """A proxy until the block ends."""
    server = Recorder(upstream)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
