"""Proof that a namespace holds what it promises, and the repair of what can be mended."""

from db import hierarchy, namespaces
from db.pool import JsonObject, Transaction


async def verify(tx: Transaction, *, repair: bool) -> list[JsonObject]:
    """Each promise of the transaction's namespace: rows checked, rows that break it, an example, and how many were `repaired`.

    With `repair` the closure of the hierarchy and the lexical index are rebuilt where they differ, and checked again.
    """
    promises = await namespaces.verify(tx)
    repaired = {}
    if repair:
        closure = await hierarchy.repair_hierarchy(tx)
        done = {"closure": closure["removed"] + closure["added"], "postings": await namespaces.repair_lexical_index(tx)}
        if any(done.values()):
            left = {row["name"]: row["broken"] for row in await namespaces.verify(tx)}
            repaired = {name: number for name, number in done.items() if not left[name]}
    return [{**row, "repaired": repaired.get(row["name"], 0)} for row in promises]
