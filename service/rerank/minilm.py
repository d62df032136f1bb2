"""Late interaction over the token vectors of all-MiniLM-L6-v2, on this CPU (extra `rerank`)."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from service.embedding.minilm import DIMENSIONS, LONGEST_TEXT_PIECES, TEXTS_PER_BATCH, MiniLM
from service.llm.model import ModelError
from service.rerank.late_interaction import Pieces, score_interactions
from service.rerank.reranker import Judgement, Read, StillReading
from service.settings import RerankSettings

T = TypeVar("T")
WEIGHT = 0.6  # of turns; measured: docs/design/relevance.md
WEIGHT_ALONE = 0.3  # of paragraphs and facts that no conversation surrounds
DEADLINE = 0.5  # seconds
CHARACTERS = 4  # of a piece, about
READINGS = 4  # that go on for judgements that came too late; a further one is not begun
NOTICE = 0.2  # share that the latest batch has in what a piece is believed to take


class MiniLMReranker:
    """Judges in one thread, one question after the other; texts are read a few at a time, so that no question waits for long.

    Readings are not kept here: the caller keeps them, and gives them again.
    """

    is_endpoint = False
    reads_turns = True
    name = "minilm/late-interaction"
    keeps: str | None = "minilm-int8"

    def __init__(self, settings: RerankSettings) -> None:
        self.weight = WEIGHT if settings.weight is None else settings.weight
        self.weight_alone = WEIGHT_ALONE if settings.weight is None else settings.weight
        self.deadline = DEADLINE if settings.deadline is None else settings.deadline
        self._model = MiniLM()
        self._thread = ThreadPoolExecutor(1, "rerank")
        self._pace = 0.0005  # seconds a piece
        self._readings: set[asyncio.Future[Read]] = set()

    async def judge(
        self,
        query: str,
        texts: Sequence[str],
        *,
        deadline: float,
        before: Sequence[str | None] | None = None,
        kept: Mapping[str, bytes] | None = None,
    ) -> Judgement:
        """Judge in another thread. Raises StillReading where that takes too long, ModelError where nothing is read either."""
        started, earlier, there = time.monotonic(), before or [None] * len(texts), kept or {}
        wanted = dict.fromkeys([*texts, *(text for text in earlier if text is not None)])
        reading = self._begin_reading(sorted((text for text in wanted if text not in there), key=len), deadline)
        try:
            async with asyncio.timeout(deadline):
                (question,) = await self._run_in_thread(self._encode_pieces, [query])
                read = await asyncio.shield(reading)
                packed = {**there, **read}
                return Judgement(await self._run_in_thread(_judge_pieces, question, texts, earlier, packed), read=read)
        except TimeoutError:
            spent = f"MiniLM had not judged after {time.monotonic() - started:.2g} s (LOCI_RERANK__DEADLINE)"
            raise StillReading(spent, reading) from None

    def _begin_reading(self, texts: list[str], deadline: float) -> asyncio.Future[Read]:
        """Begin to read. Raises StillReading at once where it cannot be done in time, ModelError where much is being read."""
        if texts and len(self._readings) >= READINGS:
            raise ModelError("MiniLM is still reading what others asked about")
        reading = asyncio.ensure_future(self._read_texts(texts))
        self._readings.add(reading)
        reading.add_done_callback(self._note_end)
        if self._pace * sum(min(LONGEST_TEXT_PIECES, 2 + len(text) // CHARACTERS) for text in texts) > deadline:
            raise StillReading(f"MiniLM reads {len(texts)} texts first: ask again", reading)
        return reading

    def _note_end(self, reading: asyncio.Future[Read]) -> None:
        self._readings.discard(reading)
        _ = reading.cancelled() or reading.exception()  # it may be that nobody waits for it

    async def _read_texts(self, texts: list[str]) -> Read:
        read: Read = {}
        for start in range(0, len(texts), TEXTS_PER_BATCH):
            batch = texts[start : start + TEXTS_PER_BATCH]
            pieces = await self._run_in_thread(self._encode_and_time, batch)
            read |= {text: one.pack_pieces() for text, one in zip(batch, pieces, strict=True)}
        return read

    def _encode_and_time(self, texts: list[str]) -> list[Pieces]:
        started = time.perf_counter()
        pieces = self._encode_pieces(texts)
        spent = (time.perf_counter() - started) / sum(2 + len(one.ids) for one in pieces)
        self._pace += NOTICE * (spent - self._pace)
        return pieces

    def _encode_pieces(self, texts: list[str]) -> list[Pieces]:
        """Pieces of texts without the marks at their ends."""
        return [Pieces.quantise_pieces(ids[1:-1], states[1:-1]) for ids, states in self._model.encode_texts(texts)]

    async def _run_in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        """Run work in the thread. Raises ModelError for what onnxruntime raises, whose words may hold anything."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"MiniLM failed ({type(error).__name__})") from None

    async def close(self) -> None:
        """End the thread; what is being read is given up."""
        for reading in list(self._readings):
            reading.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)


def _judge_pieces(question: Pieces, texts: Sequence[str], before: Sequence[str | None], packed: Mapping[str, bytes]) -> list[float]:
    read = {text: Pieces.unpack_pieces(kept, DIMENSIONS) for text, kept in packed.items()}
    return score_interactions(question, [read[text] for text in texts], [None if turn is None else read[turn] for turn in before])
