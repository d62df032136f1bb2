"""Texts as the database reads them: a wrapper of the SQL function that cuts, folds and stems words and reads numbers."""

from typing import Any

from db.pool import Transaction

Row = dict[str, Any]
# Calls of this function need no namespace and see no data.
TEXT_MARKS = "select name, plain, folded, numbers, implied, words from loci_api.text_marks(%(texts)s)"


async def text_marks(tx: Transaction, *, texts: list[str]) -> list[Row]:
    """What texts are compared by, in order: as a name, plain and folded, numbers, implied numbers, words with stems and class."""
    return await tx.rows(TEXT_MARKS, texts=texts)


async def canonical_names(tx: Transaction, *, texts: list[str]) -> list[str]:
    """Texts in the form in which names are compared, and found in texts, in order."""
    rows = await tx.rows(
        "select loci.canonical_name(content) as name from unnest(%(texts)s::text[]) with ordinality t(content, nth) order by nth",
        texts=texts,
    )
    return [row["name"] for row in rows]
