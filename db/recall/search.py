"""Recall's three statements: the arms that start from the question, what stands around their best hits, and the memories.

Functions called send_… wait for nothing: the statements of many namespaces and tiers travel together.

Hits are document numbers (`doc_id`) with scores, best first.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector
from psycopg.types.json import Jsonb

from db.pool import Transaction

Row = dict[str, Any]
STEPS = ("lexical", "vector", "entities", "graph", "walk")  # of loci_api.recall_arms
EXPANSION_STEPS = ("neighbours", "hierarchy", "names")  # of loci_api.expand_recall_hits


@dataclass(frozen=True)
class Scope:
    """What every arm is restricted to before it ranks: filters, valid time, recorded time (None: now)."""

    filters: Row
    as_of: datetime | None = None
    known_at: datetime | None = None

    def parameters(self) -> Row:
        """Statement parameters of the scope."""
        return {"filters": Jsonb(self.filters), "as_of": self.as_of, "known_at": self.known_at}


@dataclass
class Hits:
    """What one arm found: scores by document number, best first, and where it says so what led to each.

    `own`: the scores before neighbours lent theirs, where they did.
    """

    scores: dict[int, float]
    paths: dict[int, Any]
    own: dict[int, float] | None = None


@dataclass
class Found:
    """What starts from the question: arms by name, the entities that it names, constraints of the focal ones.

    `late`: the walk was cut short by its deadline. `took`: seconds by arm, as the database measured.
    `model`: number of the active one.
    """

    arms: dict[str, Hits]
    entities: list[Row]
    constraints: list[Row]
    late: bool
    took: dict[str, float] = field(default_factory=dict)
    model: int | None = None


def _hits(row: Row, arm: str) -> Hits:
    ids, scores, paths = row[f"{arm}_ids"] or [], row[f"{arm}_scores"] or [], row.get(f"{arm}_paths") or []
    return Hits(dict(zip(ids, scores, strict=True)), dict(zip(ids, paths, strict=False)))


async def recall_arms(
    tx: Transaction,
    *,
    query: str,
    embedding: NDArray[np.float32] | None,
    arms: list[str],
    scope: Scope,
    explain: bool = False,
    model: int | None = None,
) -> Found:
    """The arms lexical, vector (where there is a vector), graph and walk; entities that the question names; constraints.

    Only with `explain` do hits say what led to them. `model` made the vector: it takes no part where another one is active.
    """
    row = await tx.row(
        """select * from loci_api.recall_arms(%(namespace)s, %(query)s, %(embedding)s::vector::real[], %(arms)s::text[],
           %(filters)s, %(as_of)s, %(known_at)s, %(explain)s, %(model)s::smallint)""",
        query=query,
        explain=explain,
        embedding=None if embedding is None else Vector(embedding),
        arms=arms,
        model=model,
        **scope.parameters(),
    )
    return _found(row, arms, with_vector=embedding is not None)


def _found(row: Row, arms: list[str], *, with_vector: bool) -> Found:
    took_part = [arm for arm in ("lexical", "vector", "graph") if arm in arms and (arm != "vector" or with_vector)]
    hits: dict[str, Hits] = {arm: _hits(row, arm) for arm in took_part}
    if row["walk_ids"]:
        hits["walk"] = _hits(row, "walk")
    late, took = bool(row["walk_timed_out"]), _took(row, STEPS)
    return Found(hits, row["entities"] or [], row["constraints"] or [], late, took, row["model_id"])


def _took(row: Row, steps: tuple[str, ...]) -> dict[str, float]:
    """Seconds by step, of those that took part."""
    return {step: took / 1000 for step, took in zip(steps, row["took_ms"] or [], strict=False) if took is not None}


async def send_recall_namespaces(tx: Transaction, *, namespaces: list[str] | None) -> Any:
    """Ask which namespaces a recall over several searches (None: all readable ones), and the request's own.

    Rows (namespace, settings, searched, own) are fetched from the cursor returned.
    """
    return await tx.send(
        "select * from loci_api.recall_namespaces(%(namespaces)s::text[], %(namespace)s)",
        namespaces=namespaces,
    )


async def recall_arms_in_namespaces(
    tx: Transaction,
    *,
    namespaces: list[str] | None,
    query: str,
    embedding: NDArray[np.float32] | None,
    arms: list[str],
    scope: Scope,
    explain: bool = False,
    model: int | None = None,
) -> dict[str, Found]:
    """The arms in each of several namespaces, in order; without those that do not have what a filter names."""
    rows = await tx.rows(
        """select * from loci_api.recall_arms_in_namespaces(%(namespaces)s::text[], %(namespace)s, %(query)s,
           %(embedding)s::vector::real[], %(arms)s::text[], %(filters)s, %(as_of)s, %(known_at)s, %(explain)s,
           %(model)s::smallint)""",
        namespaces=namespaces,
        query=query,
        model=model,
        explain=explain,
        embedding=None if embedding is None else Vector(embedding),
        arms=arms,
        **scope.parameters(),
    )
    return {row["namespace"]: _found(row, arms, with_vector=embedding is not None) for row in rows if row["missing"] is None}


async def send_working_memory(tx: Transaction, *, query: str, category: str | None, tags: list[str] | None, limit: int) -> Any:
    """Ask for live entries of every space, best first; rows are fetched from the cursor returned."""
    return await tx.send(
        """select * from loci.search_working_memory(%(namespace)s, %(query)s, %(category)s, %(tags)s::text[],
           p_limit => %(limit)s)""",
        query=query,
        category=category,
        tags=tags,
        limit=limit,
    )


async def send_turns(tx: Transaction, *, query: str, session_id: str | None, limit: int) -> Any:
    """Ask for turns of a session, or of all, best first; rows are fetched from the cursor returned."""
    return await tx.send(
        "select * from loci.search_turns(%(namespace)s, %(query)s, %(session_id)s, %(limit)s)",
        query=query,
        session_id=session_id,
        limit=limit,
    )


@dataclass(frozen=True)
class Expansion:
    """What stands around the best hits: neighbours in time by document (number, distance), and two arms; seconds of each."""

    near: dict[int, list[tuple[int, int]]]
    hierarchy: Hits
    linked: Hits
    took: dict[str, float] = field(default_factory=dict)


async def send_expansion(
    tx: Transaction, *, query: str, documents: list[int], seeds: list[int], arms: list[str], scope: Scope
) -> Any:
    """Ask for neighbours of `documents`, hierarchy and shared names around `seeds`, given best first; see read_around."""
    return await tx.send(
        """select * from loci_api.expand_recall_hits(%(namespace)s, %(query)s, %(documents)s::bigint[], %(seeds)s::bigint[],
           %(arms)s::text[], %(filters)s, %(as_of)s, %(known_at)s)""",
        query=query,
        documents=documents,
        seeds=seeds,
        arms=arms,
        **scope.parameters(),
    )


async def read_expansion(cursor: Any) -> Expansion:
    """What send_around asked for."""
    row = await cursor.fetchone()
    near: dict[int, list[tuple[int, int]]] = {}
    for of, other, distance in zip(row["near_of"] or [], row["near_ids"] or [], row["near_distances"] or [], strict=True):
        near.setdefault(of, []).append((other, distance))
    return Expansion(near, _hits(row, "hierarchy"), _hits(row, "linked"), _took(row, EXPANSION_STEPS))


async def send_recalled_memories(tx: Transaction, *, documents: list[int], scope: Scope) -> Any:
    """Memories by document number, at the scope's times, in the order asked; rows are fetched from the cursor returned."""
    return await tx.send(
        "select * from loci_api.get_recalled_memories(%(namespace)s, %(documents)s::bigint[], %(as_of)s, %(known_at)s)",
        documents=documents,
        as_of=scope.as_of,
        known_at=scope.known_at,
    )


async def search_context(tx: Transaction, *, query: str, documents: list[int]) -> Row:
    """Entities that a question names, rules of these and of pinned ones, and the entities that each document mentions."""
    row = await tx.row(
        "select * from loci_api.search_context(%(namespace)s, %(query)s, %(documents)s::bigint[])", query=query, documents=documents
    )
    mentions = {int(document): named for document, named in (row["mentions"] or {}).items()}
    return {"entities": row["entities"] or [], "constraints": row["constraints"] or [], "mentions": mentions}


async def search_text(tx: Transaction, *, query: str, limit: int | None, scope: Scope) -> list[Row]:
    """Memories in BM25 order: rows (id, doc_id, score)."""
    return await tx.rows(
        "select * from loci.search_text(%(namespace)s, %(query)s, %(limit)s, %(filters)s, %(as_of)s, %(known_at)s)",
        query=query,
        limit=limit,
        **scope.parameters(),
    )
