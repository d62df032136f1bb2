"""Long writes, exports and watches: they are sent or read piece by piece, so each client has its own code for them."""

import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import aclosing

import anyio
import httpx

from loci._methods.memories import Memories
from loci._methods.operations import Operations
from loci._methods.transfer import Transfer, exporting
from loci.batches import achunks, chunks
from loci.errors import error_of, error_without_reply
from loci.models.memories import ItemWritten, MemoryInput
from loci.models.operations import Change
from loci.models.transfer import ExportFormat
from loci.requests import Json
from loci.senders import AsyncSender, Sender
from loci.watch import Names, Watch, watching

BLOCK = 1024 * 1024


class WaitingMemories(Memories[Sender]):
    """Operations on memories."""

    def write_many(self, items: Iterable[MemoryInput | Json], *, atomic: bool = False, size: int = 1000) -> Iterator[ItemWritten]:
        """Write any number of memories, `size` a request; results come in order, while the next items are read.

        `atomic`: each request is all or nothing, and the first that fails raises.
        """
        key = self._client._options.idempotency_key
        for chunk in chunks(items, size, atomic=atomic):
            client = self._client if key is None else self._client.once(f"{key}/{chunk.number}")
            yield from client.send(chunk.request).items


class AwaitedMemories(Memories[AsyncSender]):
    """Operations on memories, to be awaited."""

    async def write_many(
        self,
        items: Iterable[MemoryInput | Json] | AsyncIterable[MemoryInput | Json],
        *,
        atomic: bool = False,
        size: int = 1000,
    ) -> AsyncIterator[ItemWritten]:
        """Write any number of memories, `size` a request; results come in order, while the next items are read.

        `atomic`: each request is all or nothing, and the first that fails raises.
        """
        key = self._client._options.idempotency_key
        async with aclosing(achunks(items, size, atomic=atomic)) as all_chunks:
            async for chunk in all_chunks:
                client = self._client if key is None else self._client.once(f"{key}/{chunk.number}")
                for item in (await client.send(chunk.request)).items:
                    yield item


class WaitingTransfer(Transfer[Sender]):
    """Operations that bring a namespace in and out."""

    def export_namespace(self, name: str, *, vectors: bool | None = None, format: ExportFormat | None = None) -> Iterator[bytes]:
        """Everything in a namespace as JSON lines, in blocks of bytes. Admin. Raises Unavailable if it breaks off."""
        request, options = exporting(name, vectors=vectors, format=format), self._client._options
        try:
            with self._client.open(request, options.headers(request), httpx.Timeout(options.timeout)) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                yield from response.iter_bytes(BLOCK)
        except httpx.TransportError as error:
            raise error_without_reply(error) from error


class AwaitedTransfer(Transfer[AsyncSender]):
    """Operations that bring a namespace in and out, to be awaited."""

    async def export_namespace(
        self, name: str, *, vectors: bool | None = None, format: ExportFormat | None = None
    ) -> AsyncIterator[bytes]:
        """Everything in a namespace as JSON lines, in blocks of bytes. Admin. Raises Unavailable if it breaks off."""
        request, options = exporting(name, vectors=vectors, format=format), self._client._options
        try:
            async with self._client.open(request, options.headers(request), httpx.Timeout(options.timeout)) as response:
                if not response.is_success:
                    await response.aread()
                    raise error_of(response)
                async for block in response.aiter_bytes(BLOCK):
                    yield block
        except httpx.TransportError as error:
            raise error_without_reply(error) from error


class WaitingOperations(Operations[Sender]):
    """Operations on the log of operations and the change feed."""

    def watch(self, *, after: str = "latest", kind: Names | None = None, namespace: Names | None = None) -> Iterator[Change]:
        """Changes as they come, each once and in order, from now on or after a cursor; without end.

        A connection that breaks, or a service that starts anew, is waited for, and nothing is missed. Raises LociError where the
        first connection fails, the rights end, or changes were swept while it was away.
        """
        watch = Watch(self._client._options, watching(after=after, kind=kind, namespace=namespace))
        while True:
            request, headers = watch.next_request()
            try:
                with self._client.open(request, headers, watch.timeout) as response:
                    if response.is_success:
                        for block in response.iter_bytes():
                            yield from watch.changes(block)
                    else:
                        response.read()
                        watch.refused(response)
            except httpx.TransportError as error:
                watch.lost(error)
            time.sleep(watch.pause())


class AwaitedOperations(Operations[AsyncSender]):
    """Operations on the log of operations and the change feed, to be awaited."""

    async def watch(
        self, *, after: str = "latest", kind: Names | None = None, namespace: Names | None = None
    ) -> AsyncIterator[Change]:
        """Changes as they come, each once and in order, from now on or after a cursor; without end.

        A connection that breaks, or a service that starts anew, is waited for, and nothing is missed. Raises LociError where the
        first connection fails, the rights end, or changes were swept while it was away.
        """
        watch = Watch(self._client._options, watching(after=after, kind=kind, namespace=namespace))
        while True:
            request, headers = watch.next_request()
            try:
                async with self._client.open(request, headers, watch.timeout) as response:
                    if response.is_success:
                        async for block in response.aiter_bytes():
                            for change in watch.changes(block):
                                yield change
                    else:
                        await response.aread()
                        watch.refused(response)
            except httpx.TransportError as error:
                watch.lost(error)
            await anyio.sleep(watch.pause())
