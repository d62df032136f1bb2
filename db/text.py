"""Texts as the database reads them: a wrapper of the SQL function that cuts, folds and stems words and reads numbers."""

from typing import LiteralString, TypedDict

from db.pool import Transaction

# Calls of this function need no namespace and see no data.
TEXT_MARKS: LiteralString = "select name, plain, folded, numbers, implied, words from loci_api.text_marks(%(texts)s)"


class TextMarks(TypedDict):
    """Marks that a text is compared by: as a name, plain and folded, numbers, implied numbers, words with stems and class."""

    name: str
    plain: str
    folded: str
    numbers: list[tuple[int, str, str]]
    implied: list[str]
    words: dict[str, list[str | None]]


async def text_marks(tx: Transaction, *, texts: list[str]) -> list[TextMarks]:
    """Marks that texts are compared by, in order."""
    return await tx.rows(TextMarks, TEXT_MARKS, texts=texts)


async def canonical_names(tx: Transaction, *, texts: list[str]) -> list[str]:
    """Texts in the form in which names are compared, and found in texts, in order."""
    return await tx.values(
        str,
        "select loci.canonical_name(content) as name from unnest(%(texts)s::text[]) with ordinality t(content, nth) order by nth",
        texts=texts,
    )
