"""Undoing operations."""

from typing import Annotated
from uuid import UUID

from fastapi import Path
from fastapi.responses import Response

from db.retries import with_retries
from loci.models.operations import OperationUndone, UndoInput
from service.http.caller import CallerDependency
from service.http.documented_problems import document_problems
from service.http.large_bodies import Router
from service.operations import undo

router = Router(tags=["operations"])
ALL_OR_NOTHING = UndoInput()


@router.post("/operations/{id}/undo", response_model=OperationUndone, responses=document_problems(404, 409))
async def undo_operation(
    id: Annotated[UUID, Path(description="Id of the operation")], caller: CallerDependency, body: UndoInput = ALL_OR_NOTHING
) -> Response:
    """Undo an operation: all that it changed is as before, and history keeps both. Undoing is an operation, and can be undone.

    A dry run changes nothing: it lists what would be restored, and later changes that stand in the way.
    """
    if body.dry_run:
        return await caller.write(lambda tx: undo.preview_undo(tx, id=id), dry_run=True)
    return await undo.undo_operation(
        caller.write, lambda: caller.transaction("writer"), with_retries, id=id, skip_changed=body.skip_changed
    )
