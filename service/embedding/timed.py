"""A provider whose calls are timed and traced; what is embedded is not said."""

import time
from collections.abc import Awaitable

from db import traces
from service.embedding.provider import Provider, Vectors, WordProvider, Words, embed_questions
from service.observability.metrics import EMBED_SECONDS


class Timed:
    """Passes everything on to a provider. `weight`: how much its arm counts; None: as the provider says."""

    def __init__(self, provider: Provider, weight: float | None = None) -> None:
        self._provider = provider
        self.name = provider.name
        self.weight = provider.weight if weight is None else weight
        self.focus = provider.focus

    async def dimensions(self) -> int:
        """Length of its vectors."""
        return await self._provider.dimensions()

    async def embed(self, texts: list[str], *, timeout: float | None = None) -> Vectors:
        """Embed texts; with a timeout somebody waits for the vector of a question."""
        return await self._measure_time(
            self._provider.embed(texts, timeout=timeout), len(texts), "batch" if timeout is None else "question"
        )

    async def embed_questions(self, texts: list[str], *, timeout: float | None = None) -> Vectors:
        """Embed questions."""
        return await self._measure_time(embed_questions(self._provider, texts, timeout=timeout), len(texts), "question")

    async def _measure_time(self, made: Awaitable[Vectors], texts: int, kind: str) -> Vectors:
        started = time.perf_counter()
        with traces.span("embed", {"gen_ai.request.model": self.name, "loci.texts": texts}):
            vectors = await made
        EMBED_SECONDS.labels(kind).observe(time.perf_counter() - started)
        return vectors

    def words(self, text: str) -> Words | None:
        """The words of a question, where the provider can tell them apart."""
        if not isinstance(self._provider, WordProvider):
            return None
        started = time.perf_counter()
        with traces.span("embed", {"gen_ai.request.model": self.name, "loci.texts": 1}):
            found = self._provider.words(text)
        if found is not None:
            EMBED_SECONDS.labels("question").observe(time.perf_counter() - started)
        return found

    async def close(self) -> None:
        """Release what it holds."""
        await self._provider.close()
