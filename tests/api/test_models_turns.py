"""A turn's vector: what was said before it, and with more weight what it says itself."""

import numpy as np
import pytest

from service.embedding.claimed_rows import embed_claimed_rows, split_sentences
from service.embedding.provider import Vectors, normalise_rows


class Letters:
    """A provider whose vectors count the letters a, b, c."""

    name = "letters"
    weight = 1.0

    def __init__(self, focus: float) -> None:
        self.focus = focus
        self.asked: list[str] = []

    async def dimensions(self) -> int:
        return 3

    async def embed(self, texts: list[str], *, timeout: float | None = None) -> Vectors:  # noqa: ARG002 (the protocol's)
        self.asked += texts
        return normalise_rows(np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=np.float32))

    async def close(self) -> None:
        pass


TURN = {"text": "aaa\nb. c", "speaker": None, "said": "b. c"}


@pytest.mark.row("R8")
@pytest.mark.anyio
async def test_with_focus_the_mean_of_its_own_sentences_is_added() -> None:
    (vector,) = await embed_claimed_rows(Letters(2.0), [TURN])
    whole, own = np.array([3, 1, 1]) / 11**0.5, np.array([0, 1, 1]) / 2**0.5
    expected = whole + 2 * own
    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("focus", "row"),
    [(0.0, TURN), (2.0, {**TURN, "said": None}), (2.0, {"text": "aaa\nb. c"})],
    ids=["none", "no turn", "an entity"],
)
async def test_without_focus_or_without_a_turn_the_vector_is_that_of_the_text(focus: float, row: dict[str, str | None]) -> None:
    provider = Letters(focus)
    (vector,) = await embed_claimed_rows(provider, [row])
    assert provider.asked == ["aaa\nb. c"]
    assert vector == pytest.approx(np.array([3, 1, 1]) / 11**0.5, abs=1e-6)


@pytest.mark.anyio
async def test_rows_keep_their_order_whichever_of_them_are_turns() -> None:
    provider = Letters(1.0)
    vectors = await embed_claimed_rows(provider, [{"text": "a"}, {"text": "b", "speaker": "Ann", "said": "b"}, {"text": "c"}])
    assert vectors == pytest.approx(np.eye(3), abs=1e-6)
    assert provider.asked == ["a", "b", "c", "Ann: b"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("", []),
        ("no end", ["no end"]),
        ("雨だ。寒い。", ["雨だ。", "寒い。"]),
        ("a\n\nb", ["a", "b"]),
    ],
)
def test_a_text_is_cut_at_the_ends_of_its_sentences(text: str, parts: list[str]) -> None:
    assert split_sentences(text) == parts


def test_a_turn_of_a_thousand_sentences_costs_no_more_than_fifty() -> None:
    assert len(split_sentences("So. " * 1000)) == 50
