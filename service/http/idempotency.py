"""Idempotency keys: the first reply to a request is kept, and answers every repetition of it."""

import asyncio
import hashlib
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from db import idempotency
from db.pool import Transaction
from service.http.json_replies import dump_json, replay_stored_reply
from service.json_parts import SMALL


class IdempotencyKey:
    """The key of one request; None: it has none, so nothing is kept."""

    def __init__(self, key: str | None, request: Request) -> None:
        self._key = key
        self._request = request
        self._digest: bytes | None = None

    def __bool__(self) -> bool:
        return self._key is not None

    async def read_request(self) -> None:
        """Read what makes two requests the same: method, path, query and body. Before the transaction: a body may come slowly."""
        if self._key is None or self._digest is not None:
            return
        request = self._request
        digest = hashlib.sha256(f"{request.method} {request.url.path}?{request.url.query}\n".encode())
        body = await request.body()
        await asyncio.to_thread(digest.update, body) if len(body) > SMALL else digest.update(body)
        self._digest = digest.digest()

    async def find_reply(self, tx: Transaction) -> Response | None:
        """The reply that is kept under the key, which is not taken."""
        async with tx.savepoint(undo=True):
            return await self.claim_key(tx)

    async def claim_key(self, tx: Transaction) -> Response | None:
        """The reply that is kept under the key; None: there is none, and this request holds the key now."""
        if self._key is None:
            return None
        assert self._digest is not None  # noqa: S101 (read before)
        kept = await idempotency.claim_idempotency_key(tx, key=self._key, request_hash=self._digest)
        return replay_stored_reply(kept["response"], kept["status"], self._request.state.request_id) if kept else None

    async def store_reply(self, tx: Transaction, body: Any, status: int) -> None:
        """Keep the reply of the request that holds the key."""
        if self._key is not None:
            await idempotency.store_idempotent_reply(tx, key=self._key, status=status, response=dump_json(body))
