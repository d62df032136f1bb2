"""The graph as the reference MCP memory server shows it: a wrapper of the SQL function."""

from typing import TypedDict

from db.pool import JsonObject, Transaction


class ObservedGraph(TypedDict):
    """Entities with their observations, and relations, with their ids."""

    entities: list[JsonObject]
    relations: list[JsonObject]


async def observed_graph(tx: Transaction, *, names: list[str] | None = None, query: str | None = None) -> ObservedGraph:
    """All of it; the entities that these names mean, stated or not; or those with a text. One row."""
    return await tx.row(
        ObservedGraph,
        "select * from loci_api.observed_graph(%(namespace)s, %(names)s::text[], %(query)s::text)",
        names=names,
        query=query,
    )
