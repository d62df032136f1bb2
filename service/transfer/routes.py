"""Export and import of a namespace: JSON lines of any length, through a file: no database connection waits for a slow client."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from functools import partial
from typing import Annotated, Any

import psycopg
from fastapi import Query, Request
from fastapi.responses import Response, StreamingResponse

from db.errors import Conflict, DeadlineExceeded, FieldError, Invalid, LociError
from db.pool import OPERATOR, Transaction
from loci.models.transfer import ExportFormat, Imported, ImportFormat, ImportReport, LinesImported
from service.http.caller import Caller, CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import NamespaceInPath
from service.spool import Behind, Spool
from service.transfer.export import export_lines
from service.transfer.foreign.import_run import import_spool
from service.transfer.foreign.record_writer import Report
from service.transfer.import_lines import Load
from service.transfer.markdown import markdown_lines
from service.transfer.reading.job import LOCI
from service.transfer.reading.process import start_reading
from service.transfer.restore import Refused, Restored, restore_namespace

log = logging.getLogger(__name__)
router = Router(tags=["namespaces"])
NDJSON = "application/x-ndjson"
BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {NDJSON: {"schema": {"type": "string"}}}}}


@router.get(
    "/namespaces/{name}/export",
    response_class=StreamingResponse,
    responses={200: {"description": "The lines", "content": {NDJSON: {}}}, **document_problems(404, 413)},
)
async def export_namespace(
    name: NamespaceInPath,
    caller: CallerDependency,
    vectors: Annotated[bool, Query(description="With the vectors of the active model")] = False,
    format: Annotated[
        ExportFormat, Query(description="`loci`, all of it; `markdown`, a file for each lineage as it is now")
    ] = "loci",
) -> Response:
    """Everything in a namespace, as JSON lines of one moment; `vectors` adds those of the active model. Admin.

    The last line is of kind `end`; where it is missing, something failed on the way, and the file is not whole. As `markdown`,
    each line is a file with its path and its text, of what is believed now. Reader.
    """
    if vectors and format != "loci":
        raise Invalid("vectors are for format=loci", [FieldError("vectors", "must be left out beside format")])
    stream = _export_lines(caller, name, vectors=vectors, format=format)
    first = await anext(stream)  # what is wrong with the request is raised here, before the status is sent
    headers = {"Content-Disposition": f'attachment; filename="{name}.jsonl"'}
    return StreamingResponse(_chain_first(first, stream), media_type=NDJSON, headers=headers)


@router.post(
    "/namespaces/{name}/import",
    response_model=Imported | ImportReport | LinesImported,
    responses=document_problems(404, 409, 413),
    openapi_extra=BODY,
)
async def import_namespace(
    name: NamespaceInPath,
    request: Request,
    caller: CallerDependency,
    format: Annotated[
        ImportFormat, Query(description="`loci`, an export; `lines`; `auto` or the name of a format: another memory system's file")
    ] = "loci",
    dry_run: Annotated[
        bool, Query(description="Of lines and another system's file: say what would be written, and write nothing")
    ] = False,
    atomic: Annotated[bool, Query(description="Of lines and another system's file: all of it or nothing")] = False,
    account: Annotated[str, Query(max_length=100, description="Of another system's file: whose it is")] = "",
    valid_from_created: Annotated[bool, Query(description="Of another system's file: true since it was written there")] = False,
) -> Response:
    """Restore an export into a namespace, in one transaction: all of it or nothing. The operator may name a new one. Admin.

    Rows that are there already and say the same stay as they are, so a repetition changes nothing and needs no Idempotency-Key.
    The lines are read to their end before the first is written. Wrong lines are a 422; lines that contradict what is stored, a 409.

    With another `format` the body is what another memory system has written: a file, or an archive of files. It is written in
    batches; items that are wrong are named in the reply, and the rest goes in. A repetition writes nothing. Writer. `lines`, and
    what `auto` finds to be of no such format, are memories, entities and edges as the other routes take them, one a line.
    """

    def open_as(into: str | None, role: str | None) -> AbstractAsyncContextManager[Transaction]:
        return caller.transaction(role, into)

    foreign = format != LOCI
    if not foreign and (dry_run or account or valid_from_created):
        raise _make_wrong_options()
    await _may_import(caller, name, foreign=foreign)
    with caller.state.spools.open_spool(caller.owner, "import") as spool:
        async for data in request.stream():
            await spool.write(data)
        await spool.end_writing()
        caller.arm_deadline()
        try:
            if foreign:
                report = Report("", name, dry_run=dry_run, atomic=atomic, operator=caller.key_hash is OPERATOR)
                options: dict[str, Any] = {"account": account, "valid_from_created": valid_from_created}
                done: Restored | Report | Load = await import_spool(open_as, spool, format, report, **options)
            else:
                async with start_reading(spool, LOCI) as process:
                    done = await restore_namespace(partial(caller.transaction, None), process, namespace=name)
        except Refused as error:
            raise _make_problem(error) from None
    caller.state.worker.wake_queues()
    return reply_json(done.to_json(), 200, **caller.headers)


def _make_wrong_options() -> Invalid:
    wrong = [FieldError("format", "is loci, which has no dry_run, account or valid_from_created")]
    return Invalid("dry_run, account and valid_from_created are not for an export, which is all or nothing", wrong)


async def _may_import(caller: Caller, name: str, *, foreign: bool) -> None:
    """Raise what keeps the caller from importing into a namespace, before its lines are read. The operator may name a new one."""
    try:
        async with caller.transaction("writer" if foreign else "admin", name) as tx:
            await tx.read_caller()
    except psycopg.errors.NoDataFound:
        if foreign or caller.key_hash is not OPERATOR:
            raise


async def _export_lines(caller: Caller, name: str, *, vectors: bool, format: ExportFormat) -> AsyncIterator[bytes]:
    """The lines, as their reader takes them; they are written to disk as fast as the database gives them."""

    async def fill_spool(spool: Spool) -> None:
        try:
            role = "admin" if format == "loci" else "reader"
            async with asyncio.timeout(caller.within.deadline), caller.snapshot(role, name) as tx:
                if format == "markdown":
                    async for line in markdown_lines(tx):
                        await spool.write(line)
                    return
                async for part in export_lines(tx, vectors=vectors):
                    await spool.write(part.data)
        except TimeoutError:
            raise DeadlineExceeded from None

    with caller.state.spools.open_spool(caller.owner, "export") as spool:
        spool.start_filling(fill_spool)
        begun = False
        try:
            async for data in spool.parts_in_time():
                yield data
                begun = True
        except (Behind, LociError) as error:
            if not begun:
                raise
            log.warning("an export of %s was broken off: %s", name, error)
            caller.give_up()


async def _chain_first(first: bytes, rest: Any) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for data in rest:
            yield data


def _make_problem(refused: Refused) -> Conflict | Invalid:
    kind = Conflict if all(problem.conflict for problem in refused.problems) else Invalid
    errors = [FieldError(f"line {problem.line}", problem.reason) for problem in refused.problems]
    detail = "; ".join(f"{error.field}: {error.message}" for error in errors[:3])
    return kind(f"nothing was written: {detail}", errors)
