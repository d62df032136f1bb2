"""Readings of memories by a reranker: wrappers of SQL functions."""

from collections.abc import Mapping
from typing import TypedDict

from db.pipeline import Sent
from db.pool import Transaction
from db.recall.search import format_bigints


class KeptPieces(TypedDict):
    """A reading of a memory, and the hash of its text."""

    doc_id: int
    text_hash: bytes
    pieces: bytes


async def send_memory_pieces(tx: Transaction, *, documents: list[int], model: str) -> Sent[KeptPieces]:
    """Ask what a model has read of memories, by document number."""
    return await tx.send(
        KeptPieces,
        "select * from loci_api.get_memory_pieces(%(namespace)s, %(documents)s::bigint[], %(model)s)",
        documents=format_bigints(documents),
        model=model,
    )


async def store_memory_pieces(tx: Transaction, *, model: str, pieces: Mapping[int, tuple[bytes, bytes]]) -> int:
    """Keep what a model has read: by document number the hash of the text, and the pieces. How many; the operator's."""
    return await tx.value(
        int,
        """select loci_api.store_memory_pieces(%(namespace)s, %(documents)s::bigint[], %(model)s, %(hashes)s::bytea[],
           %(pieces)s::bytea[]) as stored""",
        documents=format_bigints(pieces),
        model=model,
        hashes=[text_hash for text_hash, _ in pieces.values()],
        pieces=[packed for _, packed in pieces.values()],
    )
