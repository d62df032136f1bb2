"""An endpoint of an embedding model may say anything, for ever or never: it is given up in time, and not heard to its end."""

import asyncio
import gzip
import time
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import pytest

from service.embedding.openai import OpenAIProvider
from service.embedding.provider import EmbeddingError, RejectedText
from service.settings import EmbeddingSettings

SECONDS = 2.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
GOOD = b'{"data":[{"index":0,"embedding":[1,0,0,0.5]}]}'
PACKED = gzip.compress(b" " * 64_000_000, 1)


def whole(body: bytes, head: bytes = HEAD) -> list[bytes]:
    return [head + b"Content-Length: %d\r\n\r\n" % len(body) + body]


def vector(said: bytes) -> list[bytes]:
    return whole(b'{"data":[{"index":0,"embedding":' + said + b"}]}")


LIES: dict[str, Any] = {
    "other dimensions": lambda: vector(b"[1,2,3]"),
    "NaN": lambda: vector(b"[NaN,0,0,0]"),
    "infinity": lambda: vector(b"[1e999,0,0,0]"),
    "nothing": lambda: vector(b"[null,0,0,0]"),
    "texts": lambda: vector(b'["a","b","c","d"]'),
    "a number of many digits": lambda: vector(b"[" + b"9" * 60_000 + b",0,0,0]"),
    "another index": lambda: whole(b'{"data":[{"index":{},"embedding":[1,0,0,0]},{"index":[],"embedding":[1,0,0,0]}]}'),
    "twice": lambda: whole(b'{"data":[{"index":0,"embedding":[1,0,0,0]},{"index":0,"embedding":[1,0,0,0]}]}'),
    "levels": lambda: whole(b"[" * 60_000),
    "levels in a vector": lambda: vector(b"[" * 5000 + b"]" * 5000),
    "megabytes": lambda: whole(b" " * 50_000_000 + GOOD),
    "megabytes, packed": lambda: whole(PACKED, HEAD + b"Content-Encoding: gzip\r\n"),
    "a stream without end": lambda: chain(
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\n"], repeat(b"10000\r\n" + b" " * 65536 + b"\r\n")
    ),
    "drops": lambda: chain([HEAD + b"Content-Length: 1000\r\n\r\n"], (b" " if n else b"{" for n in range(1000))),
    "headers without end": lambda: chain([HEAD], repeat(b"X-More: " + b"x" * 8000 + b"\r\n")),
    "a page": lambda: whole(b"<html>it works</html>", HEAD.replace(b"application/json", b"text/html")),
    "another place": lambda: [b"HTTP/1.1 307 Elsewhere\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n"],
    "no HTTP": lambda: [b"\x00\xff" * 1000],
    "half": lambda: [HEAD + b"Content-Length: 1000\r\n\r\n" + GOOD],
    "nothing at all": list,
}


@pytest.mark.anyio
@pytest.mark.parametrize("lie", LIES)
async def test_an_endpoint_that_lies_is_given_up_in_time_and_not_heard_to_its_end(lie: str) -> None:
    sent = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.read(65536)
        parts: Iterator[bytes] = iter(LIES[lie]())
        try:
            for part in parts:
                writer.write(part)
                sent += len(part)
                await writer.drain()
                await asyncio.sleep(0.05 if lie == "drops" else 0)
        except OSError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        place = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        provider = OpenAIProvider(EmbeddingSettings(provider="openai", endpoint=place, dimensions=4))
        began = time.monotonic()
        with pytest.raises((EmbeddingError, RejectedText)):
            await provider.embed(["a"], timeout=SECONDS)
        assert time.monotonic() - began < 5 * SECONDS
        assert sent < 60_000_000
        await provider.close()


@pytest.mark.anyio
async def test_one_that_does_not_lie_is_believed() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(whole(GOOD)[0])
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        place = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        provider = OpenAIProvider(EmbeddingSettings(provider="openai", endpoint=place, dimensions=4))
        assert (await provider.embed(["a"])).shape == (1, 4)
        await provider.close()
