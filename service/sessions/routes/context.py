"""Context: one call builds what an agent injects before an inference."""

from typing import Any

from fastapi.responses import Response

from db.pool import Transaction
from loci.models.sessions import ContextInput, ContextOut
from service.http.caller import CallerDependency, Work
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import Space
from service.sessions import context

router = Router(tags=["context"])


@router.post("/context", response_model=ContextOut, responses=document_problems(404, 409, 410))
async def build_context(body: ContextInput, caller: CallerDependency, space: Space = None) -> Response:
    """Build what to inject before an inference: memories that the session has not seen yet, rules, graph, working memory, turns.

    With a session the key must be allowed to write: what is shown is stored, and not shown to this session again. A `preview`
    stores nothing, and needs no more than reading.
    """
    request = context.request_of(body, space, caller.state.settings.max_chars)
    reads, state = body.session_id is None or body.preview, caller.state
    built: list[dict[str, Any]] = []

    async def read_step(step: Work) -> Any:
        return await caller.read(step, creates=not reads)

    ranked = await context.rerank_context(state.resources, read_step, request)

    async def build_in_transaction(tx: Transaction) -> dict[str, Any]:
        built[:] = [await context.build_context(tx, request, state.provider, state.settings.embedding, ranked)]
        return built[0]

    response = reply_json(await caller.read(build_in_transaction)) if reads else await caller.write(build_in_transaction)
    for done in [] if body.preview else built:  # none where the reply is one that was kept
        context.count_context(done)
    return response
