"""Undoing operations (row X5)."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path
from fastapi.responses import Response

from db import operations
from db.pool import Transaction
from loci.models.operations import OperationUndone, UndoInput
from service.graph.decay import finish_decay_changes
from service.http.caller import CallerDependency
from service.http.responses import problems

router = APIRouter(tags=["operations"])
ALL_OR_NOTHING = UndoInput()


@router.post("/operations/{id}/undo", response_model=OperationUndone, responses=problems(404, 409))
async def undo_operation(
    id: Annotated[UUID, Path(description="Id of the operation")], caller: CallerDependency, body: UndoInput = ALL_OR_NOTHING
) -> Response:
    """Undo an operation: all that it changed is as before, and history keeps both. Undoing is an operation, and can be undone."""
    decaying = []

    async def work(tx: Transaction) -> Any:
        row = await operations.undo_operation(tx, id=id, skip_changed=body.skip_changed)
        decaying.append(row.pop("decaying"))
        return row

    done = await caller.write(work)
    if decaying and decaying[-1]:
        await finish_decay_changes(lambda: caller.transaction("writer"))
    return done
