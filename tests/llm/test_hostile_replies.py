"""No reply of a model's endpoint keeps the event loop from others for long, however large it is and whatever it is made of."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from socket import create_server
from typing import Any

import pytest

from loci.models.fields import MOST_MARKS
from service.embedding.openai import OpenAIProvider
from service.embedding.provider import EmbeddingError
from service.llm.answer_parsing import LONGEST_ANSWER_CHARACTERS, Answer, read_answer
from service.llm.client import EndpointModel
from service.llm.model import Completion, InvalidAnswer, Message, ModelError
from service.llm.schemas import schema_of
from service.rerank.endpoint import EndpointReranker
from service.settings import EmbeddingSettings, LLMSettings, RerankSettings
from tests.holding import held_by_a_busy_thread, watched

HELD = 0.15  # seconds: 50 ms, three times that because other tests share the processor; the faults that it looks for took seconds
TRIES = 3  # garbage of other tests may be collected in one
SECONDS = 5.0  # for a whole reply
MIB = 1024 * 1024
MARKS = "e" + "\u0301\u0323" * 30_000
EMPTY = b'data:{"choices":[]}\n\n'


def chat(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()


REPLIES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "levels": ("application/json", lambda: b"[" * 16 * MIB),
    "empty lists": ("application/json", lambda: b"[" + b"[]," * (5 * MIB) + b"1]"),
    "numbers": ("application/json", lambda: b"[" + b"1," * (8 * MIB) + b"1]"),
    "fields": ("application/json", lambda: b"{" + b",".join(b'"%d":1' % n for n in range(MIB)) + b"}"),
    "digits": ("application/json", lambda: b"[" + b"9" * 16 * MIB + b"]"),
    "blanks": ("application/json", lambda: b" " * 16 * MIB),
    "escapes": ("application/json", lambda: b'{"choices":[{"message":{"content":"' + b"\\u00e9" * (2 * MIB) + b'"}}]}'),
    "marks upon a letter": ("application/json", lambda: chat('{"said":["' + MARKS + '"]}')),
    "wrong answers": ("application/json", lambda: chat('{"said":[' + "{}," * 40_000 + "{}]}")),
    "a line without end": ("text/event-stream", lambda: b"data:" + b"x" * 16 * MIB),
    "an event of many lines": ("text/event-stream", lambda: b"data:[\n" * (2 * MIB) + b"\n"),
    "events that say nothing": ("text/event-stream", lambda: EMPTY * 200_000),
    "lines that say nothing": ("text/event-stream", lambda: b":\n" * (4 * MIB)),
    "a large event": ("text/event-stream", lambda: b'data:{"choices":[],"x":[' + b"{}," * (4 * MIB) + b"1]}\n\n"),
}


class Said(Answer):
    """An answer that may hold much."""

    said: list[str]


@contextmanager
def endpoint(kind: str, body: bytes, piece: int) -> Iterator[str]:
    """An address whose replies are this body, in chunks of so many bytes; it is made beforehand, so that it takes no time to send."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode()
    sent = head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in cut(body, piece)) + b"0\r\n\r\n"
    listening = create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                with listening.accept()[0] as connection:
                    connection.settimeout(SECONDS)
                    connection.recv(1 << 20)
                    connection.sendall(sent)
            except TimeoutError:
                continue
            except OSError:
                if listening.fileno() < 0:
                    return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        listening.shutdown(2)
        listening.close()
        thread.join(2 * SECONDS)


