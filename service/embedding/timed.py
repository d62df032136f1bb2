"""A provider whose calls are timed and traced; what is embedded is not said."""

import time

from db import traces
from service.embedding.provider import Provider, Vectors, WordProvider, Words
from service.observability.metrics import EMBED_SECONDS


class Timed:
    """Passes everything on to a provider."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.name = provider.name
        self.weight = provider.weight
        self.focus = provider.focus

    async def dimensions(self) -> int:
        """Length of its vectors."""
        return await self._provider.dimensions()

    async def embed(self, texts: list[str], *, timeout: float | None = None) -> Vectors:
        """Embed texts; with a timeout somebody waits for the vector of a question."""
        started = time.perf_counter()
        with traces.span("embed", {"gen_ai.request.model": self.name, "loci.texts": len(texts)}):
            vectors = await self._provider.embed(texts, timeout=timeout)
        EMBED_SECONDS.labels("batch" if timeout is None else "question").observe(time.perf_counter() - started)
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
