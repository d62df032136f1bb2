"""`loci mcp` beside a service: what stdin says goes to the service's /mcp over the owner's socket, and its replies to stdout.

The service has all that MCP needs; a process of its own for each agent would have all of it once more. So nothing of it is loaded
here. Each message is a request of its own; a client that cancels one closes its connection, which ends the work.
"""

import os
import signal
import socket
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from json import dumps, loads
from pathlib import Path
from typing import Any

from service.cli.owner_socket import connect_to_socket

REQUESTS_AT_ONCE = 16  # requests of one agent that are under way
ACCEPTED, ACCEPTED_TYPES = 202, "application/json, text/event-stream"
PARSE_ERROR, INTERNAL_ERROR = -32700, -32603
VERSION, METHOD, NAME = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
VERSION_IN_ENVELOPE = "io.modelcontextprotocol/protocolVersion"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
GONE = "Unavailable: the service that was asked has stopped. It has to be started again: `loci serve`."
Message = dict[str, Any]


def relay_messages(find: Callable[[], Path | None], route: str, headers: Mapping[str, str]) -> None:
    """Pass messages on until stdin ends. `find` says where the service is, which may be another one after a restart."""
    Relay(find, route, headers).run_until_end()


class Relay:
    """One client on stdin and stdout."""

    def __init__(self, find: Callable[[], Path | None], route: str, headers: Mapping[str, str]) -> None:
        self._find = find
        self._route = route
        sent = {name: value.encode() for name, value in headers.items()}  # names may have any letters
        self._headers: dict[str, Any] = {
            **sent,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        self._writing = threading.Lock()
        self._open: dict[Any, socket.socket] = {}
        self._cancelled: set[Any] = set()
        self._version: str | None = None  # which the client and the service agreed on

    def run_until_end(self) -> None:
        """Until stdin ends, or a signal comes: then at once, although a thread still reads."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: os._exit(0))
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
            for line in sys.stdin.buffer:
                if not line.strip():
                    continue
                try:
                    message = loads(line)
                except ValueError as error:
                    self._write_message(_make_error(None, PARSE_ERROR, f"not JSON: {error}"))
                    continue
                if not isinstance(message, dict) or message.get("method") == "initialize":
                    self._pass_on(message, line)  # the next message may need what this one agrees on
                elif message.get("method") == "notifications/cancelled":
                    self._cancel_request((message.get("params") or {}).get("requestId"))
                else:
                    pool.submit(self._pass_on, message, line)

    def _pass_on(self, message: Any, line: bytes) -> None:
        """Send a message, and write what comes back."""
        asked = message if isinstance(message, dict) else {}
        identity = asked.get("id")
        try:
            for reply in self._ask_service(asked, line):
                if asked.get("method") == "initialize":
                    self._version = (reply.get("result") or {}).get("protocolVersion")
                self._write_message(reply)
        except (OSError, HTTPException, ValueError):
            if "id" in asked and identity not in self._cancelled:
                self._write_message(_reply_with_failure(asked, GONE))
        finally:
            self._open.pop(identity, None)
            self._cancelled.discard(identity)

    def _ask_service(self, message: Message, line: bytes) -> Iterator[Message]:
        path = self._find()
        if path is None:
            raise ConnectionRefusedError
        connection = HTTPConnection("localhost")
        connection.sock = connect_to_socket(path)
        connection.sock.settimeout(None)
        try:
            if "id" in message:
                self._open[message["id"]] = connection.sock
            connection.request("POST", self._route, line, {**self._headers, **_routing_headers(message, self._version)})
            response = connection.getresponse()
            if response.status == ACCEPTED:
                return
            if (response.getheader("content-type") or "").startswith("text/event-stream"):
                yield from _parse_events(response)
                return
            said = loads(response.read())
            yield said if "jsonrpc" in said else _reply_with_problem(message, said)
        finally:
            connection.close()

    def _cancel_request(self, identity: Any) -> None:
        """Leave the connection of a request: nobody waits for its reply."""
        connection = self._open.get(identity)
        if connection is not None:
            self._cancelled.add(identity)
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _write_message(self, message: Message) -> None:
        with self._writing:
            sys.stdout.buffer.write(dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            sys.stdout.buffer.flush()


def _routing_headers(message: Message, agreed: str | None) -> dict[str, str]:
    """The headers by which a request is routed: they repeat what the message says, or what was agreed on before it."""
    given = message.get("params")
    parts = given if isinstance(given, dict) else {}
    envelope = parts.get("_meta")
    version = (envelope if isinstance(envelope, dict) else {}).get(VERSION_IN_ENVELOPE) or agreed
    name = parts.get(NAMED_BY.get(str(message.get("method")), ""))
    said = {VERSION: version, METHOD: message.get("method"), NAME: name}
    return {header: _make_header_value(value) for header, value in said.items() if isinstance(value, str)}


def _make_header_value(value: str) -> str:
    """A value as a header may have it."""
    if value.isascii() and value.isprintable() and value.strip() == value:
        return value
    return f"=?base64?{b64encode(value.encode()).decode()}?="


def _parse_events(lines: Iterable[bytes]) -> Iterator[Message]:
    """The messages of a stream of events, each a line of data."""
    for line in lines:
        field, _, data = line.partition(b":")
        if field == b"data" and data.strip():
            yield loads(data)


def _reply_with_problem(message: Message, problem: Message) -> Message:
    """A problem document as the reply to a message."""
    return _reply_with_failure(message, "\n".join(str(problem[part]) for part in ("detail", "hint") if problem.get(part)))


def _reply_with_failure(message: Message, text: str) -> Message:
    """The reply that says what went wrong: to the use of a tool one that a model reads."""
    if message.get("method") != "tools/call":
        return _make_error(message.get("id"), INTERNAL_ERROR, text)
    said = {"content": [{"type": "text", "text": text}], "isError": True}
    return {"jsonrpc": "2.0", "id": message["id"], "result": said}


def _make_error(identity: Any, code: int, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": text}}
