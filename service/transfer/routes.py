"""Export and import of a namespace: JSON lines, streamed in both directions."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse

from db.errors import Conflict, FieldError, Invalid
from db.pool import Transaction
from loci.models.transfer import Imported
from service.http.caller import Caller, CallerDependency
from service.http.parameters import NamespaceInPath
from service.http.replies import reply
from service.http.responses import problems
from service.transfer.export import export_lines
from service.transfer.restore import Refused, restore, split_lines

router = APIRouter(tags=["namespaces"])
NDJSON = "application/x-ndjson"
STALLS_AFTER = 60.0  # seconds in which a stream must move, so that nobody holds a connection for nothing
BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {NDJSON: {"schema": {"type": "string"}}}}}


@router.get(
    "/namespaces/{name}/export",
    response_class=StreamingResponse,
    responses={200: {"description": "The lines", "content": {NDJSON: {}}}, **problems(404)},
)
async def export_namespace(
    name: NamespaceInPath,
    caller: CallerDependency,
    vectors: Annotated[bool, Query(description="With the vectors of the active model")] = False,
) -> Response:
    """Everything in a namespace, as JSON lines of one moment; `vectors` adds those of the active model. Admin.

    The last line is of kind `end`; where it is missing, something failed on the way, and the file is not whole.
    """
    stream = _exported(caller, name, vectors=vectors)
    first = await anext(stream)  # what is wrong with the request is raised here, before the status is sent
    headers = {"Content-Disposition": f'attachment; filename="{name}.jsonl"'}
    return StreamingResponse(_resumed(first, stream), media_type=NDJSON, headers=headers)


@router.post("/namespaces/{name}/import", response_model=Imported, responses=problems(404, 409), openapi_extra=BODY)
async def import_namespace(name: NamespaceInPath, request: Request, caller: CallerDependency) -> Response:
    """Restore an export into a namespace, in one transaction: all of it or nothing. The operator may name a new one. Admin.

    Rows that are there already and say the same stay as they are, so a repetition changes nothing and needs no Idempotency-Key.
    Of any length; the reply says what was written. Wrong lines are a 422; lines that contradict what is stored, a 409.
    """

    def open_(into: str) -> AbstractAsyncContextManager[Transaction]:
        return caller.transaction(None, into, stalls_after=STALLS_AFTER)

    try:
        done = await restore(open_, split_lines(request.stream()), namespace=name)
    except Refused as error:
        raise _problem(error) from None
    caller.state.worker.wake()
    return reply(done.counts(), 200, **caller.headers)


async def _exported(caller: Caller, name: str, *, vectors: bool) -> AsyncIterator[bytes]:
    async with caller.transaction("admin", name, snapshot=True, stalls_after=STALLS_AFTER) as tx:
        async for part in export_lines(tx, vectors=vectors):
            yield part.data


async def _resumed(first: bytes, rest: Any) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for data in rest:
            yield data


def _problem(refused: Refused) -> Conflict | Invalid:
    kind = Conflict if all(problem.conflict for problem in refused.problems) else Invalid
    errors = [FieldError(f"line {problem.line}", problem.reason) for problem in refused.problems]
    detail = "; ".join(f"{error.field}: {error.message}" for error in errors[:3])
    return kind(f"nothing was written: {detail}", errors)
