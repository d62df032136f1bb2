"""Calls of language models and their budget; embedding models, and how far another is that is to take the place of one."""

from datetime import date
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response

from loci.models.fields import Label
from loci.models.models import EmbeddingModels, ModelCallPage, ModelUsage
from service.http.caller import CallerDependency
from service.http.parameters import Limit
from service.http.replies import reply
from service.http.responses import problems
from service.models import embedding_models, usage

call_routes = APIRouter(tags=["models"])
embedding_routes = APIRouter(tags=["embeddings"])


@call_routes.get("/model-calls", response_model=ModelCallPage, responses=problems(404))
async def list_model_calls(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Annotated[UUID | None, Query(description="`next_cursor` of the page before")] = None,
    purpose: Annotated[Label | None, Query(description="Such as memories or retain")] = None,
    job_id: Annotated[UUID | None, Query(description="Of this job")] = None,
) -> Response:
    """List calls of the language model, newest first: what for, tokens, cost and time. Kept for the setting job_days."""
    return reply(
        await caller.read(lambda tx: usage.list_model_calls(tx, limit=limit, cursor=cursor, purpose=purpose, job_id=job_id))
    )


@call_routes.get("/model-usage", response_model=ModelUsage, responses=problems(404))
async def model_usage(
    caller: CallerDependency, day: Annotated[date | None, Query(description="Of this day (UTC); default: today")] = None
) -> Response:
    """Show what calls of the language model have used on a day, and what is left of its budget."""
    return reply(await caller.read(lambda tx: usage.model_usage(tx, day=day)))


@embedding_routes.get("/embeddings/models", response_model=EmbeddingModels, responses=problems())
async def list_models(caller: CallerDependency) -> Response:
    """Embedding models: the active one, one that is being filled behind it, and those of before. `loci reembed` changes it."""
    return reply(await caller.read(embedding_models.list_embedding_models, role=None))
