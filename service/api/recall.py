"""Recall: one hybrid search (rows R1 to R8)."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from db import feedback, memories, search
from db.pool import Transaction
from service.api.common import problems
from service.caller import CallerDependency
from service.recall import ARMS, Question, make_scope, recall
from service.replies import reply
from service.schemas import Label, RecallInput, RecallOut, Text

router = APIRouter(tags=["recall"])


@router.post("/recall", response_model=RecallOut, responses=problems(404))
@router.post("/memory/recall", response_model=RecallOut, responses=problems(404), include_in_schema=False)
async def ask(body: RecallInput, caller: CallerDependency) -> Response:
    """Find the memories that answer a question: by words, by meaning, through the graph, and around the best hits.

    Constraints of the entities that it names, and of pinned ones, come with the answer.
    """
    question = Question(
        query=body.query,
        k=body.k,
        arms=tuple(dict.fromkeys(body.arms)) if body.arms else ARMS,
        weights=body.weights.model_dump(exclude_none=True) if body.weights else {},
        fusion=body.fusion,
        rrf_k=body.rrf_k,
        scope=make_scope(body.filters.stated() if body.filters else {}, body.as_of, body.known_at),
        embedding=body.embedding,
        explain=body.explain,
        session_id=body.session_id,
    )
    state = caller.state
    pending = await caller.read(lambda tx: recall(tx, question, state.provider, state.settings.embedding))
    answer = await pending.answer()
    return reply(
        {
            "results": answer.results,
            "constraints": answer.constraints,
            "entities": answer.entities,
            "skipped": answer.skipped,
            "took_ms": answer.took_ms,
        }
    )


@router.get("/memory/search", responses=problems())
async def search_words(
    caller: CallerDependency,
    q: Annotated[Text, Query(min_length=1, max_length=10_000)],
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    session_id: Annotated[Label | None, Query(description="The conversation that asks, as in recall")] = None,
) -> Response:
    """Search by words alone: BM25 order."""

    async def work(tx: Transaction) -> list[dict[str, object]]:
        found = await search.search_text(tx, query=q, limit=limit, scope=search.Scope({}))
        scores = {row["id"]: row["score"] for row in found}
        if session_id is not None:
            await feedback.note_recall(tx, session_id=session_id, documents=[row["doc_id"] for row in found])
        rows = await memories.get_memories(tx, ids=list(scores))
        return [{**{k: v for k, v in row.items() if k != "cursor"}, "score": scores[row["id"]]} for row in rows]

    return reply({"results": await caller.read(work)})
