"""The graph: edges, their types and decay, walks, and the structure under entities."""

from collections.abc import Iterable
from typing import Literal

from loci.operations import listing, operation
from loci.requests import OMITTED, Id, Json, Moment, Omitted, Page, Request, change, delete, get, page, post
from service.schemas_graph import AspectPage, AttributeWritten, EdgeWrite
from service.schemas_replies import (
    AspectWritten,
    Decayed,
    EdgeObserved,
    EdgeOut,
    EdgesObserved,
    EdgeTypeChanged,
    EdgeTypeOut,
    GraphContext,
    Traversal,
)
from service.schemas_supersession import Signal, Status, Supersession, SweepOut
from service.schemas_walk import Constellation, WalkOut


class Graph:
    """Operations on edges, aspects and attributes."""

    @operation
    def observe_edge(
        self,
        source: str,
        type: str,
        target: str | None = None,
        *,
        literal: str | None = None,
        aspect: str | None = None,
        confidence: float | None = None,
        strength: float | None = None,
        session_id: str | None = None,
        memory_id: Id | None = None,
        observed_at: Moment | None = None,
        valid_from: Moment | None = None,
        valid_to: Moment | None = None,
        metadata: Json | None = None,
    ) -> Request[EdgeObserved]:
        """Observe an edge. Names are resolved or created; seen in a new conversation, it has full confidence again."""
        return post(
            EdgeObserved,
            "/edges",
            source=source,
            type=type,
            target=target,
            literal=literal,
            aspect=aspect,
            confidence=confidence,
            strength=strength,
            session_id=session_id,
            memory_id=memory_id,
            observed_at=observed_at,
            valid_from=valid_from,
            valid_to=valid_to,
            metadata=metadata,
        )

    @operation
    def observe_edges(self, items: Iterable[EdgeWrite | Json]) -> Request[EdgesObserved]:
        """Observe up to 10,000 edges, all or nothing."""
        return post(EdgesObserved, "/edges/batch", items=items)

    @listing
    def list_edges(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        entity: str | None = None,
        type: str | None = None,
        faded: bool | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Request[Page[EdgeOut]]:
        """List edges with their effective confidence at `as_of`, as known at `known_at`; `faded`: faded ones too."""
        return page(
            EdgeOut, "/edges", limit=limit, cursor=cursor, entity=entity, type=type, faded=faded, as_of=as_of, known_at=known_at
        )

    @operation
    def delete_edge(self, id: Id) -> Request[EdgeOut]:
        """Take an edge back: no longer believed, kept as history."""
        return delete(EdgeOut, "/edges/{id}", {"id": id})

    @operation
    def get_edge_type(self, type: str) -> Request[EdgeTypeOut]:
        """Settings of an edge type."""
        return get(EdgeTypeOut, "/edge-types/{type}", {"type": type})

    @operation
    def set_edge_type(
        self,
        type: str,
        *,
        decay_rate: float | Omitted | None = OMITTED,
        single_valued: bool | Omitted = OMITTED,
        description: str | Omitted | None = OMITTED,
    ) -> Request[EdgeTypeChanged]:
        """Change settings of an edge type; says how many edges faded and how many came back. `decay_rate=None`: the namespace's."""
        return change(
            "PUT",
            EdgeTypeChanged,
            "/edge-types/{type}",
            {"type": type},
            decay_rate=decay_rate,
            single_valued=single_valued,
            description=description,
        )

    @operation
    def decay_edges(self, *, type: str | None = None) -> Request[Decayed]:
        """Recalculate when edges of a type, or of all, fade; says how many faded and how many came back. Reading never needs it."""
        return post(Decayed, "/edges/decay", type=type)

    @operation
    def traverse(
        self,
        start: Iterable[str] | None = None,
        *,
        text: str | None = None,
        edge_types: Iterable[str] | None = None,
        direction: Literal["out", "in", "both"] | None = None,
        max_hops: int | None = None,
        limit: int | None = None,
        min_confidence: float | None = None,
        min_strength: float | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        paths: bool | None = None,
        scores: bool | None = None,
    ) -> Request[Traversal]:
        """Walk the graph breadth first from entities, or from those that a text names; every bound that cut it short is named."""
        return post(
            Traversal,
            "/graph/traverse",
            start=start,
            text=text,
            edge_types=edge_types,
            direction=direction,
            max_hops=max_hops,
            limit=limit,
            min_confidence=min_confidence,
            min_strength=min_strength,
            as_of=as_of,
            known_at=known_at,
            paths=paths,
            scores=scores,
        )

    @operation
    def graph_context(
        self,
        text: str,
        *,
        max_hops: int | None = None,
        limit: int | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        touch: bool | None = None,
    ) -> Request[GraphContext]:
        """Show the graph around the entities that a message names, as data and as lines that go before an inference."""
        return post(
            GraphContext, "/graph/context", text=text, max_hops=max_hops, limit=limit, as_of=as_of, known_at=known_at, touch=touch
        )

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
    def constellation(
        self, *, limit: int | None = None, as_of: Moment | None = None, known_at: Moment | None = None
    ) -> Request[Constellation]:
        """Show the entities that stand out, with their aspects, and the living edges between them."""
        return get(Constellation, "/knowledge/constellation", limit=limit, as_of=as_of, known_at=known_at)

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
        status: Status | None = None,
        signal: Signal | None = None,
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
