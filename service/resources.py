"""Tools of jobs, and of requests that ask a model: settings, database, models and prompts."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from db.pool import OPERATOR, Origin, Pool, Transaction, open_transaction
from service.embedding.provider import Provider
from service.llm.model import ChatModel
from service.llm.prompts import Prompts
from service.rerank.piece_store import PieceStore
from service.rerank.reranker import Reranker
from service.settings import Settings


@dataclass(frozen=True)
class Resources:
    """Database, models and prompts; the same for jobs and for requests that ask a model."""

    settings: Settings
    pool: Pool
    provider: Provider | None = None
    model: ChatModel | None = None
    prompts: Prompts = field(default_factory=Prompts)
    reranker: Reranker | None = None
    pieces: PieceStore | None = None
    projecting: asyncio.Lock = field(default_factory=asyncio.Lock)  # one map at a time
    placing: asyncio.Lock = field(default_factory=asyncio.Lock)  # one constellation at a time
    in_steps: dict[Hashable, float] = field(
        default_factory=dict
    )  # who was answered so last, and when: see service/recall/one_call.py

    @asynccontextmanager
    async def transaction(
        self,
        action: str,
        namespace: str | None,
        role: str | None = "writer",
        *,
        operation_id: str | None = None,
        snapshot: bool = False,
    ) -> AsyncIterator[Transaction]:
        """A transaction of the operator, which the operations log knows as the worker's."""
        origin = Origin(action=action, via="worker", operation_id=operation_id)
        async with open_transaction(
            self.pool, key_hash=OPERATOR, namespace=namespace, role=role, origin=origin, snapshot=snapshot
        ) as tx:
            yield tx
