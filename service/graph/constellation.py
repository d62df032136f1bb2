"""The constellation: the entities that stand out, each at a place of its own.

Places are found once, by forces (Fruchterman and Reingold, 1991) from sorted ids without chance, in a thread, and kept in the
database. So the picture is the same after a reload and on another machine; who comes later is placed among those that are
there, and nobody is moved.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any

import anyio
import numpy as np
from numpy.typing import NDArray

from db.graph import traversal as db
from db.graph.traversal import ConstellationRow, EntityToPlace
from db.pool import Transaction
from service.graph.edges import round_confidence
from service.resources import Resources

Read = Callable[[Callable[[Transaction], Awaitable[Any]]], Awaitable[Any]]  # runs a step in a transaction of the caller
Places = NDArray[np.float32]

MOST_MOVED_ENTITIES = 1000  # that forces move at once; the others stand beside their neighbours
ROUNDS, HEAT = 160, 1.5
GRAVITY, PULL = 1.0, 0.3  # to the middle, and along an edge; what pushes apart is 1
GOLDEN = 2.399963  # the golden angle: evenly, in a spiral


async def constellation(
    resources: Resources,
    read: Read,
    *,
    limit: int | None,
    as_of: datetime | None,
    known_at: datetime | None,
    history: bool = False,
) -> ConstellationRow:
    """The entities that stand out, their aspects, and the edges between them; entities without a position get one."""
    step = partial(db.constellation, limit=limit, as_of=as_of, known_at=known_at, history=history)
    found: ConstellationRow = await read(step)
    if any(star["x"] is None for star in found["entities"]):
        async with resources.placing:
            await _place_constellation(read, found)
        spots = await read(partial(db.entities_to_place, ids=sorted(star["id"] for star in found["entities"])))
        at = {str(spot["id"]): {"x": spot["x"], "y": spot["y"]} for spot in spots}  # whoever came first has placed them
        found = {**found, "entities": [{**star, **at.get(star["id"], {})} for star in found["entities"]]}
    return {**found, "edges": [round_confidence(edge) for edge in found["edges"]]}


async def _place_constellation(read: Read, found: ConstellationRow) -> None:
    """Give places to what was found and to all that stands out now: so the moment that was asked for first changes nothing."""
    now: ConstellationRow = await read(partial(db.constellation, limit=None, as_of=None, known_at=None))
    ids = {star["id"] for star in (*now["entities"], *found["entities"])}
    rows: list[EntityToPlace] = await read(partial(db.entities_to_place, ids=sorted(ids)))
    places = await anyio.to_thread.run_sync(place_entities, rows)
    placed = [(row["id"], x, y) for row, (x, y) in zip(rows, places.tolist(), strict=True) if row["x"] is None]
    await read(partial(db.store_entity_places, placed=placed))


def place_entities(rows: list[EntityToPlace]) -> Places:
    """A place for each row, shape (rows, 2): its own where it has one, the same ones for the same rows."""
    at = {row["id"]: n for n, row in enumerate(rows)}
    pairs = [(n, at[each]) for n, row in enumerate(rows) for each in row["neighbors"] if each in at]
    near: list[list[int]] = [[] for _ in rows]
    for one, other in pairs:
        near[one].append(other)
        near[other].append(one)
    places = np.array([(row["x"], row["y"]) for row in rows], dtype=np.float32).reshape(-1, 2)
    free = np.flatnonzero(np.isnan(places[:, 0]))
    begun = len(free) == len(rows)
    _begin_positions(places, free, near)
    if len(free):
        _move_by_forces(
            places, free[:MOST_MOVED_ENTITIES], np.array(sorted(set(pairs)), dtype=np.int64).reshape(-1, 2), begun=begun
        )
    return places


def _begin_positions(places: Places, free: NDArray[np.int64], near: list[list[int]]) -> None:
    """Beside the neighbours that stand somewhere; else on a spiral, around all that is there."""
    edge = float(np.nanmax(np.abs(places))) if len(free) < len(places) else 0.0
    for count, n in enumerate(free):
        there = [other for other in near[n] if not np.isnan(places[other, 0])] if edge else []
        middle = places[there].mean(axis=0) if there else np.zeros(2)
        away = 0.7 if there else edge + 0.8 * np.sqrt(count + 1)
        places[n] = middle + away * np.array([np.cos(count * GOLDEN), np.sin(count * GOLDEN)])


def _move_by_forces(places: Places, free: NDArray[np.int64], pairs: NDArray[np.int64], *, begun: bool) -> None:
    """Forces move unplaced entities: all push each other away, edges draw together, and everything is drawn to the middle.

    Element by element, without products of matrices: their libraries take all processors for a product that is this small, and
    round it as the processor suits them.
    """
    moves = np.zeros(len(places), dtype=bool)
    moves[free] = True
    there = (
        np.arange(len(places))
        if len(places) <= MOST_MOVED_ENTITIES
        else np.union1d(free, np.flatnonzero(~moves)[:MOST_MOVED_ENTITIES])
    )
    heat = HEAT if begun else HEAT / 3
    away_x, away_y, near, part = (np.empty((len(free), len(there)), dtype=np.float32) for _ in range(4))
    for turn in range(ROUNDS):
        here, all_ = places[free], places[there]
        np.subtract(here[:, :1], all_[:, 0], out=away_x)
        np.subtract(here[:, 1:], all_[:, 1], out=away_y)
        np.multiply(away_x, away_x, out=near)
        near += np.multiply(away_y, away_y, out=part)
        near += 0.01
        np.reciprocal(near, out=near)  # what pushes apart, by the square of the distance
        pushed = [np.multiply(near, away, out=part).sum(axis=1) for away in (away_x, away_y)]
        force = np.stack(pushed, axis=1) - GRAVITY * here + _pull_along_edges(places, pairs)[free]
        long = np.sqrt((force**2).sum(axis=1, keepdims=True)) + 1e-6
        places[free] += force / long * np.minimum(long, heat * (1 - turn / ROUNDS))


def _pull_along_edges(places: Places, pairs: NDArray[np.int64]) -> Places:
    """Pull of edges on each place: the longer one is, the more it draws its ends together."""
    along = places[pairs[:, 1]] - places[pairs[:, 0]]
    along = PULL * along * np.sqrt((along**2).sum(axis=1, keepdims=True))
    sums = [[np.bincount(ends, pull, len(places)) for pull in along.T] for ends in (pairs[:, 0], pairs[:, 1])]
    return (np.array(sums[0]) - np.array(sums[1])).T.astype(np.float32)
