"""What a namespace promises, checked row by row, and mended where it can be."""

from typing import Any

from db.pool import Transaction

Row = dict[str, Any]


async def verify(tx: Transaction) -> list[Row]:
    """Each promise: name, rows checked, rows that break it, an example."""
    return await tx.rows("select * from loci.verify(%(namespace)s)")


async def repair_hierarchy(tx: Transaction) -> Row:
    """Make the closure equal to the recursion; how many rows were removed and added."""
    return await tx.row("select * from loci.repair_hierarchy(%(namespace)s)")
