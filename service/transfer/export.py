"""A namespace as JSON lines, in one snapshot: what `loci export` writes and GET …/export sends. See docs/transfer.md."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from db import transfer
from db.pool import Transaction
from service.http.json_replies import dump_json


@dataclass(frozen=True)
class Part:
    """Whole lines, ready to be written; how many lines of the namespace they are, of how many in all."""

    data: bytes
    rows: int
    total: int


async def export_lines(tx: Transaction, *, vectors: bool = False) -> AsyncIterator[Part]:
    """Yield the lines of the transaction's namespace, about 1 MiB at a time.

    The transaction must be a snapshot. The last line is missing when anything fails, so that a part is never taken for a whole.
    """
    header = await transfer.export_header(tx, vectors=vectors)
    total = sum(header["counts"])
    yield Part(header["line"].encode() + b"\n", 0, total)
    digest = hashlib.sha256()
    counts = dict.fromkeys(header["kinds"], 0)
    for kind in counts:
        page = await transfer.export_page(tx, kind=kind, after=None)
        while page["rows"]:
            data = (page["lines"] or "").encode() + b"\n"
            digest.update(data)
            counts[kind] += page["rows"]
            yield Part(data, page["rows"], total)
            page = await transfer.export_page(tx, kind=kind, after=page["last"])
    yield Part(dump_json({"kind": "end", "counts": counts, "sha256": digest.hexdigest()}) + b"\n", 0, total)
