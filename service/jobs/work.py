"""What a job is given: itself, and what there is to work with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from db import jobs
from db.pool import OPERATOR, Origin, Pool, Transaction, transaction
from service.embedding import Provider
from service.llm.model import ChatModel
from service.llm.prompts import Prompts
from service.settings import Settings


@dataclass(frozen=True)
class Job:
    """A job that was begun. `settings` are those of its namespace."""

    namespace_id: int
    id: UUID
    namespace: str
    kind: str
    arguments: dict[str, Any]
    tries: int
    failures: int
    postponed: int
    agent_id: UUID | None
    created_at: datetime
    settings: dict[str, Any]


@dataclass(frozen=True)
class Work:
    """Database, models and prompts; the same for jobs and for requests that ask a model."""

    settings: Settings
    pool: Pool
    provider: Provider | None = None
    model: ChatModel | None = None
    prompts: Prompts = field(default_factory=Prompts)

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
        async with transaction(
            self.pool, key_hash=OPERATOR, namespace=namespace, role=role, origin=origin, snapshot=snapshot
        ) as tx:
            yield tx

    @asynccontextmanager
    async def holding(self, job: Job, action: str, *, operation_id: str | None = None) -> AsyncIterator[Transaction]:
        """A transaction that does the work of a job, which nobody else does meanwhile. Raises JobOver, also if others have it."""
        async with self.transaction(action, job.namespace, "admin", operation_id=operation_id) as tx:
            await jobs.hold_job(tx, id=job.id, tries=job.tries)
            yield tx


class Later(Exception):
    """The job cannot be done now; `at`: when to try again; None: after the pause for busy namespaces. It has not failed."""

    def __init__(self, reason: str, at: datetime | None = None) -> None:
        super().__init__(reason)
        self.at = at
