"""Vectors of texts that are embedded again and again, such as entries of working memory, which no table keeps a vector for."""

from collections import OrderedDict
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from service.embedding.provider import Provider, Vectors

KEPT_VECTORS = 10_000  # of 256 dimensions: 10 MiB


class VectorCache:
    """The vectors that were used last, by model and text; of a text its hash alone is kept."""

    def __init__(self, kept: int = KEPT_VECTORS) -> None:
        self._kept = kept
        self._vectors: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()

    async def embed(self, provider: Provider, texts: list[str], *, timeout: float) -> Vectors:
        """Vectors of texts: float32, shape (len(texts), dimensions); one call for what is not kept. Raises EmbeddingError."""
        model = provider.name
        keys = [blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        found = {key: self._vectors[key] for key in keys if key not in missing}
        if missing:
            made = await provider.embed(list(missing.values()), timeout=timeout)
            found |= dict(zip(missing, made, strict=True))
        for key in found:
            self._vectors[key] = found[key]
            self._vectors.move_to_end(key)
        while len(self._vectors) > self._kept:
            self._vectors.popitem(last=False)
        return np.stack([found[key] for key in keys])
