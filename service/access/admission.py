"""Admission of requests: names of the host, wrong keys, rate limits, and the count of uses of keys.

Plain ASGI around the routes, so that a request is refused before its body is read. Calls by tools of MCP in this process were
admitted, and counted, with the request to /mcp.
"""

import asyncio
import re
from math import ceil
from typing import Any

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from db.access.keys import KeyUse
from db.errors import LociError, RateLimited, Unauthorized, translate_error
from service.access.key_usage import OUTCOMES, KeyUsageCounts, address_of
from service.access.rate_limits import Admission, Limiter, WrongKeyLimiter
from service.http import session_cookie
from service.http.allowed_hosts import Hosts
from service.http.authority import OWNER
from service.http.caller import KEY_NEEDED, MAKE_KEY, NO_BEARER, NOT_VALID, SEND_KEY, key_hash_of
from service.http.middleware import API, App, Receive, Scope, Send, send_problem

MCP = "/mcp"
NAME = re.compile("[a-z0-9][a-z0-9._-]{0,63}")
ALL_SOURCES = "all"  # of wrong keys
SESSION = "session"  # what stands for the beginning of a session's token, which has none that tells anything
BEGINNING = 13  # characters of a key that say which one it is; the rest is secret
DELAY_SECONDS = 1.0  # before a wrong key is refused while many come
LOOK_UPS = 1  # of keys that are not known, at a time: the other connections for what must not wait are left to the others
TOO_MANY = RateLimited.status
UNAUTHORIZED = Unauthorized.status


class Gate:
    """Passes requests on, or answers them with the problem that keeps them out."""

    def __init__(
        self,
        app: App,
        hosts: Hosts,
        limiter: Limiter,
        guesses: WrongKeyLimiter,
        uses: KeyUsageCounts,
        *,
        keys_required: bool = False,
        by_address: bool = False,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._limiter = limiter
        self._guesses = guesses
        self._uses = uses
        self._keys_required = keys_required
        self._by_address = by_address
        self._look_ups = asyncio.Semaphore(LOOK_UPS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}  # of several the first, as elsewhere
        if scope.get("via") == "mcp":
            scope["state"]["owner"] = _key_hash(scope, sent.get(b"authorization"))
            await self._app(scope, receive, send)
            return
        refusal = self._hosts.refuse_host(scope)
        key_hash = None if refusal else _key_hash(scope, sent.get(b"authorization"))
        if refusal is None and b"authorization" not in sent and (session := session_cookie.session_hash(scope)) is not None:
            refusal = session_cookie.foreign_use(scope)
            scope["state"]["session"] = session
            key_hash = None if _ends_session(scope) else session
        keyless = refusal is None and key_hash is None and not scope.get(OWNER)
        if self._keys_required and keyless and _needs_key(scope):  # before the body is read
            refusal = _no_key(sent.get(b"authorization"))
        if refusal is not None:
            await send_problem(send, refusal, scope)
        elif key_hash is None:
            await self._app(scope, receive, send)
        else:
            key = _key_in(sent.get(b"authorization"))
            await self._answer_with_key(key_hash, key[:BEGINNING] or SESSION, sent.get(b"x-namespace"), scope, receive, send)

    async def _answer_with_key(
        self, key_hash: bytes, beginning: str, namespace: str | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a request that carries a key, and count it."""
        address = address_of(scope)
        source = address if self._by_address and address is not None else beginning
        status = 500
        admission: Admission | None = None

        async def send_with_headers(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if admission is not None:
                    message["headers"] = [*message["headers"], *admission.rate_headers()]
            await send(message)

        try:
            admission, error = await self._admit_key(key_hash, source)
            if error is None:
                scope["state"]["owner"] = admission.key_hash if admission else None
                await self._app(scope, receive, send_with_headers)
            else:
                await send_problem(send_with_headers, error, scope)
        finally:
            if status == UNAUTHORIZED:
                for each in (source, ALL_SOURCES):
                    self._guesses.count_wrong_key(each)
            self._count_request(key_hash, admission, _find_request_namespace(scope, namespace), address, status)

    async def _admit_key(self, key_hash: bytes, source: str) -> tuple[Admission | None, LociError | None]:
        """Knowledge about the key, and the error that keeps the request out. Whether it is valid is looked up in any case."""
        try:
            if self._limiter.knows_key(key_hash):
                admission = await self._limiter.admit_key(key_hash)
            else:
                async with self._look_ups:
                    admission = await self._limiter.admit_key(key_hash)
        except (psycopg.Error, PoolTimeout, PoolClosed) as error:
            known = translate_error(error)
            if known is None:
                raise
            return None, known
        if admission is None:
            return None, await self._refuse_wrong_key(source)
        if admission.wait is None:
            return admission, None
        wait = max(1, ceil(admission.wait))
        return admission, RateLimited(
            f"more than the {admission.limit} requests a minute that this key may send", hint=f"Wait {wait} s.", retry_after=wait
        )

    async def _refuse_wrong_key(self, source: str) -> LociError:
        """The error of a wrong key: at once, or later and as one too many."""
        wait = self._guesses.seconds_to_wait(source)
        if wait is not None or self._guesses.seconds_to_wait(ALL_SOURCES) is not None:
            await asyncio.sleep(DELAY_SECONDS)
        if wait is None:
            return Unauthorized(NOT_VALID, hint=SEND_KEY)
        whose = "from this address" if self._by_address else "that begin like this one"
        return RateLimited(f"too many requests with wrong keys {whose}", retry_after=ceil(wait))

    def _count_request(
        self, key_hash: bytes, admission: Admission | None, namespace: str | None, address: str | None, status: int
    ) -> None:
        if status == UNAUTHORIZED:
            self._limiter.forget_key(key_hash)
            self._uses.count_use(KeyUse(None, None, address, OUTCOMES[status]))
        elif admission is None and status == TOO_MANY:
            self._uses.count_use(KeyUse(None, None, address, OUTCOMES[status]))
        elif admission is not None:
            self._uses.count_use(KeyUse(admission.key_id, namespace, address, OUTCOMES.get(status, "answered")))


def _key_hash(scope: Scope, authorization: str | None) -> bytes | None:
    """The hash of the key of a request that counts; None without a key, or with a malformed header."""
    if authorization is None or not _needs_key(scope):
        return None
    try:
        return key_hash_of(authorization)
    except Unauthorized:
        return None  # the route says what is wrong


def _key_in(authorization: str | None) -> str:
    """The part of an Authorization header behind its scheme."""
    return (authorization or "").partition(" ")[2].strip()


def _needs_key(scope: Scope) -> bool:
    path: str = scope["path"]
    return (path == MCP or path.startswith((f"{MCP}/", f"{API}/"))) and not _ends_session(scope)


def _ends_session(scope: Scope) -> bool:
    """Whether a browser leaves: it may, also with a session that has ended."""
    return bool(scope["method"] == "DELETE" and scope["path"] == session_cookie.PATH)


def _no_key(authorization: str | None) -> LociError:
    """The error of a request that needs a key and carries none."""
    return Unauthorized(KEY_NEEDED, hint=MAKE_KEY) if authorization is None else Unauthorized(NO_BEARER)


def _find_request_namespace(scope: Scope, named: str | None) -> str | None:
    """The namespace that a request names: in its path, or in its header. None for what cannot be a name."""
    if scope["path"].startswith(f"{API}/namespaces/"):
        named = scope.get("path_params", {}).get("name", named)
    return named if named is not None and NAME.fullmatch(named) else None
