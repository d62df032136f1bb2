"""Search of working memory by words and by meaning.

Entries live for minutes and are written all the time, so no vector is stored: those of the entries that a search may find are made
when it is asked, between two reads, and kept by the process. Where no model answers in time, words alone count.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from db.pool import JsonObject, Transaction
from db.sessions import working_memory
from db.sessions.working_memory import EntryCandidate
from loci.models.sessions import EntrySearch
from service.embedding.active_model import active_model, embed_question
from service.embedding.cache import VectorCache
from service.embedding.provider import EmbeddingError, Provider
from service.recall.fusion import relative_score
from service.settings import EmbeddingSettings

Read = Callable[[Callable[[Transaction], Awaitable[Any]]], Awaitable[Any]]


async def search_entries(
    read: Read,
    wanted: EntrySearch,
    provider: Provider | None,
    vectors: VectorCache,
    settings: EmbeddingSettings,
    *,
    space: str | None,
) -> JsonObject:
    """Entries that say what is asked, best first; without a question the newest first. `skipped`: why meaning took no part."""
    filters = {**wanted.model_dump(exclude={"query", "limit"}), "space": space}
    query = (wanted.query or "").strip()
    if not query:
        newest = await read(lambda tx: working_memory.search_working_memory(tx, limit=wanted.limit, **filters))
        return {"items": newest, "skipped": {}}

    async def find_candidates(tx: Transaction) -> tuple[list[EntryCandidate], float]:
        found = await working_memory.working_memory_candidates(tx, query=query, limit=wanted.limit, **filters)
        return found, float((await tx.read_caller()).settings["working_memory_similarity"])

    found, least = await read(find_candidates)
    cosines, reason = await _candidate_cosines(query, found, provider, vectors, settings)
    words = {row["key"]: row["score"] for row in found if row["score"] is not None}
    fused = relative_score([words, {key: cosine for key, cosine in cosines.items() if cosine >= least}])
    newer = sorted(found, key=lambda row: (row["stored_at"], row["key"]), reverse=True)
    best = sorted((row["key"] for row in newer if row["key"] in fused), key=fused.__getitem__, reverse=True)[: wanted.limit]
    rows = await read(lambda tx: working_memory.working_memory_entries(tx, keys=best)) if best else []
    live = {row["key"]: row for row in rows}
    items = [{**live[key], "score": fused[key]} for key in best if key in live]
    return {"items": items, "skipped": {"vector": reason} if reason else {}}


async def _candidate_cosines(
    query: str, found: list[EntryCandidate], provider: Provider | None, vectors: VectorCache, settings: EmbeddingSettings
) -> tuple[dict[str, float], str | None]:
    """Cosine of each candidate with the question by key; none, and why, where no model can be asked."""
    used = active_model(provider)
    if used.provider is None:
        return {}, used.problem
    if not found:
        return {}, None
    question, reason = await embed_question(query, used, settings)
    if question is None:
        return {}, reason
    texts = [row["text"][: settings.max_chars] for row in found]
    try:
        made = await vectors.embed(used.provider, texts, timeout=settings.query_timeout)
    except EmbeddingError as error:
        return {}, str(error)
    return {row["key"]: float(cosine) for row, cosine in zip(found, made @ question, strict=True)}, None