def cut(body: bytes, piece: int) -> Iterator[bytes]:
    return (body[at : at + piece] for at in range(0, len(body), piece))


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop in a thread of its own."""
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever, daemon=True)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join(10)
    made.close()


async def complete(url: str) -> object:
    model = EndpointModel(LLMSettings(endpoint=url, attempts=1, timeout=SECONDS))
    try:
        completion = await model.complete(
            [Message(role="user", content="Say something")], schema=schema_of(Said), title="said", deadline=SECONDS
        )
        return await asyncio.to_thread(read_answer, completion, Said)
    finally:
        await model.close()


async def embed(url: str) -> object:
    provider = OpenAIProvider(EmbeddingSettings(provider="openai", endpoint=url, dimensions=4000))
    try:
        return await provider.embed(["a"] * 64, timeout=SECONDS)
    finally:
        await provider.close()


async def judge(url: str) -> object:
    reranker = EndpointReranker(RerankSettings(endpoint=url, attempts=1))
    try:
        return await reranker.judge("q", ["x" * 2000] * 50, deadline=SECONDS)
    finally:
        await reranker.close()


ASKED: dict[str, Callable[[str], Coroutine[Any, Any, object]]] = {"chat": complete, "embeddings": embed, "reranking": judge}


def held_for_long(loop: asyncio.AbstractEventLoop, ask: Callable[[], Coroutine[Any, Any, object]]) -> str | None:
    """How long asking has kept the loop from others, where that was too long each time."""
    seen = []
    for _ in range(TRIES):
        began = time.monotonic()
        with watched(loop) as most, pytest.raises((ModelError, EmbeddingError)):
            asyncio.run_coroutine_threadsafe(ask(), loop).result(10 * SECONDS)
        assert time.monotonic() - began < 5 * SECONDS
        if most.thread < HELD and (most.process < HELD or most.process < 2 * held_by_a_busy_thread(loop)):
            return None
        seen.append(f"{most.thread:.3f} s of its thread, {most.process:.3f} s of the process")
    return ", ".join(seen)


@pytest.mark.sample(10)
@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("asked", ASKED)
def test_no_reply_holds_the_loop(loop: asyncio.AbstractEventLoop, asked: str, reply: str) -> None:
    kind, make = REPLIES[reply]
    with endpoint(kind, make(), 64 * 1024) as url:
        assert held_for_long(loop, lambda: ASKED[asked](url)) is None


@pytest.mark.parametrize("asked", ASKED)
def test_no_reply_in_very_small_pieces_holds_it(loop: asyncio.AbstractEventLoop, asked: str) -> None:
    with endpoint("application/json", b" " * 200_000, 1) as url:
        assert held_for_long(loop, lambda: ASKED[asked](url)) is None


HOSTILE: dict[str, Callable[[int], str]] = {
    "wrong values": lambda size: '{"said":[' + "1," * (size // 2) + "1]}",
    "wrong objects": lambda size: '{"said":[' + "{}," * (size // 3) + "1]}",
    "fields": lambda size: "{" + ",".join(f'"{n}":1' for n in range(size // 10)) + "}",
    "levels": lambda size: '{"said":' + "[" * size,
    "braces": lambda size: "{ " * (size // 2),
    "beginnings": lambda size: '{"a": ' * (size // 6),
    "thoughts": lambda size: "<think>" + "{" * size,
    "many answers": lambda size: "".join(f'{{"said":["{n}"]}} ' for n in range(size // 20)),
    "marks": lambda size: '{"said":["e' + "\u0301\u0323" * (size // 2) + '"]}',
    "as many marks as may be": lambda size: '{"said":["' + ("e" + "\u0301" * MOST_MARKS) * (size // (MOST_MARKS + 1)) + '"]}',
    "blanks": lambda size: '{"said":["' + " " * size + '"]}',
}


@pytest.mark.parametrize("text", HOSTILE)
def test_reading_an_answer_takes_time_that_grows_with_its_length_at_most(text: str) -> None:
    def took(size: int) -> float:
        said, began = Completion(HOSTILE[text](size), 1, 1, 1), time.thread_time()
        with suppress(InvalidAnswer):
            read_answer(said, Said)
        return time.thread_time() - began

    least = min(took(LONGEST_ANSWER_CHARACTERS // 16) for _ in range(3))
    most = min(took(LONGEST_ANSWER_CHARACTERS // 2 - 100) for _ in range(3))
    assert most < 0.05 or most < 2 * 8 * least
    assert most < 1.0


def test_an_answer_holds_so_many_values_and_of_many_errors_their_number_is_told() -> None:
    def refused(said: list[Any]) -> str:
        with pytest.raises(InvalidAnswer) as raised:
            read_answer(Completion(json.dumps({"said": said}), 1, 1, 1), Said)
        return str(raised.value)

    assert len(read_answer(Completion(json.dumps({"said": ["x"] * 11_999}), 1, 1, 1), Said).said) == 11_999
    assert refused(["x"] * 12_000) == "the answer holds more than 12,000 values"
    assert refused([1] * 101) == "the answer is not what was asked for: 101 of its fields are wrong"
    assert refused([MARKS]) == "a text of the answer must have at most 30 combining marks in a row"


@pytest.mark.anyio
async def test_an_unasked_compressed_reply_is_not_unpacked() -> None:
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        with pytest.raises(InvalidAnswer, match="packed \\(gzip\\)"):
            await complete(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    assert b"accept-encoding: identity\r\n" in asked[0].lower()
