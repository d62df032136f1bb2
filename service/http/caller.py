"""The caller of a request, and the way its work runs: one transaction, authenticated in its first round trip."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import psycopg
from fastapi import Depends, Header, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from db.errors import FieldError, Invalid, LociError, RateLimited, Unauthorized, Unavailable
from db.pool import OPERATOR, Origin, Pool, ServerKind, Transaction, open_transaction
from db.retries import with_retries
from db.standbys import Standby
from db.time_limits import TimeLimits
from service.http.authority import OWNER
from service.http.deadlines import STREAMING, kind_of, limits_of
from service.http.idempotency import IdempotencyKey
from service.http.json_replies import reply_json
from service.http.large_bodies import beside_loop
from service.http.unknown_parameters import check_query
from service.http.word_limit import NO_FEWER, check_words
from service.observability.logs import current_log_context
from service.standby_router import ReadRouter, shown_position, stated_position
from service.state import State
from service.uuid7 import uuid7

READING = (None, "reader")  # roles of reads that a standby may answer; others read before they write
NOT_VALID = "invalid API key: it is unknown, expired or revoked"  # as loci_api.begin_request says it
NO_BEARER = "the Authorization header must be `Bearer <key>`"
KEY_NEEDED, MAKE_KEY = "an API key is needed", "Send `Authorization: Bearer <key>`; `loci key create` makes one."
SEND_KEY = "Send a valid key as `Authorization: Bearer …`."
OPERATION = "X-Operation-Id"  # header of replies to writes: what the operations log knows the call by
MCP_AGENT = "loci-mcp"  # what `loci mcp` calls itself where it asks a service that runs elsewhere
VIA = {MCP_AGENT: "mcp", "loci-cli": "cli"}  # who names itself in User-Agent, as the operations log has it
ONCE = ("X-Namespace", "X-Loci-Position")
Work = Callable[[Transaction], Awaitable[Any]]
Step = Callable[[Transaction, Any], Awaitable[Any]]


@dataclass(frozen=True)
class Caller:
    """A request's key, namespace and idempotency key."""

    state: State = field(repr=False)
    request: Request = field(repr=False)
    key_hash: bytes | None = field(repr=False)
    namespace: str | None
    idempotency_key: IdempotencyKey
    origin: Origin
    within: TimeLimits
    position: int | None = None  # a place in the database's log: a read must have it replayed

    @property
    def owner(self) -> bytes | None:
        """The key that the request's shares are counted under: its hash, also where a session of a browser stands for it."""
        return getattr(self.request.state, "owner", None) or self.key_hash

    @property
    def headers(self) -> dict[str, str]:
        """Headers of a reply to a write: what the operations log knows the call by."""
        return {OPERATION: str(self.origin.operation_id)}

    def arm_deadline(self) -> None:
        """Give the request its time."""
        self.request.state.presence.arm_deadline(self.within.deadline)

    def give_up(self) -> None:
        """Break the reply off: its reader is too slow."""
        self.request.state.presence.give_up()

    @asynccontextmanager
    async def transaction(
        self,
        role: str | None,
        namespace: str | None = None,
        *,
        snapshot: bool = False,
        creates: bool = False,
        single: bool = False,
    ) -> AsyncIterator[Transaction]:
        """A transaction in the caller's namespace (or `namespace`), with at least `role`; for the rest see db.pool.

        `creates`: a write, which makes the namespace of its header where the setting create_namespaces says so.
        """
        creates = creates and namespace is None and self.state.settings.create_namespaces
        try:
            async with self._open_transaction_on(
                self.state.pool, role, namespace, snapshot=snapshot, creates=creates, single=single
            ) as tx:
                yield tx
        except Exception as error:
            self._answered_by("primary", error)
            raise
        self._answered_by("primary")
        if self.state.reads is not None and tx.outcome.position is not None:
            self.state.reads.note_write(self.owner, tx.outcome.position)
            self.request.state.position = shown_position(tx.outcome.position)

    def _answered_by(self, server: ServerKind, error: Exception | None = None) -> None:
        """The reply says which kind of server has answered, where there are several; an error may be no answer of one."""
        if self.state.reads is not None and (error is None or _is_answer(error)):
            self.request.state.server = server

    async def read(self, work: Work, role: str | None = "reader", *, creates: bool = False, single: bool = False) -> Any:
        """Run work that only reads, and return what it returns. Role None: the work authorizes for itself.

        A standby answers where one may, and the primary what it cannot. `creates`: it reads for a write, see `transaction`.
        `single`: it runs one statement.
        """
        reads = self.state.reads
        standby = await reads.find_standby(self.owner, self.position) if reads and role in READING and not creates else None
        if reads is not None and standby is not None:
            try:
                found = await standby.run_while_in_use(self._read_from(reads, standby, work, role, single=single))
            except Exception as error:
                if not reads.should_ask_primary(standby, error):
                    self._answered_by("standby", error)
                    raise
            else:
                self._answered_by("standby")
                return found
        async with self.transaction(role, creates=creates, single=single) as tx:
            return await work(tx)

    async def _read_from(self, reads: ReadRouter, standby: Standby, work: Work, role: str | None, *, single: bool) -> Any:
        async with self._open_transaction_on(standby.pool, role, single=single) as tx:
            found = await work(tx)
        reads.note_answer()
        reads.notes.add_notes(self.key_hash, self.origin, tx.outcome.notes)
        return found

    @asynccontextmanager
    async def _open_transaction_on(
        self,
        pool: Pool,
        role: str | None,
        namespace: str | None = None,
        *,
        snapshot: bool = False,
        creates: bool = False,
        single: bool = False,
    ) -> AsyncIterator[Transaction]:
        async with open_transaction(
            pool,
            key_hash=self.key_hash,
            namespace=namespace or self.namespace,
            role=role,
            snapshot=snapshot,
            within=self.within,
            origin=self.origin,
            owner=self.owner,
            creates=creates,
            single=single,
        ) as tx:
            if (known := current_log_context()) is not None:
                known.namespace, known.entering = tx.namespace, tx.entering
            yield tx
        if self.state.cell is not None:
            self.request.state.cell = self.state.cell

    @asynccontextmanager
    async def snapshot(self, role: str, namespace: str) -> AsyncIterator[Transaction]:
        """A transaction that sees one moment and writes nothing, for what is read in parts; on a standby where one may answer."""
        reads = self.state.reads
        standby = await reads.find_standby(self.owner, self.position) if reads else None
        async with AsyncExitStack() as stack:
            if reads is not None and standby is not None:
                tried = AsyncExitStack()
                try:
                    tx = await tried.enter_async_context(self._open_transaction_on(standby.pool, role, namespace, snapshot=True))
                    await tx.read_caller()
                except Exception as error:
                    if await tried.__aexit__(type(error), error, error.__traceback__) or not reads.should_ask_primary(
                        standby, error
                    ):
                        self._answered_by("standby", error)
                        raise
                else:
                    stack.push_async_exit(tried)
                    reads.note_answer()
                    self._answered_by("standby")
                    yield tx
                    return
            tx = await stack.enter_async_context(self.transaction(role, namespace, snapshot=True))
            await tx.read_caller()
            self._answered_by("primary")  # before the end: what is read in parts is sent in parts
            yield tx

    async def write(
        self,
        work: Work,
        *,
        role: str | None = "writer",
        status: int = 200,
        namespace: str | None = None,
        dry_run: bool = False,
        single: bool = False,
    ) -> Response:
        """Run work that writes and reply with what it returns, once for each Idempotency-Key.

        Work that failed because others wrote at the same moment is tried again; the reply is sent after the commit. No reply is
        kept of a dry run, which may be repeated as it is. `single`: the work runs one statement; without a key it is all there is.
        """
        if dry_run:
            return reply_json(await with_retries(lambda: self.read(work, role)), status)
        await self.idempotency_key.read_request()
        single = single and not self.idempotency_key
        return await with_retries(lambda: self._write_once(work, role, status, namespace, single=single))

    async def make_namespace(self, name: str, work: Work) -> Response:
        """Run work that makes a namespace and reply with what it returns; the reply is kept there, where a repetition finds it."""
        await self.idempotency_key.read_request()
        try:
            return await with_retries(lambda: self._write_once(work, None, 201, name, makes=True))
        except psycopg.errors.UniqueViolation:
            async with self.transaction(None, name) as tx:
                kept = await self._find_stored_reply(tx)
            if kept is None:
                raise
            return kept

    async def write_in_steps(self, begin: Work, step: Step, *, role: str = "writer", namespace: str | None = None) -> Response:
        """Run work of many transactions: `begin`, then `step` with what that returned, again until it returns a reply.

        The reply is kept for the Idempotency-Key once all is done. A request that died on the way holds no key: sent again,
        it begins again and goes on with what is left, so `begin` must bear repetition.
        """
        await self.idempotency_key.read_request()

        async def begin_writing() -> tuple[Response | None, Any]:
            async with self.transaction(role, namespace, creates=True) as tx:
                kept = await self._find_stored_reply(tx)
                return kept, await begin(tx) if kept is None else None

        async def next_one() -> Any:
            async with self.transaction(role, namespace) as tx:
                return await step(tx, begun)

        kept, begun = await with_retries(begin_writing)
        if kept is not None:
            return kept
        while (body := await with_retries(next_one)) is None:
            pass

        async def finish_writing(_: Transaction) -> Any:
            return body

        return await self.write(finish_writing, role=role, namespace=namespace)

    async def wait_for_noted_writes(self) -> None:
        """Wait until the primary has what reads of this process noted until now, where it can be reached."""
        if self.state.reads is not None:
            await self.state.reads.notes.write_waiting_notes()

    async def find_replay(self) -> Response | None:
        """The kept reply to this request, if its Idempotency-Key has one: asked where work before the write can be spared."""
        if not self.idempotency_key:
            return None
        await self.idempotency_key.read_request()
        async with self.transaction("writer", creates=True) as tx:
            return await self._find_stored_reply(tx)

    async def _find_stored_reply(self, tx: Transaction) -> Response | None:
        return await self.idempotency_key.find_reply(tx) if self.idempotency_key else None

    async def _write_once(
        self, work: Work, role: str | None, status: int, namespace: str | None, *, makes: bool = False, single: bool = False
    ) -> Response:
        async with self.transaction(role, namespace, creates=True, single=single) as tx:
            if not makes and (kept := await self.idempotency_key.claim_key(tx)) is not None:
                return kept
            body = await work(tx)
            if makes:  # the namespace that the key is kept in is there only now
                await self.idempotency_key.claim_key(tx)
            await self.idempotency_key.store_reply(tx, body, status)
        self.state.worker.wake_queues(jobs=tx.outcome.jobs)
        if (known := current_log_context()) is not None:
            known.operation_id = self.origin.operation_id
        return reply_json(body, status, **self.headers)


