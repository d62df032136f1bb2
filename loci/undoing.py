"""Undoing operations."""

from loci.operations import operation
from loci.requests import Id, Request, post
from service.schemas_undo import OperationUndone


class Undoing:
    """What takes operations back."""

    @operation
    def undo_operation(self, id: Id, *, skip_changed: bool | None = None) -> Request[OperationUndone]:
        """Undo an operation: all that it changed is as before. `skip_changed` leaves alone what was changed again since."""
        return post(OperationUndone, "/operations/{id}/undo", {"id": id}, skip_changed=skip_changed)
