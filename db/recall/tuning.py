"""Questions with the memories that answer them: wrappers of the SQL functions."""

from typing import TypedDict
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import JsonObject, Transaction


class EvidenceRow(TypedDict):
    """Memories that answer the question at this place: the versions that hold now."""

    place: int
    ids: list[UUID]
    documents: list[int]


class RatedQuestion(TypedDict):
    """A question that was asked, and memories that were called useful."""

    question: str
    ids: list[UUID]


async def tuning_evidence(tx: Transaction, *, questions: list[JsonObject], lenient: bool = False) -> list[EvidenceRow]:
    """Memories that answer each question {question, ids?, contents?} now; `lenient`: those that are still there."""
    return await tx.rows(
        EvidenceRow,
        "select * from loci_api.tuning_evidence(%(namespace)s, %(questions)s, %(lenient)s)",
        questions=Jsonb(questions),
        lenient=lenient,
    )


async def rated_questions(tx: Transaction, *, limit: int) -> list[RatedQuestion]:
    """Questions of logged recalls with what was called useful, newest first."""
    return await tx.rows(RatedQuestion, "select * from loci_api.rated_questions(%(namespace)s, %(limit)s)", limit=limit)


async def default_settings(tx: Transaction) -> JsonObject:
    """Settings of a namespace that sets none."""
    row: JsonObject = await tx.value(dict, "select loci.default_settings() as settings")
    return row
