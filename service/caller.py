"""Who sends a request, and how its work is run: one transaction, authenticated in its first round trip."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import psycopg
from fastapi import Depends, Header, Request
from fastapi.responses import Response

from db import memories
from db.errors import FieldError, Invalid, Unauthorized, retryable
from db.pool import OPERATOR, Transaction, transaction
from service.replies import dumps, replay, reply
from service.state import State

ATTEMPTS = 4
Work = Callable[[Transaction], Awaitable[Any]]
T = TypeVar("T")
Step = Callable[[Transaction, Any], Awaitable[Any]]


@dataclass(frozen=True)
class Caller:
    """A request's key, namespace and idempotency key."""

    state: State
    request: Request
    key_hash: bytes | None
    namespace: str | None
    idempotency_key: str | None

    @asynccontextmanager
    async def transaction(
        self, role: str | None, namespace: str | None = None, *, snapshot: bool = False, stalls_after: float | None = None
    ) -> AsyncIterator[Transaction]:
        """A transaction in the caller's namespace (or `namespace`), with at least `role`; for the rest see db.pool."""
        async with transaction(
            self.state.pool,
            key_hash=self.key_hash,
            namespace=namespace or self.namespace,
            role=role,
            snapshot=snapshot,
            stalls_after=stalls_after,
        ) as tx:
            yield tx

    async def read(self, work: Work, role: str | None = "reader") -> Any:
        """Run work that only reads, and return what it returns. Role None: the work authorizes for itself."""
        async with self.transaction(role) as tx:
            return await work(tx)

    async def write(self, work: Work, *, role: str | None = "writer", status: int = 200, namespace: str | None = None) -> Response:
        """Run work that writes and reply with what it returns, once for each Idempotency-Key.

        What failed because others wrote at the same moment is tried again; the reply is sent after the commit.
        """
        return await again(lambda: self._write_once(work, role, status, namespace))

    async def write_in_steps(self, begin: Work, step: Step, *, role: str = "writer", namespace: str | None = None) -> Response:
        """Run work of many transactions: `begin`, then `step` with what that returned, again until it returns a reply.

        The reply is kept for the Idempotency-Key once all is done. A request that died on the way holds no key: sent again,
        it begins again and goes on with what is left, so `begin` must bear repetition.
        """

        async def first() -> tuple[Any, Any]:
            async with self.transaction(role, namespace) as tx:
                kept = await self._kept(tx)
                return kept, None if kept else await begin(tx)

        async def next_one() -> Any:
            async with self.transaction(role, namespace) as tx:
                return await step(tx, begun)

        kept, begun = await again(first)
        if kept:
            return replay(kept["response"], kept["status"])
        while (body := await again(next_one)) is None:
            pass

        async def done(_: Transaction) -> Any:
            return body

        return await self.write(done, role=role, namespace=namespace)

    async def _kept(self, tx: Transaction) -> Any:
        """The reply that the request's key has already; the key is not taken."""
        if self.idempotency_key is None:
            return None
        async with tx.connection.transaction(force_rollback=True):
            return await memories.replay_request(tx, key=self.idempotency_key, request_hash=await self._request_hash())

    async def _write_once(self, work: Work, role: str | None, status: int, namespace: str | None) -> Response:
        key = self.idempotency_key
        async with self.transaction(role, namespace) as tx:
            if key is not None:
                kept = await memories.replay_request(tx, key=key, request_hash=await self._request_hash())
                if kept:
                    return replay(kept["response"], kept["status"])
            body = await work(tx)
            if key is not None:
                await memories.keep_reply(tx, key=key, status=status, response=dumps(body))
        self.state.worker.wake()
        return reply(body, status)

    async def _request_hash(self) -> bytes:
        request = self.request
        digest = hashlib.sha256(f"{request.method} {request.url.path}?{request.url.query}\n".encode())
        digest.update(await request.body())
        return digest.digest()


async def again(transaction: Callable[[], Awaitable[T]]) -> T:
    """What a whole transaction returns; what failed because others wrote at the same moment is tried again, a few times."""
    for attempt in range(ATTEMPTS):
        try:
            return await transaction()
        except psycopg.Error as error:
            if attempt == ATTEMPTS - 1 or not retryable(error):
                raise
    raise AssertionError("unreachable")


def hash_key(key: str) -> bytes:
    """What is stored of an API key."""
    return hashlib.sha256(key.encode()).digest()


async def get_caller(
    request: Request,
    authorization: Annotated[str | None, Header(description="Bearer <key>; not needed on loopback")] = None,
    x_namespace: Annotated[str | None, Header(description="Namespace; default: the key's only one, or `default`")] = None,
    idempotency_key: Annotated[str | None, Header(max_length=255, min_length=1)] = None,
) -> Caller:
    """The caller of a request. Raises Unauthorized where a key is needed and none is sent; the database checks the rest."""
    state: State = request.app.state.loci
    key_hash = OPERATOR
    if authorization is not None:
        scheme, _, key = authorization.partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Unauthorized("the Authorization header must be `Bearer <key>`")
        key_hash = hash_key(key.strip())
    elif state.settings.keys_required:
        raise Unauthorized("an API key is needed", hint="Send `Authorization: Bearer <key>`; `loci key create` makes one.")
    if x_namespace is not None and "\x00" in x_namespace:
        raise Invalid("X-Namespace must be a name", [FieldError("X-Namespace", "must be a name")])
    return Caller(state, request, key_hash, x_namespace, idempotency_key)


CallerDependency = Annotated[Caller, Depends(get_caller)]
