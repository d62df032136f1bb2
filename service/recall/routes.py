"""Recall: one hybrid search, lexical search, and the log of recalls."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Path, Query
from fastapi.responses import Response
from psycopg.errors import InsufficientPrivilege, NoDataFound

from loci.models.fields import Category, Label, Tags, Text
from loci.models.jobs import JobQueued
from loci.models.recall import (
    MemoryRecallPage,
    RecallDetail,
    RecallInput,
    RecallOut,
    RecallPage,
    SearchOut,
    TuneInput,
    WhyNot,
    WhyNotInput,
)
from service.http.caller import CallerDependency, Work
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import AsOf, Cursor, KnownAt, Limit, MemoryId
from service.recall import lexical_search, log
from service.recall.pipeline import recall_memories
from service.recall.question import make_scope, question_of
from service.recall.tuning import request_tuning
from service.recall.why_not import explain_absence

router = Router(tags=["recall"])
RecallId = Annotated[UUID, Path(description="Id of the recall")]


@router.post("/recall", response_model=RecallOut, responses=document_problems(404))
@router.post("/memory/recall", response_model=RecallOut, responses=document_problems(404), include_in_schema=False)
async def ask(body: RecallInput, caller: CallerDependency) -> Response:
    """Find the memories that answer a question: by words, by meaning, through the graph, and around the best hits.

    Constraints of the entities that it names, and of pinned ones, come with the answer. A reranker, where one is configured, judges
    the best results once more (`rerank`), and a language model can rewrite the question (`rewrite`); `skipped` says what failed.
    """
    question, resources = question_of(body), caller.state.resources
    role = "reader" if question.namespaces is None else None  # else each namespace is authorized when it is asked

    async def read_step(step: Work) -> Any:
        return await caller.read(step, role)

    async def read_once(step: Work) -> Any:
        return await caller.read(step, role, single=True)

    try:
        answer = await recall_memories(resources, read_step, question, read_once, (caller.owner, caller.namespace))
    except (InsufficientPrivilege, NoDataFound):
        if question.namespaces != "*":
            raise
        answer = await recall_memories(
            resources, read_step, question
        )  # a grant or a namespace ended meanwhile: the others are asked
    return reply_json(answer.to_reply())


@router.post("/recall/tune", status_code=202, response_model=JobQueued, responses=document_problems(404))
async def tune(body: TuneInput, caller: CallerDependency) -> Response:
    """Measure which settings of a recall bring back best what answers these questions, by cross-validation. Admins.

    A job does it. Its `result` says what is proposed (`settings`), what that gains on questions that took no part in the choice
    (`gain`: per cent of nDCG, with its standard error), and what each arm is worth by itself; `verdict` is too few, keep or change.
    With `apply` the proposal becomes the settings of the namespace, which `operation_id` takes back.
    """
    return await caller.write(lambda tx: request_tuning(tx, body), role="admin", status=202)


@router.post("/recall/why-not", response_model=WhyNot, responses=document_problems(404))
async def why_not(body: WhyNotInput, caller: CallerDependency) -> Response:
    """Say why a recall does not bring a memory: the time, status, filter, arm, relevance or rank that dropped it.

    The recall is asked as it is, and not logged.
    """
    return reply_json(await explain_absence(caller.state.resources, caller.read, question_of(body.recall), body.memory))


@router.get("/memory/search", response_model=SearchOut, responses=document_problems(404))
async def search_words(
    caller: CallerDependency,
    q: Annotated[Text, Query(min_length=1, max_length=10_000, description="Words to look for")],
    limit: Annotated[int, Query(ge=1, le=100, description="How many results at most")] = 10,
    category: Annotated[Category | None, Query(description="This category and all below it")] = None,
    tags: Annotated[Tags | None, Query(description="Any of these; repeatable")] = None,
    session_id: Annotated[Label | None, Query(description="The conversation that asks, as in recall")] = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Response:
    """Search by words alone, in BM25 order, and show what the graph knows.

    That is the entities that the question names, their rules, and the entities that each result mentions.
    """
    scope = make_scope({"category": category, "tags": tags}, as_of, known_at)
    return reply_json(
        await caller.read(lambda tx: lexical_search.search_words(tx, query=q, limit=limit, scope=scope, session_id=session_id))
    )


@router.get("/recalls", response_model=RecallPage, responses=document_problems(404))
async def list_recalls(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Cursor = None,
    session_id: Annotated[Label | None, Query(description="Of this conversation")] = None,
) -> Response:
    """List logged recalls, newest first."""
    return reply_json(await caller.read(lambda tx: log.list_recalls(tx, session_id=session_id, limit=limit, cursor=cursor)))


@router.get("/memories/{id}/recalls", response_model=MemoryRecallPage, responses=document_problems(404))
async def list_memory_recalls(id: MemoryId, caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """List logged recalls that had this version of a memory in their answer, newest first: its rank, and how it was rated."""
    return reply_json(await caller.read(lambda tx: log.list_memory_recalls(tx, id=id, limit=limit, cursor=cursor)))


@router.get("/recalls/{id}", response_model=RecallDetail, responses=document_problems(404))
async def get_recall(id: RecallId, caller: CallerDependency) -> Response:
    """Show a logged recall: what it answered, by which arms, and what became of that."""
    return reply_json(await caller.read(lambda tx: log.get_recall(tx, id=id)))


@router.delete("/recalls/{id}", status_code=204, responses=document_problems(404))
async def delete_recall(id: RecallId, caller: CallerDependency) -> Response:
    """Take a recall out of the log, question and all."""
    async with caller.transaction("writer") as tx:
        await log.delete_recall(tx, id=id)
    return Response(status_code=204)
