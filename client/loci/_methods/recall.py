"""Recall, and the log of recalls."""

from collections.abc import Iterable, Mapping
from typing import Literal

from loci.descriptors import C, Group, Methods, listing, operation
from loci.models.jobs import JobQueued
from loci.models.recall import (
    ArmName,
    Fusion,
    ListedRecall,
    RecallDetail,
    RecallInput,
    RecallOut,
    TuneQuestion,
    Weights,
    WhyNot,
)
from loci.requests import API, Id, Json, Moment, Page, Request, get, nothing, page, post


class Recall(Methods[C]):
    """Methods that find memories."""

    @operation
    def recall(
        self,
        query: str,
        *,
        k: int | Literal["auto"] | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        tags_all: Iterable[str] | None = None,
        layers: Iterable[int] | None = None,
        lineage: str | None = None,
        source: str | None = None,
        conversation: str | None = None,
        metadata: Json | None = None,
        entity: str | None = None,
        about: str | None = None,
        under: Id | None = None,
        valid_after: Moment | None = None,
        valid_before: Moment | None = None,
        recorded_after: Moment | None = None,
        recorded_before: Moment | None = None,
        min_importance: float | None = None,
        min_confidence: float | None = None,
        min_relevance: float | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        at: Moment | None = None,
        time_zone: str | None = None,
        arms: Iterable[ArmName] | None = None,
        namespaces: Iterable[str] | Literal["*"] | None = None,
        weights: Weights | Mapping[str, float] | None = None,
        fusion: Fusion | None = None,
        rrf_k: float | None = None,
        max_chars: int | None = None,
        explain: bool | None = None,
        user: str | None = None,
        session_id: str | None = None,
        embedding: Iterable[float] | None = None,
        rerank: bool | int | None = None,
        rewrite: Literal["decompose", "hypothetical"] | None = None,
        log: bool | None = None,
    ) -> Request[RecallOut]:
        """Find what answers a question: by words, by meaning, through the graph, and around the best hits.

        The reply can be iterated over and counted: its results, best first. Each memory has a `relevance`, how likely it answers;
        those below `min_relevance` are left out, so that the answer may be empty. `category` (with all below it), `tags` (any of
        these), `tags_all`, `layers`, `lineage`, `source`, `conversation` (the session that it comes from), `metadata` (contained),
        `entity` (mentioned), `about`, `under` and the bounds on moments, importance and confidence restrict what is searched.
        `user` is the one on whose behalf is asked: whom "I" means. `session_id` is the session that asks. `results` may hold
        entries and turns where their arms are asked for; `memories` are memories alone.
        """
        filters = {
            "category": category,
            "tags": tags,
            "tags_all": tags_all,
            "layers": layers,
            "lineage": lineage,
            "source": source,
            "session_id": conversation,
            "metadata": metadata,
            "entity": entity,
            "about": about,
            "under": under,
            "valid_after": valid_after,
            "valid_before": valid_before,
            "recorded_after": recorded_after,
            "recorded_before": recorded_before,
            "min_importance": min_importance,
            "min_confidence": min_confidence,
        }
        return post(
            RecallOut,
            "/recall",
            query=query,
            k=k,
            filters={name: value for name, value in filters.items() if value is not None} or None,
            min_relevance=min_relevance,
            as_of=as_of,
            known_at=known_at,
            at=at,
            time_zone=time_zone,
            arms=arms,
            namespaces=namespaces,
            weights=weights,
            fusion=fusion,
            rrf_k=rrf_k,
            max_chars=max_chars,
            explain=explain,
            user=user,
            session_id=session_id,
            embedding=embedding,
            rerank=rerank,
            rewrite=rewrite,
            log=log,
        )


class Recalls(Group[C]):
    """The log of recalls, why one does not bring a memory, and what settings they would do better with."""

    @operation
    def why_not(self, memory: Id, recall: RecallInput | Json) -> Request[WhyNot]:
        """Say why a recall does not bring a memory (an id, or a lineage's name): what dropped it, and what each arm made of it."""
        return post(WhyNot, "/recall/why-not", memory=memory, recall=recall)

    @listing
    def list(
        self, *, limit: int | None = None, cursor: str | None = None, session_id: str | None = None
    ) -> Request[Page[ListedRecall]]:
        """List logged recalls, newest first."""
        return page(ListedRecall, "/recalls", limit=limit, cursor=cursor, session_id=session_id)

    @operation
    def get(self, id: Id) -> Request[RecallDetail]:
        """Show a logged recall: what it answered, by which arms, and what became of that."""
        return get(RecallDetail, "/recalls/{id}", {"id": id})

    @operation
    def delete(self, id: Id) -> Request[None]:
        """Take a recall out of the log, question and all."""
        return Request(method="DELETE", route=API + "/recalls/{id}", parts={"id": id}, read=nothing, gone=True)

    @operation
    def tune(
        self,
        questions: Iterable[TuneQuestion | Json] | None = None,
        *,
        k: int | None = None,
        fusion: Literal["linear", "rrf"] | None = None,
        apply: bool | None = None,
    ) -> Request[JobQueued]:
        """Measure which settings of a recall bring back best what answers these questions; a job does it.

        Its `result` says what is proposed and what it gains. None: questions of logged recalls whose results were rated useful.
        """
        return post(JobQueued, "/recall/tune", questions=questions, k=k, fusion=fusion, apply=apply)
