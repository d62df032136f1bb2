"""Which part of a long text answers a question: the best window by words and by meaning, and what stands around it.

Words are ranked in the database, as those of memories are (loci_api.rank_windows). Meaning counts where a model in this process
compares windows cheaply; an endpoint elsewhere is not asked. Without a question, or where nothing matches, a text begins at its
beginning.
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np

from db.pool import JsonObject, Transaction
from db.recall.passage_windows import rank_windows
from service.embedding.active_model import ActiveModel, active_model
from service.embedding.provider import EmbeddingError, Provider, WordProvider
from service.recall.ranking import Ranking
from service.recall.sources import unpack_hit
from service.recall.unembedded import ENDPOINT
from service.text.passages import LEAST_PASSAGE_CHARACTERS, WINDOW, Passage, cut_windows, fair_share, passage_around

PART, WHOLE = 8000, 100_000  # characters of a long text that are looked into closely: where words lead there, and elsewhere
LINE = 120  # characters that stand beside a content in its line
MEANING = 0.5  # of the best window by meaning, against 1 of the best by words
CHEAP, DEAR = 1000, 48  # windows that are embedded: where a vector is a sum over words, and where a model reads each
QUESTION = 2000  # characters of a question whose meaning is compared


async def find_passages(
    tx: Transaction, query: str | None, texts: Sequence[str], longest: int, provider: Provider | None
) -> list[Passage]:
    """The passage of each text that answers a question, at most so long."""
    if not query or not texts:
        return [passage_around(text, cut := cut_windows(text, longest), [0.0] * len(cut), longest) for text in texts]
    ranges = await _choose_promising_parts(tx, query, texts)
    parts = [text[start:end] for text, (start, end) in zip(texts, ranges, strict=True)]
    windows = [cut_windows(part, longest) for part in parts]
    scores = await _score_windows(tx, query, parts, windows, active_model(provider))
    found = [passage_around(part, cut, score, longest) for part, cut, score in zip(parts, windows, scores, strict=True)]
    return [
        Passage(passage.text, start + passage.start, start + passage.end) for passage, (start, _) in zip(found, ranges, strict=True)
    ]


async def _choose_promising_parts(tx: Transaction, query: str, texts: Sequence[str]) -> list[tuple[int, int]]:
    """Which part of each text is looked into closely: of a long one that with the best words, else as much as is cheap."""
    ranges = [(0, WHOLE)] * len(texts)
    long = [number for number, text in enumerate(texts) if len(text) > PART]
    steps = [(number, start) for number in long for start in range(0, len(texts[number]), PART - WINDOW)]
    if steps:
        parts = [texts[number][start : start + PART] for number, start in steps]
        best: dict[int, float] = {}
        for row in await rank_windows(tx, query=query, texts=[number for number, _ in steps], windows=parts):
            number, start = steps[row["nth"] - 1]
            if row["score"] > best.get(number, 0.0):
                best[number], ranges[number] = row["score"], (start, start + PART)
    return ranges


async def _score_windows(
    tx: Transaction, query: str, texts: Sequence[str], windows: Sequence[list[tuple[int, int]]], used: ActiveModel
) -> list[list[float]]:
    """How well each window answers: its score by words over the best of its text, and a part for its meaning."""
    numbers = [number for number, cut in enumerate(windows) for _ in cut]
    parts = [text[start:end] for text, cut in zip(texts, windows, strict=True) for start, end in cut]
    by_words = np.zeros(len(parts))
    for row in await rank_windows(tx, query=query, texts=numbers, windows=parts):
        by_words[row["nth"] - 1] = row["score"]
    near = await _window_cosines(query, parts, by_words, used)
    scores, first = [], 0
    for cut in windows:
        of_text = slice(first, first + len(cut))
        scores.append((_share_of_best(by_words[of_text]) + MEANING * _above_least(near[of_text])).tolist())
        first += len(cut)
    return scores


async def _window_cosines(query: str, parts: list[str], by_words: np.ndarray, used: ActiveModel) -> np.ndarray:
    """Cosines of windows with the question; NaN where none was made. The best windows by words get one, then the first ones."""
    near = np.full(len(parts), np.nan)
    provider = used.provider
    if provider is None or provider.name.startswith(ENDPOINT):
        return near
    chosen = np.argsort(-by_words, kind="stable")[: CHEAP if isinstance(provider, WordProvider) else DEAR]
    try:
        vectors = await used.embed([query[:QUESTION], *(parts[nth] for nth in chosen)])
    except EmbeddingError:
        return near
    near[chosen] = vectors[1:] @ vectors[0]
    return near


def _share_of_best(scores: np.ndarray) -> np.ndarray:
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else scores


def _above_least(near: np.ndarray) -> np.ndarray:
    """Cosines from 0, the least of a text, to 1, the greatest; 0 where there is none."""
    known = near[~np.isnan(near)]
    spread = known.max() - known.min() if known.size else 0.0
    return np.nan_to_num((near - known.min()) / spread) if spread > 0 else np.zeros(near.shape)


def long_results(ranking: Ranking, rows: Mapping[int, JsonObject], room: int) -> tuple[list[int], int]:
    """Results whose contents are longer than their share of `room`, and how long a passage of them is."""
    contents = {key: _find_long_content(rows[key]) for key in ranking.best if key in rows}
    share = max(LEAST_PASSAGE_CHARACTERS, fair_share((len(content) + LINE for content in contents.values()), room) - LINE)
    return [key for key, content in contents.items() if len(content) > share], share


async def add_passages(
    ranking: Ranking, rows: Mapping[int, JsonObject], long: Sequence[int], longest: int, provider: Provider | None
) -> None:
    """Say of long results which passage answers: a call for each namespace that they are of."""
    places: dict[int, list[int]] = {}
    for key in long:
        places.setdefault(unpack_hit(key)[0], []).append(key)
    for place, keys in places.items():
        tx, query = ranking.asked.sources[place].tx, ranking.plan.question.query
        found = await find_passages(tx, query, [_find_long_content(rows[key]) for key in keys], longest, provider)
        for key, passage in zip(keys, found, strict=True):
            rows[key]["passage"] = vars(passage)


def _find_long_content(row: JsonObject) -> str:
    """The long text of a result, if there is one."""
    content = row["value"] if "value" in row else row["content"]
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
