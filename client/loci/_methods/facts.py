"""Facts: aspects with attributes and constraints, supersession, and the walk over them."""

from collections.abc import Iterable
from typing import Literal

from loci.descriptors import C, Group, listing, operation
from loci.models.facts import (
    AspectPage,
    AspectWritten,
    AttributeWritten,
    Supersession,
    SupersessionSignal,
    SupersessionStatus,
    SweepOut,
    WalkOut,
)
from loci.requests import OMITTED, Id, Moment, Omitted, Page, Request, change, get, page, post


class Facts(Group[C]):
    """Operations on aspects and attributes. `ref` is an id, a name or an alias."""

    @operation
    def walk(
        self,
        query: str | None = None,
        *,
        project_path: str | None = None,
        checkpoint: Iterable[Id] | None = None,
        session_key: str | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        attributes: bool | None = None,
    ) -> Request[WalkOut]:
        """Collect what to know about the entities that a conversation is about, and their neighbours, within a deadline."""
        return post(
            WalkOut,
            "/graph/walk",
            query=query,
            project_path=project_path,
            checkpoint=checkpoint,
            session_key=session_key,
            as_of=as_of,
            known_at=known_at,
            attributes=attributes,
        )

    @operation
    def list_aspects(self, ref: Id, *, as_of: Moment | None = None, known_at: Moment | None = None) -> Request[AspectPage]:
        """Aspects of an entity, heaviest first, with the attributes and constraints that held at `as_of`."""
        return get(AspectPage, "/entities/{ref}/aspects", {"ref": ref}, as_of=as_of, known_at=known_at)

    @operation
    def write_aspect(
        self, ref: Id, name: str, *, weight: float | None = None, single_valued: bool | None = None
    ) -> Request[AspectWritten]:
        """Give an entity an aspect, or change the one it has by this name."""
        return post(AspectWritten, "/entities/{ref}/aspects", {"ref": ref}, name=name, weight=weight, single_valued=single_valued)

    @operation
    def write_attribute(
        self,
        id: Id,
        content: str,
        *,
        kind: Literal["attribute", "constraint"] | None = None,
        memory_id: Id | None = None,
        confidence: float | None = None,
        importance: float | None = None,
        valid_from: Moment | None = None,
        valid_to: Moment | None = None,
    ) -> Request[AttributeWritten]:
        """Put a fact, or a constraint, under an aspect; facts that it contradicts are superseded, or proposed to be."""
        return post(
            AttributeWritten,
            "/aspects/{id}/attributes",
            {"id": id},
            content=content,
            kind=kind,
            memory_id=memory_id,
            confidence=confidence,
            importance=importance,
            valid_from=valid_from,
            valid_to=valid_to,
        )

    @operation
    def change_attribute(
        self,
        id: Id,
        *,
        content: str | Omitted = OMITTED,
        valid_from: Moment | Omitted = OMITTED,
        valid_to: Moment | Omitted | None = OMITTED,
        status: Literal["active", "superseded", "deleted"] | Omitted = OMITTED,
        confidence: float | Omitted = OMITTED,
        importance: float | Omitted = OMITTED,
    ) -> Request[AttributeWritten]:
        """Change an attribute. New content is a new attribute, which is returned; the old one is superseded and stays."""
        return change(
            "PATCH",
            AttributeWritten,
            "/attributes/{id}",
            {"id": id},
            content=content,
            valid_from=valid_from,
            valid_to=valid_to,
            status=status,
            confidence=confidence,
            importance=importance,
        )

    @listing
    def list_supersessions(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        status: SupersessionStatus | None = None,
        signal: SupersessionSignal | None = None,
        entity: str | None = None,
    ) -> Request[Page[Supersession]]:
        """List decisions that a fact made a sibling obsolete, newest first, with the words that gave the signal."""
        return page(Supersession, "/supersessions", limit=limit, cursor=cursor, status=status, signal=signal, entity=entity)

    @operation
    def sweep_supersessions(
        self,
        *,
        entity: str | None = None,
        mode: Literal["apply", "propose"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Request[SweepOut]:
        """Look for contradictions among facts that stand already, `limit` of them a call; go on with `next_cursor`."""
        return post(SweepOut, "/supersessions", entity=entity, mode=mode, limit=limit, cursor=cursor)

    @operation
    def accept_supersession(self, id: Id) -> Request[Supersession]:
        """Accept a proposed, dismissed or undone decision: the older attribute is superseded."""
        return post(Supersession, "/supersessions/{id}/accept", {"id": id})

    @operation
    def undo_supersession(self, id: Id) -> Request[Supersession]:
        """Take an applied decision back: the older attribute is what it was."""
        return post(Supersession, "/supersessions/{id}/undo", {"id": id})

    @operation
    def dismiss_supersession(self, id: Id) -> Request[Supersession]:
        """Say no to a proposed decision: nothing moves, and no sweep proposes the pair again."""
        return post(Supersession, "/supersessions/{id}/dismiss", {"id": id})
