"""Proof that a namespace holds what it promises, and the repair of what can be mended."""

from db import hierarchy, namespaces
from db.pool import JsonObject, Transaction


async def verify(tx: Transaction, *, repair: bool) -> list[JsonObject]:
    """Each promise of the transaction's namespace: rows checked, rows that break it, an example, and how many were `repaired`.

    With `repair` the closure of the hierarchy is rebuilt where it differs, and checked again.
    """
    promises = await namespaces.verify(tx)
    repaired = {}
    if repair and any(row["name"] == "closure" and row["broken"] for row in promises):
        done = await hierarchy.repair_hierarchy(tx)
        left = {row["name"]: row["broken"] for row in await namespaces.verify(tx)}
        repaired = {} if left["closure"] else {"closure": done["removed"] + done["added"]}
    return [{**row, "repaired": repaired.get(row["name"], 0)} for row in promises]
