"""Optional: late interaction over the token vectors of all-MiniLM-L6-v2, on this CPU (extra `minilm`; needs torch)."""

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from service.embedding.minilm import load_model
from service.llm.model import ModelError
from service.rerank.late_interaction import Pieces, interactions
from service.rerank.reranker import Judgement
from service.settings import RerankSettings

log = logging.getLogger(__name__)
WEIGHT = 0.8  # measured: docs/design/relevance.md
LONGEST = 256  # pieces of a text that the model was made for
BATCH = 16  # texts at once; between two of them a judgement that nobody waits for ends
KEPT = 100_000  # pieces whose vectors are kept: 77 MB


class MiniLMReranker:
    """Judges in one thread, one question after the other. The vectors of texts that were judged lately are kept."""

    is_endpoint = False
    reads_turns = True
    name = "minilm/late-interaction"

    def __init__(self, settings: RerankSettings) -> None:
        self.weight = WEIGHT if settings.weight is None else settings.weight
        self._model = load_model()
        self._thread = ThreadPoolExecutor(1, "rerank")
        self._kept: OrderedDict[str, Pieces] = OrderedDict()
        self._size = 0

    async def judge(
        self, query: str, texts: Sequence[str], *, deadline: float, before: Sequence[str | None] | None = None
    ) -> Judgement:
        """Judge in another thread. Raises ModelError where that takes too long."""
        over = threading.Event()
        try:
            async with asyncio.timeout(deadline):
                return await asyncio.get_running_loop().run_in_executor(self._thread, self._judge, query, texts, before, over)
        except TimeoutError:
            raise ModelError(f"MiniLM had not judged after {deadline:.2g} s (LOCI_RERANK__DEADLINE)") from None
        except RuntimeError as error:  # torch's; its words may hold anything
            raise ModelError(f"MiniLM failed ({type(error).__name__})") from None
        finally:
            over.set()

    def _judge(self, query: str, texts: Sequence[str], before: Sequence[str | None] | None, over: threading.Event) -> Judgement:
        (question,) = self._read([query])
        earlier = before or [None] * len(texts)
        wanted = dict.fromkeys([*texts, *(text for text in earlier if text is not None)])
        missing = sorted((text for text in wanted if text not in self._kept), key=len)
        read: dict[str, Pieces] = {text: self._kept[text] for text in wanted if text in self._kept}
        for start in range(0, len(missing), BATCH):
            if over.is_set():
                raise ModelError("nobody waits any more")
            batch = missing[start : start + BATCH]
            read |= zip(batch, self._read(batch), strict=True)
        self._keep(read)
        turns = [None if text is None else read[text] for text in earlier]
        return Judgement(interactions(question, [read[text] for text in texts], turns))

    def _read(self, texts: list[str]) -> list[Pieces]:
        """Pieces of texts without the marks at their ends."""
        import torch

        features = self._model.tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
        with torch.inference_mode():
            states = self._model.forward(dict(features))["token_embeddings"]
            vectors = torch.nn.functional.normalize(states, dim=-1).numpy().astype(np.float16)
        ids, lengths = features["input_ids"].numpy().astype(np.int32), features["attention_mask"].sum(dim=1).tolist()
        return [Pieces(ids[n, 1 : length - 1], vectors[n, 1 : length - 1].copy()) for n, length in enumerate(lengths)]

    def _keep(self, read: dict[str, Pieces]) -> None:
        """Keep what was read, and drop what has not been asked for the longest."""
        for text, pieces in read.items():
            if text not in self._kept:
                self._size += len(pieces.ids)
            self._kept[text] = pieces
            self._kept.move_to_end(text)
        while self._size > KEPT:
            _, dropped = self._kept.popitem(last=False)
            self._size -= len(dropped.ids)

    async def close(self) -> None:
        """End the thread; what is being judged is given up."""
        self._thread.shutdown(wait=False, cancel_futures=True)
