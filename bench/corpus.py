"""Texts and questions: of the question sets where they are there, else of a vocabulary with Zipf's frequencies."""

import asyncio
import random
import re
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.quality.sets import read
from service.embedding.static import StaticProvider

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
SHORTEST = 20
SYLLABLES = ("ba", "ke", "li", "mo", "ru", "ta", "ne", "so", "vi", "da", "po", "ze", "ga", "hi", "lu", "fe")


@cache
def words(count: int) -> tuple[str, ...]:
    """Distinct made-up words that no stemmer changes and no stop list holds."""
    found = []
    for number in range(count):
        rest, word = number, ""
        for _ in range(4):
            rest, digit = divmod(rest, len(SYLLABLES))
            word += SYLLABLES[digit]
        found.append(word + "k")
    return tuple(found)


def generated(count: int, *, seed: int, length: int = 12) -> list[str]:
    """Sentences of a vocabulary of 20,000 words with Zipf's frequencies."""
    vocabulary = np.asarray(words(20_000))
    chances = 1 / np.arange(1, len(vocabulary) + 1)
    drawn = np.random.default_rng(seed).choice(vocabulary, size=(count, length), p=chances / chances.sum())
    return [" ".join(row).capitalize() + "." for row in drawn]


def turns(data: Path | None) -> list[str]:
    """Turns of the dialogues."""
    if data is None:
        return generated(3000, seed=1, length=20)
    return [row["text"] for row in read(data / "locomo" / "documents.jsonl")]


def sentences(data: Path | None) -> list[str]:
    """Distinct sentences of all sets, in random order."""
    if data is None:
        return generated(40_000, seed=2)
    found: dict[str, None] = {}
    for path in sorted(data.glob("*/documents.jsonl")):
        for row in read(path):
            found.update(dict.fromkeys(s.strip() for s in SENTENCE_END.split(row["text"]) if len(s) > SHORTEST))
    order = list(found)
    random.Random(3).shuffle(order)
    return order


def questions(data: Path | None, pattern: str = "*") -> list[str]:
    """Questions of the sets, in random order."""
    if data is None:
        return generated(1000, seed=4, length=6)
    found = [row["text"] for path in sorted(data.glob(f"{pattern}/queries.jsonl")) for row in read(path)]
    random.Random(5).shuffle(found)
    return found


def recombined(parts: list[str], count: int, *, seed: int, pieces: int = 2) -> list[str]:
    """Distinct texts, each of some parts drawn at random."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(draw.choice(parts) for _ in range(pieces))] = None
    return list(found)


@cache
def provider() -> StaticProvider:
    """The default embedder."""
    return StaticProvider()


def embedded(texts: list[str]) -> NDArray[np.float32]:
    """Unit vectors of texts."""
    return asyncio.run(provider().embed(texts))
