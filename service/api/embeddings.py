"""Embedding models: which one serves, and how far another is that is to take its place (row L1)."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from db import reembedding
from db.pool import Transaction
from loci.models.models import EmbeddingModels
from service.api.common import problems
from service.caller import CallerDependency
from service.replies import reply

router = APIRouter(tags=["embeddings"])


@router.get("/embeddings/models", response_model=EmbeddingModels, responses=problems())
async def list_models(caller: CallerDependency) -> Response:
    """Embedding models: the active one, one that is being filled behind it, and those of before. `loci reembed` changes it."""

    async def work(tx: Transaction) -> dict[str, Any]:
        return {"items": await reembedding.list_models(tx)}

    return reply(await caller.read(work, role=None))
