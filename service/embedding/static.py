"""The default: static token vectors, averaged. 256 dimensions (or the first 128 or 64), on the CPU.

Shipped inside the package wordllama.
"""

import asyncio
import logging
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from service.embedding.provider import THREAD_CHARACTERS, Vectors, Words, normalise_rows

DIMENSIONS = 256
SHORTER = (64, 128)  # the model was trained so that the first dimensions of a vector are a vector too
REMEMBERED = 0  # words whose tokens the tokenizer keeps; by itself it keeps 10,000, which are up to 120 MiB
MOST_WORDS = 64  # of a question that is weighed word by word; each is a vector that travels to the database
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
TOKENS_AT_ONCE = 2048  # of a batch, padded to its longest: 2 MiB a matrix, which fits a cache; 16,384 were a third slower


@cache
def _load_model(dimensions: int | None) -> Any:
    """The model, cut to its first dimensions if they are given: once in a process, as it is only read."""
    logging.getLogger().addHandler(logging.NullHandler())  # importing wordllama would configure the root logger
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise RuntimeError("the package wordllama is not installed")
    import wordllama

    # The wheel holds weights and tokenizer; its own look-up would miss the tokenizer and download it.
    model = wordllama.WordLlama.load(cache_dir=Path(spec.origin).parent, disable_download=True, trunc_dim=dimensions)
    model.tokenizer.model._resize_cache(REMEMBERED)  # it takes whole texts for words
    return model


class StaticProvider:
    """wordllama's l2_supercat model. A query takes about 0.1 ms, a thousand short texts 40 ms."""

    weight = 1.0
    focus = 0.0

    def __init__(self, dimensions: int | None = None) -> None:
        cut = dimensions if dimensions in SHORTER else None
        self.name = f"static/wordllama-{cut or DIMENSIONS}"
        self._model = _load_model(cut)

    async def dimensions(self) -> int:
        """Length of its vectors."""
        return int(self._model.embedding.shape[1])

    async def embed(self, texts: list[str], *, timeout: float | None = None) -> Vectors:  # noqa: ARG002 (the protocol's)
        """Embed in this thread when it is one short text, else in another."""
        if len(texts) == 1 and len(texts[0]) < THREAD_CHARACTERS:
            return self._embed_texts(texts)
        return await asyncio.to_thread(self._embed_texts, texts)

    def _embed_texts(self, texts: list[str]) -> Vectors:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors = np.empty((len(texts), self._model.embedding.shape[1]), dtype=np.float32)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end - start + 1) * (len(texts[order[end]]) // 3 + 1) <= TOKENS_AT_ONCE:
                end += 1
            rows = order[start:end]
            vectors[rows] = self._model.embed([texts[i] or " " for i in rows], batch_size=len(rows))
            start = end
        return normalise_rows(vectors)

    def words(self, text: str) -> Words | None:
        """The words of a question with the sums of their tokens' vectors; None for more than 64."""
        spans = [(found.start(), found.end(), found.group()) for found in WORD.finditer(text)]
        if not 0 < len({word for _, _, word in spans}) <= MOST_WORDS:
            return None
        encoded = self._model.tokenizer.encode(text, add_special_tokens=False)
        names: dict[str, int] = {}
        owners, at = [], 0
        for start, end in encoded.offsets:  # both are in the order of the text: one look at each, however many there are
            while at < len(spans) and spans[at][1] <= start:
                at += 1
            word = spans[at][2] if at < len(spans) and spans[at][0] < end else ""
            owners.append(names.setdefault(word, len(names)))
        sums = np.zeros((len(names), self._model.embedding.shape[1]), dtype=np.float32)
        np.add.at(sums, owners, self._model.embedding[encoded.ids].astype(np.float32))
        return Words(list(names), sums)

    async def close(self) -> None:
        """Nothing to release."""
