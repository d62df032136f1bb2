"""Search by words alone, in BM25 order, with what the graph knows of the question and of each result."""

from db.pool import JsonObject, Transaction
from db.recall import search
from db.sessions import feedback


async def search_words(tx: Transaction, *, query: str, limit: int, scope: search.Scope, session_id: str | None) -> JsonObject:
    """Memories that have the words; the entities that the question names, and their rules. A session's hits are noted."""
    found = await search.search_text(tx, query=query, limit=limit, scope=scope)
    documents = [row["doc_id"] for row in found]
    if session_id is not None:
        await feedback.send_recall_hits(tx, session_id=session_id, documents=documents)
    rows = await (await search.send_recalled_memories(tx, documents=documents, scope=scope)).all()
    return _with_context(found, rows, await search.search_context(tx, query=query, documents=documents, scope=scope))


def _with_context(found: list[search.TextHit], rows: list[search.RecalledRow], context: search.SearchContext) -> JsonObject:
    """Memories with their scores and the entities that they mention, and what holds about the question."""
    scores = {row["doc_id"]: row["score"] for row in found}
    results = [
        {
            **{name: value for name, value in row.items() if name not in {"cursor", "contradicts"}},
            "score": scores[row["cursor"]],
            "entities": context.mentions.get(row["cursor"], []),
        }
        for row in rows
    ]
    return {"results": results, "entities": context.entities, "constraints": context.constraints}
