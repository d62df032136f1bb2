"""Recall, search by words, and the log of recalls."""

from collections.abc import Iterable, Mapping
from typing import Literal

from loci.descriptors import listing, operation
from loci.models.recall import ArmName, Filters, Fusion, ListedRecall, RecallDetail, RecallOut, SearchOut, Weights
from loci.requests import API, Id, Json, Moment, Page, Request, get, nothing, page, post


class Recall:
    """Operations that find memories."""

    @operation
    def recall(
        self,
        query: str,
        *,
        k: int | None = None,
        arms: Iterable[ArmName] | None = None,
        namespaces: Iterable[str] | Literal["*"] | None = None,
        weights: Weights | Mapping[str, float] | None = None,
        fusion: Fusion | None = None,
        rrf_k: float | None = None,
        filters: Filters | Json | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        min_relevance: float | None = None,
        explain: bool | None = None,
        session_id: str | None = None,
        embedding: Iterable[float] | None = None,
        rerank: bool | int | None = None,
        rewrite: Literal["decompose", "hypothetical"] | None = None,
        log: bool | None = None,
    ) -> Request[RecallOut]:
        """Find what answers a question: by words, by meaning, through the graph, and around the best hits.

        `memories` of the reply are the results that are memories; `results` may hold entries and turns beside them. Each memory
        has a `relevance`, how likely it answers; those below `min_relevance` are left out, so that the answer may be empty.
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
            min_relevance=min_relevance,
            explain=explain,
            session_id=session_id,
            embedding=embedding,
            rerank=rerank,
            rewrite=rewrite,
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
