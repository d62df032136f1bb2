"""The graph: entities, edges, merges, traversal."""

from collections.abc import Iterable
from typing import Literal, cast

from loci.descriptors import C, Group, listing, operation
from loci.models.graph import (
    Constellation,
    Duplicates,
    EdgeDetail,
    EdgeOut,
    EdgesObserved,
    EdgeTypeChanged,
    EdgeTypeListed,
    EdgeTypeOut,
    EdgeWrite,
    EdgeWritten,
    EntitiesFound,
    EntityEvent,
    EntityMatches,
    EntityMerged,
    EntityOut,
    EntityWritten,
    GraphContext,
    Merge,
    Recalculated,
    Touched,
    Traversal,
    Undone,
)
from loci.models.graph.overview import EntityOverview
from loci.models.memories import MemoryOut
from loci.requests import OMITTED, Id, Json, Moment, Omitted, Page, Request, change, delete, get, page, post


class Graph(Group[C]):
    """Operations on entities and edges. `ref` is an id, a name or an alias."""

    @operation
    def write_entity(
        self,
        name: str,
        *,
        type: str | None = None,
        aliases: Iterable[str] | None = None,
        description: str | None = None,
        confidence: float | None = None,
        metadata: Json | None = None,
        session_id: str | None = None,
    ) -> Request[EntityWritten]:
        """Create an entity, or add to the one that has this name or alias."""
        return post(
            EntityWritten,
            "/entities",
            name=name,
            type=type,
            aliases=aliases,
            description=description,
            confidence=confidence,
            metadata=metadata,
            session_id=session_id,
        )

    @listing
    def list_entities(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        type: str | None = None,
        query: str | None = None,
        pinned: bool | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Request[Page[EntityOut]]:
        """List entities: pinned first, then the most mentioned. `query` is the start of a name."""
        return page(
            EntityOut,
            "/entities",
            limit=limit,
            cursor=cursor,
            type=type,
            query=query,
            pinned=pinned,
            as_of=as_of,
            known_at=known_at,
        )

    @operation
    def match_entities(self, text: str, *, as_of: Moment | None = None, known_at: Moment | None = None) -> Request[EntityMatches]:
        """Find known entities in a text: whole words and phrases, names and aliases."""
        return post(EntityMatches, "/entities/match", text=text, as_of=as_of, known_at=known_at)

    @operation
    def touch_entities(self, ids: Iterable[Id]) -> Request[Touched]:
        """Note that entities were referenced now."""
        return post(Touched, "/entities/touch", ids=ids)

    @operation
    def search_entities(
        self,
        query: str,
        *,
        k: int | None = None,
        type: str | None = None,
        mode: Literal["name", "semantic", "both"] | None = None,
        embedding: Iterable[float] | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Request[EntitiesFound]:
        """Find entities by name, by meaning, or by both; best first."""
        return post(
            EntitiesFound,
            "/entities/search",
            query=query,
            k=k,
            type=type,
            mode=mode,
            embedding=embedding,
            as_of=as_of,
            known_at=known_at,
        )

    @operation
    def get_entity(self, ref: Id, *, as_of: Moment | None = None, known_at: Moment | None = None) -> Request[EntityOut]:
        """An entity as of a moment, as known at another; its counters are present figures."""
        return get(EntityOut, "/entities/{ref}", {"ref": ref}, as_of=as_of, known_at=known_at)

    @operation
    def change_entity(
        self,
        ref: Id,
        *,
        name: str | Omitted = OMITTED,
        type: str | Omitted = OMITTED,
        aliases: Iterable[str] | Omitted = OMITTED,
        description: str | Omitted | None = OMITTED,
        confidence: float | Omitted = OMITTED,
        metadata: Json | Omitted = OMITTED,
    ) -> Request[EntityOut]:
        """Change name, type, aliases, description, metadata or confidence."""
        return change(
            "PATCH",
            EntityOut,
            "/entities/{ref}",
            {"ref": ref},
            name=name,
            type=type,
            aliases=aliases,
            description=description,
            confidence=confidence,
            metadata=metadata,
        )

    @operation
    def delete_entity(self, ref: Id) -> Request[EntityOut]:
        """Take an entity out of the graph, with its edges and attributes; history keeps it. Returns it as it was."""
        return delete(EntityOut, "/entities/{ref}", {"ref": ref})

    @operation
    def pin_entity(self, ref: Id) -> Request[EntityOut]:
        """Pin an entity: always focal, sorted first, never removed by a sweep."""
        return post(EntityOut, "/entities/{ref}/pin", {"ref": ref})

    @operation
    def unpin_entity(self, ref: Id) -> Request[EntityOut]:
        """Unpin an entity."""
        return post(EntityOut, "/entities/{ref}/unpin", {"ref": ref})

    @listing
    def entity_history(
        self,
        ref: Id,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Request[Page[MemoryOut | EntityEvent]]:
        """All versions of a lineage, oldest first; where `ref` is an entity instead, what happened around it."""
        shape = cast("type[MemoryOut | EntityEvent]", MemoryOut | EntityEvent)  # there is no type of unions yet
        return page(shape, "/entities/{ref}/history", {"ref": ref}, limit=limit, cursor=cursor, as_of=as_of, known_at=known_at)

    @operation
    def describe_entity(
        self, ref: Id, *, limit: int | None = None, as_of: Moment | None = None, known_at: Moment | None = None
    ) -> Request[EntityOverview]:
        """All that is known of an entity: memories that mention it, facts, rules, edges, and its last events."""
        return get(EntityOverview, "/entities/{ref}/overview", {"ref": ref}, limit=limit, as_of=as_of, known_at=known_at)

    @operation
    def merge_duplicate_entities(self, *, dry_run: bool | None = None, limit: int | None = None) -> Request[Duplicates]:
        """Merge entities whose names differ in spelling only. With `dry_run`, the default, say which would be."""
        return post(Duplicates, "/entities/merge-duplicates", dry_run=dry_run, limit=limit)

    @operation
    def merge_entities(self, ref: Id, other: str, *, reason: str | None = None) -> Request[EntityMerged]:
        """Make one entity of two: the other's names, edges, mentions and aspects go to this one. `merge_id` undoes it."""
        return post(EntityMerged, "/entities/{ref}/merge", {"ref": ref}, other=other, reason=reason)

    @operation
    def split_entity(
        self,
        ref: Id,
        name: str,
        *,
        type: str | None = None,
        aliases: Iterable[str] | None = None,
        edge_ids: Iterable[Id] | None = None,
        memory_ids: Iterable[Id] | None = None,
        aspect_ids: Iterable[Id] | None = None,
        reason: str | None = None,
    ) -> Request[EntityMerged]:
        """Make a new entity of a part of one: edges, mentions, aspects and aliases that are its own. `merge_id` undoes it."""
        return post(
            EntityMerged,
            "/entities/{ref}/split",
            {"ref": ref},
            name=name,
            type=type,
            aliases=aliases,
            edge_ids=edge_ids,
            memory_ids=memory_ids,
            aspect_ids=aspect_ids,
            reason=reason,
        )

    @listing
    def list_merges(
        self, *, limit: int | None = None, cursor: str | None = None, entity: str | None = None
    ) -> Request[Page[Merge]]:
        """Merges and splits of the namespace, or of an entity, newest first; undone ones too."""
        return page(Merge, "/merges", limit=limit, cursor=cursor, entity=entity)

    @operation
    def undo_merge(self, id: Id, *, keep_names: bool | None = None, edge_ids: Iterable[Id] | None = None) -> Request[Undone]:
        """Undo a merge, or a split. What was written to the kept entity since stays with it, but for `edge_ids`.

        The names of a part stay as aliases of the whole, unless `keep_names` is false. The reply says what stays.
        """
        return post(Undone, "/merges/{id}/undo", {"id": id}, keep_names=keep_names, edge_ids=edge_ids)

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
    ) -> Request[EdgeWritten]:
        """Observe an edge. Names are resolved or created; seen in a new conversation, it has full confidence again.

        The reply is the edge as it is now; `superseded` names the edges that ended by it.
        """
        return post(
            EdgeWritten,
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
        faded: Literal["without", "with", "only"] | bool | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Request[Page[EdgeOut]]:
        """List edges with their effective confidence at `as_of`, as known at `known_at`; without faded ones, with, or only them."""
        return page(
            EdgeOut, "/edges", limit=limit, cursor=cursor, entity=entity, type=type, faded=faded, as_of=as_of, known_at=known_at
        )

    @operation
    def get_edge(
        self, id: Id, *, limit: int | None = None, as_of: Moment | None = None, known_at: Moment | None = None
    ) -> Request[EdgeDetail]:
        """Show an edge at `as_of`, as known at `known_at`, with the spells in which it holds and what was observed of it."""
        return get(EdgeDetail, "/edges/{id}", {"id": id}, limit=limit, as_of=as_of, known_at=known_at)

    @operation
    def change_edge(
        self,
        id: Id,
        *,
        confidence: float | Omitted = OMITTED,
        strength: float | Omitted = OMITTED,
        valid_from: Moment | Omitted = OMITTED,
        valid_to: Moment | Omitted | None = OMITTED,
    ) -> Request[EdgeOut]:
        """Correct confidence, strength or validity of an edge, as one operation. `valid_to=None`: it still holds."""
        return change(
            "PATCH",
            EdgeOut,
            "/edges/{id}",
            {"id": id},
            confidence=confidence,
            strength=strength,
            valid_from=valid_from,
            valid_to=valid_to,
        )

    @operation
    def delete_edge(self, id: Id) -> Request[EdgeOut]:
        """Take an edge back: no longer believed, kept as history."""
        return delete(EdgeOut, "/edges/{id}", {"id": id})

    @listing
    def list_edge_types(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[EdgeTypeListed]]:
        """List types of edges with the rates in force and how many edges they have."""
        return page(EdgeTypeListed, "/edge-types", limit=limit, cursor=cursor)

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
    def decay_edges(self, *, type: str | None = None) -> Request[Recalculated]:
        """Recalculate when edges of a type, or of all, fade; says how many are faded, and how many since the last time.

        Reading never needs it.
        """
        return post(Recalculated, "/edges/decay", type=type)

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
    def context(
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
    def constellation(
        self,
        *,
        limit: int | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        history: bool | None = None,
    ) -> Request[Constellation]:
        """Show the entities that stand out, with their aspects, and the living edges between them.

        With `history` also what each edge was worth at any moment.
        """
        return get(Constellation, "/knowledge/constellation", limit=limit, as_of=as_of, known_at=known_at, history=history)