def _is_answer(error: Exception) -> bool:
    """Whether an error is what a server said: not that there was none to be had, or that it was not reached."""
    if isinstance(error, psycopg.Error):
        return error.sqlstate is not None
    return isinstance(error, LociError) and not isinstance(error, (RateLimited, Unavailable))


def hash_key(key: str) -> bytes:
    """The stored form of an API key."""
    return hashlib.sha256(key.encode()).digest()


def key_hash_of(authorization: str) -> bytes:
    """The hash of the key in an Authorization header. Raises Unauthorized for any other header."""
    scheme, _, key = authorization.partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise Unauthorized(NO_BEARER)
    return hash_key(key.strip())


def find_key_hash(request: Request, authorization: str | None) -> bytes | None:
    """The hash of the key that a request or its session has; OPERATOR for none. Raises Unauthorized where one is needed."""
    if authorization is not None:
        return key_hash_of(authorization)
    session: bytes | None = getattr(request.state, "session", None)
    if session is not None:
        return session
    if request.app.state.loci.settings.requires_keys and not request.scope.get(OWNER):
        raise Unauthorized(KEY_NEEDED, hint=MAKE_KEY)
    return OPERATOR


async def get_caller(
    request: Request,
    authorization: Annotated[str | None, Header(description="Bearer <key>; not needed on loopback")] = None,
    x_namespace: Annotated[
        str | None, Header(description="Namespace; default: the key's default one; without a key `default`")
    ] = None,
    idempotency_key: Annotated[
        str | None,
        Header(max_length=255, min_length=1, description="Sent again with the same key and body, the first reply is the answer"),
    ] = None,
    x_loci_position: Annotated[
        str | None,
        Header(include_in_schema=False),  # the document says of it what holds for all routes
    ] = None,
) -> Caller:
    """The caller of a request. Raises Unauthorized where a key is needed and none is sent; the database checks the rest.

    A query that the route does not know is refused here, where every route comes by.
    """
    state: State = request.app.state.loci
    key_hash = find_key_hash(request, authorization)
    for name in ONCE:
        if len(request.headers.getlist(name)) > 1:  # a proxy may have set one: which of them counts must not be a guess
            raise Invalid(f"{name} must be sent once", [FieldError(name, "must be sent once")])
    if x_namespace is not None and "\x00" in x_namespace:
        raise Invalid("X-Namespace must be a name", [FieldError("X-Namespace", "must be a name")])
    route = request.scope.get("route")
    if isinstance(route, APIRoute):
        check_query(request)
    action = getattr(route, "name", "unknown")
    within = limits_of(kind_of(action, request.method), state.settings.deadlines)
    if action in STREAMING:
        request.state.presence.disarm_deadline()
    else:
        if request.state.body.declared > NO_FEWER * state.settings.limits.words:
            await beside_loop(request, check_words, await request.body(), state.settings.limits.words)
        request.state.presence.arm_deadline(within.deadline)
    origin = Origin(
        action=action,
        via=request.scope.get("via") or VIA.get(request.headers.get("user-agent", ""), "rest"),
        request_id=request.state.request_id,
        operation_id=str(uuid7()),
    )
    position = stated_position(x_loci_position) if x_loci_position is not None else None
    return Caller(state, request, key_hash, x_namespace, IdempotencyKey(idempotency_key, request), origin, within, position)


CallerDependency = Annotated[Caller, Depends(get_caller)]
