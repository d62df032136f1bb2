"""Long lists cut into requests that the service takes."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from dataclasses import dataclass

from loci.models.memories import BatchWritten, MemoryInput
from loci.requests import API, Json, Request, json_of, reading

Items = Iterable[MemoryInput | Json]
BYTES = 16 * 1024 * 1024  # of a request; a service takes 64 MiB unless it is told otherwise


@dataclass(frozen=True)
class Chunk:
    """One request of a long list."""

    number: int
    request: Request[BatchWritten]


class Cutter:
    """Collects items until they fill a request."""

    def __init__(self, size: int, *, atomic: bool) -> None:
        self._size = size
        self._atomic = atomic
        self._lines: list[bytes] = []
        self._bytes = 0
        self._number = 0

    def add(self, item: MemoryInput | Json) -> Iterator[Chunk]:
        """Take an item; the request that is full without it, if there is one."""
        line = json_of(item)
        if len(self._lines) >= self._size or (self._lines and self._bytes + len(line) > BYTES):
            yield from self.rest()
        self._lines.append(line)
        self._bytes += len(line) + 1

    def rest(self) -> Iterator[Chunk]:
        """The request of what is left, if anything is."""
        if self._lines:
            request = Request(
                method="POST",
                route=API + "/memories/batch",
                query={"atomic": self._atomic},
                content=b"\n".join(self._lines),
                media="application/x-ndjson",
                read=reading(BatchWritten),
            )
            self._lines, self._bytes, self._number = [], 0, self._number + 1
            yield Chunk(self._number, request)


def chunks(items: Items, size: int, *, atomic: bool) -> Iterator[Chunk]:
    """Requests that write these items."""
    cutter = Cutter(size, atomic=atomic)
    for item in items:
        yield from cutter.add(item)
    yield from cutter.rest()


async def achunks(items: Items | AsyncIterable[MemoryInput | Json], size: int, *, atomic: bool) -> AsyncGenerator[Chunk]:
    """Requests that write these items."""
    cutter = Cutter(size, atomic=atomic)
    if isinstance(items, AsyncIterable):
        async for item in items:
            for chunk in cutter.add(item):
                yield chunk
    else:
        for item in items:
            for chunk in cutter.add(item):
                yield chunk
    for chunk in cutter.rest():
        yield chunk
