"""Asking: recall, search by words, and what sessions say about what they were shown."""

from collections.abc import Iterable, Mapping
from typing import Literal

from loci.operations import listing, operation
from loci.requests import API, Id, Json, Moment, Page, Request, get, nothing, page, post
from service.schemas import ArmName, Filters, Weights
from service.schemas_context import ContextOut, SectionName
from service.schemas_recall import ListedRecall, RecallDetail, RecallOut, SearchOut
from service.schemas_retain import Decide, ReflectOut, RetainOut
from service.schemas_signals import Signal, SignalInput
from service.schemas_walk import FeedbackEvent, FeedbackNoted, Rating, SessionEnd


class Asking:
    """Operations that find memories, and that say whether they helped."""

    @operation
    def recall(
        self,
        query: str,
        *,
        k: int | None = None,
        arms: Iterable[ArmName] | None = None,
        namespaces: Iterable[str] | Literal["*"] | None = None,
        weights: Weights | Mapping[str, float] | None = None,
        fusion: Literal["rrf", "relative_score"] | None = None,
        rrf_k: float | None = None,
        filters: Filters | Json | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        explain: bool | None = None,
        session_id: str | None = None,
        embedding: Iterable[float] | None = None,
        log: bool | None = None,
    ) -> Request[RecallOut]:
        """Find what answers a question: by words, by meaning, through the graph, and around the best hits.

        `memories` of the reply are the results that are memories; `results` may hold entries and turns beside them.
        """
        return post(
            RecallOut,
            "/recall",
            query=query,
            k=k,
            arms=arms,
            namespaces=namespaces,
            weights=weights,
            fusion=fusion,
            rrf_k=rrf_k,
            filters=filters,
            as_of=as_of,
            known_at=known_at,
            explain=explain,
            session_id=session_id,
            embedding=embedding,
            log=log,
        )

    @operation
    def search_words(
        self,
        q: str,
        *,
        limit: int | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        session_id: str | None = None,
    ) -> Request[SearchOut]:
        """Search by words alone, in BM25 order, with the entities that the question and each result name."""
        return get(SearchOut, "/memory/search", q=q, limit=limit, category=category, tags=tags, session_id=session_id)

    @listing
    def list_recalls(
        self, *, limit: int | None = None, cursor: str | None = None, session_id: str | None = None
    ) -> Request[Page[ListedRecall]]:
        """List logged recalls, newest first."""
        return page(ListedRecall, "/recalls", limit=limit, cursor=cursor, session_id=session_id)

    @operation
    def get_recall(self, id: Id) -> Request[RecallDetail]:
        """Show a logged recall: what it answered, by which arms, and what became of that."""
        return get(RecallDetail, "/recalls/{id}", {"id": id})

    @operation
    def delete_recall(self, id: Id) -> Request[None]:
        """Take a recall out of the log, question and all."""
        return Request(method="DELETE", route=API + "/recalls/{id}", parts={"id": id}, read=nothing, gone=True)

    @operation
    def build_context(
        self,
        message: str | None = None,
        *,
        session_id: str | None = None,
        space: str | None = None,
        k: int | None = None,
        max_chars: int | None = None,
        sections: Iterable[SectionName] | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Request[ContextOut]:
        """Build what to inject before an inference: memories new to the session, rules, graph, working memory, turns."""
        return post(
            ContextOut,
            "/context",
            message=message,
            session_id=session_id,
            space=space,
            k=k,
            max_chars=max_chars,
            sections=sections,
            as_of=as_of,
            known_at=known_at,
        )

    @operation
    def retain(
        self,
        content: str,
        *,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        valid_from: Moment | None = None,
        metadata: Json | None = None,
        source: str | None = None,
        session_id: str | None = None,
        dry_run: bool | None = None,
        decide: Decide | None = None,
    ) -> Request[RetainOut]:
        """Take in a text: each fact becomes a memory, a new version of one, a linked one, or reinforces what is known.

        `decide`: auto (a language model if one is configured), rules or model.
        """
        return post(
            RetainOut,
            "/retain",
            content=content,
            category=category,
            tags=tags,
            valid_from=valid_from,
            metadata=metadata,
            source=source,
            session_id=session_id,
            dry_run=dry_run,
            decide=decide,
        )

    @operation
    def reflect(
        self,
        *,
        dry_run: bool | None = None,
        limit: int | None = None,
        category: str | None = None,
        cursor: str | None = None,
        decide: Decide | None = None,
    ) -> Request[ReflectOut]:
        """Give orphans a place under a concept, and link what is related; go on with `next_cursor`."""
        return post(ReflectOut, "/reflect", dry_run=dry_run, limit=limit, category=category, cursor=cursor, decide=decide)

    @operation
    def note_feedback(
        self,
        session_id: str | None = None,
        *,
        injected: Iterable[Id] | None = None,
        confirmed: Iterable[Id] | None = None,
        recall_id: Id | None = None,
        ratings: Iterable[Rating | Json] | None = None,
        signals: Iterable[SignalInput | Json] | None = None,
    ) -> Request[FeedbackNoted]:
        """Say what a session was shown and has used since, of what use a recall was, and what was said about the agent's work."""
        return post(
            FeedbackNoted,
            "/feedback",
            session_id=session_id,
            injected=injected,
            confirmed=confirmed,
            recall_id=recall_id,
            ratings=ratings,
            signals=signals,
        )

    @listing
    def list_feedback(
        self, *, limit: int | None = None, cursor: str | None = None, session_id: str | None = None
    ) -> Request[Page[FeedbackEvent]]:
        """List what ended sessions have changed in the weights of aspects, newest first."""
        return page(FeedbackEvent, "/feedback", limit=limit, cursor=cursor, session_id=session_id)

    @listing
    def list_signals(
        self, *, limit: int | None = None, cursor: str | None = None, kind: str | None = None, session_id: str | None = None
    ) -> Request[Page[Signal]]:
        """List what was said about the agent's work, newest first."""
        return page(Signal, "/feedback/signals", limit=limit, cursor=cursor, kind=kind, session_id=session_id)

    @operation
    def end_session(self, session: str) -> Request[SessionEnd]:
        """End a session: what it was shown and found again confirms aspects. Ending it twice changes nothing more."""
        return post(SessionEnd, "/sessions/{session}/end", {"session": session})
