"""Memories: written, read, changed, forgotten, erased; history, links, categories."""

from collections.abc import Iterable

from loci.descriptors import C, Group, listing, operation
from loci.models.graph import EdgeInput, EntityInput
from loci.models.memories import (
    BatchWritten,
    CategoryPage,
    Dependent,
    Erased,
    ForgottenMemory,
    Link,
    LinkEnded,
    MemoryInput,
    MemoryOut,
    MemoryPage,
    MemoryStored,
    OnDuplicate,
    Versions,
)
from loci.models.recall import MemoryRecall, SearchOut
from loci.models.retain import Settled, UnsettledPair, Verdict
from loci.requests import OMITTED, Id, Json, Moment, Omitted, Page, Request, change, delete, get, page, post


class Memories(Group[C]):
    """Operations on memories."""

    @operation
    def write(
        self,
        content: str,
        *,
        lineage: str | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        layer: int | None = None,
        parent_id: Id | None = None,
        valid_from: Moment | None = None,
        valid_to: Moment | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        metadata: Json | None = None,
        about: str | None = None,
        source: str | None = None,
        session_id: str | None = None,
        entities: Iterable[EntityInput | Json] | None = None,
        edges: Iterable[EdgeInput | Json] | None = None,
        embedding: Iterable[float] | None = None,
        corrects: Id | None = None,
        replaces: Id | None = None,
        on_duplicate: OnDuplicate | None = None,
        enrich: bool | None = None,
        compare: bool | None = None,
    ) -> Request[MemoryStored]:
        """Write a memory. An existing lineage gets a new version; an exact duplicate reinforces the memory that is there.

        `on_duplicate`: "update" lets that memory take over what is stated here, "refuse" raises Conflict. `ignored` in the reply
        names what a duplicate stated otherwise, `cut_short` where a later version ends it earlier than stated. `enrich`: have
        a language model expand it later, in the background, where the service has one. `compare`: name what it may outdate
        (`unsettled`); `settle` says which holds.
        """
        return post(
            MemoryStored,
            "/memories",
            content=content,
            lineage=lineage,
            category=category,
            tags=tags,
            layer=layer,
            parent_id=parent_id,
            valid_from=valid_from,
            valid_to=valid_to,
            importance=importance,
            confidence=confidence,
            metadata=metadata,
            about=about,
            source=source,
            session_id=session_id,
            entities=entities,
            edges=edges,
            embedding=embedding,
            corrects=corrects,
            replaces=replaces,
            on_duplicate=on_duplicate,
            enrich=enrich,
            compare=compare,
        )

    @operation
    def write_batch(self, items: Iterable[MemoryInput | Json], *, atomic: bool | None = None) -> Request[BatchWritten]:
        """Write up to 10,000 memories in one request. Atomic: all or nothing; otherwise each item has its own result.

        `write_many` takes any number.
        """
        return post(BatchWritten, "/memories/batch", items=items, atomic=atomic)

    @listing
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        category: str | None = None,
        tag: Iterable[str] | None = None,
        layer: Iterable[int] | None = None,
        lineage: str | None = None,
        session_id: str | None = None,
        source: str | None = None,
        entity: str | None = None,
        about: str | None = None,
        under: Id | None = None,
        metadata: Json | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        all_versions: bool | None = None,
    ) -> Request[Page[MemoryOut]]:
        """List memories, newest first: those that are current, or were at `as_of` as believed at `known_at`."""
        return page(
            MemoryOut,
            "/memories",
            limit=limit,
            cursor=cursor,
            category=category,
            tag=tag,
            layer=layer,
            lineage=lineage,
            session_id=session_id,
            source=source,
            entity=entity,
            about=about,
            under=under,
            metadata=metadata,
            as_of=as_of,
            known_at=known_at,
            all_versions=all_versions,
        )

    @operation
    def search(
        self,
        q: str,
        *,
        limit: int | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        session_id: str | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Request[SearchOut]:
        """Search by words alone, in BM25 order, with the entities that the question and each result name."""
        return get(
            SearchOut,
            "/memory/search",
            q=q,
            limit=limit,
            category=category,
            tags=tags,
            session_id=session_id,
            as_of=as_of,
            known_at=known_at,
        )

    @operation
    def current(
        self, lineages: Iterable[str], *, as_of: Moment | None = None, known_at: Moment | None = None
    ) -> Request[MemoryPage]:
        """Read up to 1,000 lineages by name: of each the visible version, in the order asked; those without one are left out."""
        return post(MemoryPage, "/memories/current", lineages=lineages, as_of=as_of, known_at=known_at)

    @operation
    def get(self, id: Id, *, as_of: Moment | None = None, known_at: Moment | None = None) -> Request[MemoryOut]:
        """One version of a memory, whatever its status. With `as_of`: the version of its lineage that was valid then."""
        return get(MemoryOut, "/memories/{id}", {"id": id}, as_of=as_of, known_at=known_at)

    @operation
    def change(
        self,
        id: Id,
        *,
        category: str | Omitted = OMITTED,
        tags: Iterable[str] | Omitted = OMITTED,
        layer: int | Omitted = OMITTED,
        parent_id: Id | Omitted | None = OMITTED,
        parent_since: Moment | Omitted = OMITTED,
        valid_from: Moment | Omitted = OMITTED,
        valid_to: Moment | Omitted | None = OMITTED,
        importance: float | Omitted = OMITTED,
        confidence: float | Omitted = OMITTED,
        metadata: Json | Omitted | None = OMITTED,
        about: str | Omitted | None = OMITTED,
    ) -> Request[MemoryOut]:
        """Change what is said about a memory; `parent_id=None` detaches it, `valid_to=None` says that it still holds.

        `metadata=None`: it has none. `about=None`: its text says whom it is about.
        Content changes by a new version: write it with the lineage ("it changed") or with `corrects` ("we were wrong").
        """
        return change(
            "PATCH",
            MemoryOut,
            "/memories/{id}",
            {"id": id},
            category=category,
            tags=tags,
            layer=layer,
            parent_id=parent_id,
            parent_since=parent_since,
            valid_from=valid_from,
            valid_to=valid_to,
            importance=importance,
            confidence=confidence,
            metadata=metadata,
            about=about,
        )

    @listing
    def unsettled(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[UnsettledPair]]:
        """Pairs of which the newer memory may outdate the older one and nobody has said which holds, newest first."""
        return page(UnsettledPair, "/memories/unsettled", limit=limit, cursor=cursor)

    @operation
    def settle(self, id: Id, older: Id, verdict: Verdict) -> Request[Settled]:
        """Say which of two memories holds, this one or an older one.

        "replaces": the older one was true until this one began; "corrects": it was never true; "both_true": both hold.
        """
        return post(Settled, "/memories/{id}/settle", {"id": id}, older=older, verdict=verdict)

    @operation
    def forget(self, id: Id) -> Request[ForgottenMemory]:
        """Forget a memory: recall no longer finds it. `restore` takes it back. `already_forgotten`: it had been before."""
        return delete(ForgottenMemory, "/memories/{id}", {"id": id})

    @operation
    def restore(self, id: Id) -> Request[MemoryOut]:
        """Take a forgetting back."""
        return post(MemoryOut, "/memories/{id}/restore", {"id": id})

    @operation
    def erase(
        self,
        ids: Iterable[Id],
        *,
        versions: Versions | None = None,
        subtree: bool | None = None,
        with_turns: bool | None = None,
        dry_run: bool | None = None,
    ) -> Request[Erased]:
        """Erase memories for good, all or none, with what rests on them; the reply is the receipt.

        An entity whose last mention goes with them goes, too, with all its edges, aspects and facts, unless it is pinned. Turns of
        conversation that hold all the words of an erased text are named; `with_turns` erases them, too. `dry_run` erases nothing,
        and says what would go.
        """
        return post(Erased, "/memories/erase", ids=ids, versions=versions, subtree=subtree, with_turns=with_turns, dry_run=dry_run)

    @listing
    def list_dependents(self, id: Id, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[Dependent]]:
        """Facts, edges and entities that rest on this version of a memory now."""
        return page(Dependent, "/memories/{id}/dependents", {"id": id}, limit=limit, cursor=cursor)

    @listing
    def list_recalls(self, id: Id, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[MemoryRecall]]:
        """Logged recalls that had this version of a memory in their answer, newest first, with its rating."""
        return page(MemoryRecall, "/memories/{id}/recalls", {"id": id}, limit=limit, cursor=cursor)

    @listing
    def history(
        self,
        id: Id,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Request[Page[MemoryOut]]:
        """Every version of a memory's lineage, oldest first. `id` is that of any version, or the lineage's name."""
        parts = {"id": id}
        return page(MemoryOut, "/memories/{id}/history", parts, limit=limit, cursor=cursor, as_of=as_of, known_at=known_at)

    @operation
    def link(self, id: Id, target_id: Id, *, type: str | None = None, strength: float | None = None) -> Request[Link]:
        """Link a memory to another, or change the strength of the link."""
        return post(Link, "/memories/{id}/links", {"id": id}, target_id=target_id, type=type, strength=strength)

    @listing
    def list_links(
        self,
        id: Id,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        all_versions: bool | None = None,
    ) -> Request[Page[Link]]:
        """Links of a memory in both directions, strongest first. `as_of`: those of what was valid then, as strong as then."""
        return page(
            Link,
            "/memories/{id}/links",
            {"id": id},
            limit=limit,
            cursor=cursor,
            as_of=as_of,
            known_at=known_at,
            all_versions=all_versions,
        )

    @operation
    def unlink(self, id: Id, target_id: Id, *, type: str | None = None) -> Request[LinkEnded]:
        """Take the link of this type to another memory back."""
        return delete(LinkEnded, "/memories/{id}/links/{target_id}", {"id": id, "target_id": target_id}, type=type)

    @operation
    def list_categories(
        self, *, under: str | None = None, as_of: Moment | None = None, known_at: Moment | None = None
    ) -> Request[CategoryPage]:
        """Categories in path order, with the number of memories in each, and in it and below."""
        return get(CategoryPage, "/categories", under=under, as_of=as_of, known_at=known_at)
