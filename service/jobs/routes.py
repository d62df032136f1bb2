"""Jobs: work that is done later, and what became of it."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from fastapi.responses import Response

from loci.models.jobs import JobKind, JobOut, JobPage, JobState
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import Limit
from service.jobs import jobs

router = Router(tags=["jobs"])
JobId = Annotated[UUID, Path(description="Id of the job")]


@router.get("/jobs", response_model=JobPage, responses=document_problems(404))
async def list_jobs(
    caller: CallerDependency,
    limit: Limit = 50,
    cursor: Annotated[UUID | None, Query(description="`next_cursor` of the page before")] = None,
    state: Annotated[JobState | None, Query(description="In this state; dead: given up")] = None,
    kind: Annotated[JobKind | None, Query(description="Of this kind")] = None,
) -> Response:
    """List jobs, newest first: work that is done later. They are kept for the setting job_days after their end."""
    return reply_json(await caller.read(lambda tx: jobs.list_jobs(tx, limit=limit, cursor=cursor, state=state, kind=kind)))


@router.get("/jobs/{id}", response_model=JobOut, responses=document_problems(404))
async def get_job(id: JobId, caller: CallerDependency) -> Response:
    """Show a job: how it stands, what each of its passes did, and what its calls of a language model took."""
    return reply_json(await caller.read(lambda tx: jobs.get_job(tx, id=id)))


@router.post("/jobs/{id}/retry", response_model=JobOut, responses=document_problems(404, 409))
async def retry_job(id: JobId, caller: CallerDependency) -> Response:
    """Try a job again that is dead, cancelled or skipped; one that waits for its next try, or was put off, runs now.

    It has all its tries again; passes that it had finished are not run again.
    """
    return await caller.write(lambda tx: jobs.retry_job(tx, id=id))


@router.post("/jobs/{id}/cancel", response_model=JobOut, responses=document_problems(404, 409))
async def cancel_job(id: JobId, caller: CallerDependency) -> Response:
    """Cancel a job. A running job is told to stop, and is cancelled then, unless it succeeds before; a dead one is let be.

    Committed work stays: an operation for each pass, to be undone.
    """
    return await caller.write(lambda tx: jobs.cancel_job(tx, id=id))
