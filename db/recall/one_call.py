"""A whole recall in one statement: see loci_api.recall_in_one_call."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.memories import MemoryRow
from db.pool import JsonObject, Transaction
from db.recall.search import QuestionWords, Scope, embedded_parameters


class OneCallRow(MemoryRow):
    """A hit: its document number, score and memory (null behind the first k); `answer` is null but in the first row.

    `statement` null: it is not short, or was not asked for. What stands beside that is of ShortStatement.
    """

    answer: JsonObject | None
    doc_id: int | None
    score: float
    factor: float
    standing: str | None
    contradicts: list[UUID] | None
    statement: str | None
    earlier: list[str] | None
    since: datetime
    stated_at: datetime
    statement_category: str


class AskedOf(TypedDict):
    """What a question asks of, as the fusion counts it.

    `focus`: weight of the embedding model. `said`: it asks what somebody said; `you`: what the assistant said. `days`: length of
    the time that it asks about; `alone`: and it asks of nothing else.
    """

    focus: float
    said: bool
    you: bool
    days: float
    alone: bool


async def recall_in_one_call(
    tx: Transaction,
    *,
    query: str,
    words: QuestionWords | None,
    model: int | None,
    arms: Sequence[str],
    scope: Scope,
    weights: Mapping[str, float],
    k: int,
    statements: int,
    user: str | None,
    period: tuple[datetime | None, datetime | None],
    asked: AskedOf,
) -> list[OneCallRow]:
    """Recall in the transaction's namespace; a first row without `answer` says that this recall goes in steps."""
    return await tx.rows(
        OneCallRow,
        """select (r.memory).*, r.contradicts, r.answer, r.doc_id, r.score, r.factor, r.standing, r.statement, r.earlier, r.since,
                  r.stated_at, r.category as statement_category
           from loci_api.recall_in_one_call(%(namespace)s, %(query)s, %(words)s::text[], %(word_vectors)b::vector[],
               %(model)s::smallint, %(arms)s::text[], %(filters)s, %(as_of)s, %(known_at)s, %(weights)s, %(k)s, %(statements)s,
               %(user)s, %(from)s, %(to)s, %(asked)s) r""",
        query=query,
        model=model,
        arms=list(arms),
        weights=Jsonb(weights),
        k=k,
        statements=statements,
        user=user,
        asked=Jsonb(asked),
        **dict(zip(("from", "to"), period, strict=True)),
        **{name: value for name, value in embedded_parameters(words).items() if name != "embedding"},
        **scope.to_parameters(),
    )
