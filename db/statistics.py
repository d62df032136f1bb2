"""Statistics of tables, by which the server plans."""

from db.pool import Transaction


async def analyze_new_tables(tx: Transaction) -> list[str]:
    """Analyze tables that have rows and no statistics yet, so that every session plans anew; which."""
    return await tx.values(str, "select analyzed from loci_api.analyze_new_tables() analyzed")
