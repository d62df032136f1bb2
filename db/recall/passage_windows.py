"""Windows of long texts, ranked by the words of a question."""

from typing import TypedDict

from db.pool import Transaction


class RankedWindow(TypedDict):
    """A window of a long text, by its place from 1, that has words of a question."""

    nth: int
    score: float


async def rank_windows(tx: Transaction, *, query: str, texts: list[int], windows: list[str]) -> list[RankedWindow]:
    """Windows by the words of a question, each scored among those of its text; `texts` says which that is."""
    return await tx.rows(
        RankedWindow,
        "select nth, score from loci_api.rank_windows(%(namespace)s, %(query)s, %(texts)s::integer[], %(windows)s::text[])",
        query=query,
        texts=texts,
        windows=windows,
    )
