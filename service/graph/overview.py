"""All that is known of one entity at once: memories that mention it, facts and rules, edges, and its last events."""

from datetime import datetime

from db.graph import overview
from db.pool import JsonObject, Transaction
from service.graph.edges import round_confidence
from service.paging import without_place


async def describe_entity(
    tx: Transaction, *, ref: str, limit: int, as_of: datetime | None, known_at: datetime | None
) -> JsonObject:
    """An entity at two moments, and the first `limit` of each list; of events the newest, the latest first."""
    found = await overview.entity_overview(tx, ref=ref, limit=limit, as_of=as_of, known_at=known_at)
    (entity,) = found["entity"]
    return {
        "entity": without_place(entity),
        "memories": [without_place(row) for row in found["memories"]],
        "aspects": found["aspects"],
        "edges": [without_place(round_confidence(row)) for row in found["edges"]],
        "timeline": found["timeline"],
    }
