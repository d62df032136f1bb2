"""Retaining a text: cut into facts, embedded, decided and written in the database (row L3)."""

from dataclasses import dataclass
from typing import Any

from db import retain as facts
from db.errors import FieldError, Invalid
from db.pool import Transaction
from service.embedding import EmbeddingError, Provider
from service.facts import split
from service.settings import EmbeddingSettings

ACTIONS = {"create": "created", "update": "updated", "link": "linked", "nothing": "unchanged"}
MOST = 1000  # whatever the setting retain_facts: what is not even embedded


@dataclass(frozen=True)
class Prepared:
    """Facts as items of loci.remember, and what did not take part."""

    items: list[dict[str, Any]]
    skipped: dict[str, str]


async def prepare(stated: dict[str, Any], provider: Provider | None, settings: EmbeddingSettings) -> Prepared:
    """Cut a text into facts and embed them at once, before any transaction. A dead endpoint costs the vectors, not the facts."""
    texts = split(stated["content"])
    if len(texts) > MOST:
        raise Invalid(f"the text has {len(texts):,} facts", [FieldError("content", f"must have at most {MOST:,} facts")])
    items = [{**stated, "content": text} for text in texts]
    if provider is None:
        return Prepared(items, {"vector": "no embedding model is configured"})
    try:
        vectors = await provider.embed([text[: settings.max_chars] for text in texts], timeout=settings.query_timeout)
    except EmbeddingError as error:
        return Prepared(items, {"vector": str(error)})
    return Prepared([{**item, "embedding": vector.tolist()} for item, vector in zip(items, vectors, strict=True)], {})


async def retain(
    tx: Transaction, prepared: Prepared, *, dry_run: bool, decisions: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Decide about facts and write what was decided. `decisions`: taken elsewhere, by a model; None: by rules."""
    rows = await facts.retain(tx, items=prepared.items, decisions=decisions, dry_run=dry_run)
    decided = [{"fact": prepared.items[row.pop("ordinal")]["content"], **row} for row in rows]
    counts = {name: sum(row["action"] == action for row in decided) for action, name in ACTIONS.items()}
    return {"decisions": decided, **counts, "dry_run": dry_run, "skipped": prepared.skipped}


async def reflect(tx: Transaction, *, limit: int, category: str | None, cursor: int | None, dry_run: bool) -> dict[str, Any]:
    """Place a page of orphans; the cursor of the next page is a string."""
    row = await facts.reflect(tx, limit=limit, category=category, cursor=cursor, dry_run=dry_run)
    following = row["next_cursor"]
    return {**row, "next_cursor": None if following is None else str(following), "dry_run": dry_run}
