"""Namespaces and their settings."""

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response

from db.pool import Transaction
from db.retries import with_retries
from loci.models.namespaces import Growth, NamespaceChanged, NamespaceChanges, NamespaceInput, NamespaceOut, NamespacePage
from service.graph import decay
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.json_replies import reply_json
from service.http.large_bodies import Router
from service.http.parameters import Cursor, Limit, NamespaceInPath
from service.namespaces import namespaces

router = Router(tags=["namespaces"])


@router.post("/namespaces", status_code=201, response_model=NamespaceOut, responses=document_problems(409))
async def create_namespace(body: NamespaceInput, caller: CallerDependency) -> Response:
    """Create a namespace. Only the operator may."""
    return await caller.make_namespace(body.name, lambda tx: namespaces.create_namespace(tx, body))


@router.get("/namespaces", response_model=NamespacePage, responses=document_problems())
async def list_namespaces(caller: CallerDependency, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Namespaces that the caller may read, by name, with counts."""
    return reply_json(await caller.read(lambda tx: namespaces.list_namespaces(tx, limit=limit, cursor=cursor), role=None))


@router.get("/namespaces/{name}", response_model=NamespaceOut, responses=document_problems(404))
async def get_namespace(name: NamespaceInPath, caller: CallerDependency) -> Response:
    """A namespace: settings in force, and how much it holds."""
    row = await caller.read(lambda tx: namespaces.get_namespace(tx, name=name), role=None)
    return reply_json(row if caller.state.cell is None else {**row, "cell": int(caller.state.cell)})


@router.get("/namespaces/{name}/growth", response_model=Growth, responses=document_problems(404))
async def namespace_growth(
    name: NamespaceInPath,
    caller: CallerDependency,
    weeks: Annotated[int, Query(ge=1, le=520, description="How many weeks, this one included")] = 26,
) -> Response:
    """How a namespace has grown: memories written in each week, and how many there were at its end; oldest week first."""
    async with caller.transaction("reader", name) as tx:
        return reply_json(await namespaces.growth(tx, weeks=weeks))


@router.patch("/namespaces/{name}", response_model=NamespaceChanged, responses=document_problems(404))
async def change_namespace(name: NamespaceInPath, body: NamespaceChanges, caller: CallerDependency) -> Response:
    """Change description or settings; a setting of null goes back to its default. Admin.

    Where the decay of edges changes, it says how many `faded` and how many were `revived`.
    """

    async def begin_change(tx: Transaction) -> bool:
        return await namespaces.change_namespace(tx, changes=body.stated())

    async def continue_decay(tx: Transaction, decaying: bool) -> Any:
        counts = await decay.decay_step(tx, type=None, decaying=decaying)
        return counts and {**await namespaces.get_namespace(tx, name=name), **(counts if decaying else {})}

    return await caller.write_in_steps(begin_change, continue_decay, role="admin", namespace=name)


@router.delete("/namespaces/{name}", status_code=204, responses=document_problems(404))
async def delete_namespace(name: NamespaceInPath, caller: CallerDependency) -> Response:
    """Delete a namespace and everything in it. Admin."""

    async def delete_once() -> Response:  # no reply is kept for a repetition: it would be gone with the rest
        async with caller.transaction("admin", name) as tx:
            await namespaces.delete_namespace(tx)
        return Response(status_code=204)

    return await with_retries(delete_once)
