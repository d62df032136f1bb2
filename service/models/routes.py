"""Calls of language models and their budget; embedding models, and how far another is that is to take the place of one."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query
from fastapi.responses import Response
from pydantic import BeforeValidator

from loci.models.fields import Day, Label
from loci.models.jobs import JobQueued
from loci.models.models import EmbeddingModels, ModelCallPage, ModelUsage, ProjectionInput
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import KnownAt, Limit
from service.models import embedding_models, projection, umap_job, usage

call_routes = Router(tags=["models"])
embedding_routes = Router(tags=["embeddings"])


@call_routes.get("/model-calls", response_model=ModelCallPage, responses=document_problems(404))
async def list_model_calls(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Annotated[UUID | None, Query(description="`next_cursor` of the page before")] = None,
    purpose: Annotated[Label | None, Query(description="Such as memories or retain")] = None,
    job_id: Annotated[UUID | None, Query(description="Of this job")] = None,
) -> Response:
    """List calls of the language model, newest first: what for, tokens, cost and time. Kept for the setting job_days."""
    return reply_json(
        await caller.read(lambda tx: usage.list_model_calls(tx, limit=limit, cursor=cursor, purpose=purpose, job_id=job_id))
    )


@call_routes.get("/model-usage", response_model=ModelUsage, responses=document_problems(404))
async def model_usage(
    caller: CallerDependency, day: Annotated[Day | None, Query(description="Of this day (UTC); default: today")] = None
) -> Response:
    """Show what calls of the language model have used on a day, and what is left of its budget."""
    return reply_json(await caller.read(lambda tx: usage.model_usage(tx, day=day)))


@embedding_routes.get("/embeddings/models", response_model=EmbeddingModels, responses=document_problems())
async def list_models(caller: CallerDependency) -> Response:
    """Embedding models: the active one, one that is being filled behind it, and those of before. `loci reembed` changes it."""
    return reply_json(await caller.read(embedding_models.list_embedding_models, role=None))


@embedding_routes.get(
    "/embeddings/projection",
    response_class=Response,
    responses={
        200: {"content": {projection.MEDIA: {"schema": {"type": "string", "format": "binary"}}}, "description": "The map"},
        **document_problems(404),
    },
)
async def project_memories(
    caller: CallerDependency,
    dims: Annotated[Literal[2, 3], BeforeValidator(int), Query(description="A flat map, or one in space")] = 2,
    method: Annotated[projection.Method, Query(description="pca: principal components; umap: as a job has laid it out")] = "pca",
    known_at: KnownAt = None,
    clusters: Annotated[bool, Query(description="Also to which cluster each belongs, and what these are called")] = False,
) -> Response:
    """The map of all memories, every version that is not forgotten: where each stands, in binary.

    The axes are kept by model, so a memory that is added moves no other; they are found anew when there are ten times as many, or
    one was erased. By UMAP memories stand where `POST /embeddings/projection` has laid them out, new ones between those nearest
    to them; `waiting` in the header says how many have no place yet.
    """
    read, resources = caller.read, caller.state.resources
    packed = await projection.project_memories(resources, read, method=method, dims=dims, known_at=known_at, clusters=clusters)
    return Response(packed, media_type=projection.MEDIA)


@embedding_routes.post("/embeddings/projection", status_code=202, response_model=JobQueued, responses=document_problems(404))
async def make_projection(body: ProjectionInput, caller: CallerDependency) -> Response:
    """Lay the map out anew by UMAP: what is alike stands together, in clusters that principal components do not show.

    A job does it (kind project): while it runs, its `result` says how far it is (`stage`, `done`, `of`), and the map before
    stays. Cancel it as any job.
    """
    return await caller.write(lambda tx: umap_job.request_layout(tx, dims=body.dims), status=202)
