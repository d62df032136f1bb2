"""A layout by UMAP (McInnes, Healy and Melville, 2018): whoever is near by meaning stands near, in two or three dimensions.

The paper's method in numpy, a little work at a time, so that whoever runs it can say how far it is, and stop: the nearest
neighbours by exact cosine, block by block; their distances made comparable; the fuzzy union; and gradient descent from the first
principal components, with negative samples. The same rows give the same layout. Edges of an epoch are drawn by their weight and
pulled in portions so small that a point is pulled about once in each: pulls that add up would throw it past its neighbours.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.models.projection import principal_axes

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
NEIGHBOURS = 15
EPOCHS = 200
NEGATIVES = 5  # of each pull
A, B = 1.577, 0.895  # of the curve 1 / (1 + a d^2b): min_dist 0.1, spread 1
RATE, CLIP = 1.0, 4.0
WIDTH = 10.0  # from the middle to the edge, at the beginning
LEAST_DISTANCE = 1e-3  # keeps those that stand at one place from being thrown apart without end
HALVINGS = 40  # of the search for a point's scale
SMALLEST = 1e-3  # of a scale, by the mean distance
BLOCK = 2 * 1024 * 1024  # similarities at once: 8 MB, and twice that for their order
SEED = 1


class Progress(NamedTuple):
    """How far it is."""

    stage: str
    done: int
    of: int


class Layout:
    """Lays out rows; `positions` is there when `run_steps` has ended."""

    def __init__(self, vectors: Floats, dims: int) -> None:
        self.rows = normalise_to_unit(vectors)
        self.dims = dims
        self.positions: Floats = np.zeros((len(vectors), dims), dtype=np.float32)

    def run_steps(self) -> Iterator[Progress]:
        """The work, in steps of well under a second."""
        count = len(self.rows)
        if count <= 1:
            return
        wanted = min(NEIGHBOURS, count - 1)
        near, far = np.empty((count, wanted), dtype=np.int64), np.empty((count, wanted), dtype=np.float32)
        size = max(1, BLOCK // count)
        for start in range(0, count, size):
            these = np.arange(start, min(start + size, count))
            similar = self.rows[these] @ self.rows.T
            similar[np.arange(len(these)), these] = -np.inf
            near[these], far[these] = find_nearest_columns(similar, wanted)
            yield Progress("neighbours", int(these[-1]) + 1, count)
        heads, tails, weights = fuzzy_union(near, compute_memberships(far))
        self.positions = self._initial_positions()
        chance = np.random.default_rng(SEED)
        for epoch in range(EPOCHS):
            self._pull_epoch(heads, tails, weights, RATE * (1 - epoch / EPOCHS), chance)
            yield Progress("layout", epoch + 1, EPOCHS)

    def _initial_positions(self) -> Floats:
        """On the principal components, and a little beside: rows that are the same must be able to part."""
        mean, axes = principal_axes(self.rows)
        seen = (self.rows - mean) @ axes[: self.dims].T
        seen *= WIDTH / max(float(np.abs(seen).max()), 1e-9)
        chance = np.random.default_rng(SEED).standard_normal(seen.shape, dtype=np.float32)
        begun: Floats = (seen + 1e-2 * chance).astype(np.float32)
        return begun

    def _pull_epoch(self, heads: Places, tails: Places, weights: Floats, rate: float, chance: np.random.Generator) -> None:
        """One epoch: each edge as likely as it weighs; of its two ends the first is pushed from points by lot."""
        count = len(self.positions)
        drawn = np.flatnonzero(chance.random(len(weights), dtype=np.float32) < weights)
        chance.shuffle(drawn)
        for edges in np.array_split(drawn, max(1, 2 * len(drawn) // count)):
            head, tail = heads[edges], tails[edges]
            away = self.positions[head] - self.positions[tail]
            square = np.einsum("nd,nd->n", away, away)
            with np.errstate(divide="ignore", invalid="ignore"):
                factor = -2 * A * B * square ** (B - 1) / (1 + A * square**B)
            pulls = _clip_moves(np.where(square > 0, factor, 0)[:, None] * away)
            many = np.repeat(head, NEGATIVES)
            others = chance.integers(count, size=len(many))
            off = self.positions[many] - self.positions[others]
            square = np.einsum("nd,nd->n", off, off)
            pushes = _clip_moves((2 * B / ((LEAST_DISTANCE + square) * (1 + A * square**B)))[:, None] * off)
            pulls_of_heads = pulls + pushes.reshape(len(head), NEGATIVES, -1).sum(1)
            for axis in range(self.dims):
                moved = np.bincount(head, pulls_of_heads[:, axis], count) - np.bincount(tail, pulls[:, axis], count)
                self.positions[:, axis] += (rate * moved).astype(np.float32)


def _clip_moves(moves: Floats) -> Floats:
    return np.clip(moves, -CLIP, CLIP)


def normalise_to_unit(vectors: Floats) -> Floats:
    """Rows scaled to length 1; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: Floats = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return rows


def find_nearest_columns(similar: Floats, wanted: int) -> tuple[Places, Floats]:
    """Columns of the highest similarities of each row, the highest first, and how far these are."""
    near = np.argpartition(similar, -wanted, axis=1)[:, -wanted:]
    values = np.take_along_axis(similar, near, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1), np.maximum(1 - np.take_along_axis(values, order, axis=1), 0)


def compute_memberships(far: Floats) -> Floats:
    """How much each neighbour is one: 1 for the nearest; scaled so that all of a point's come to log2 of their number."""
    first = np.where((far > 0).any(1), np.where(far > 0, far, np.inf).min(1), 0)[:, None]
    beyond = np.maximum(far - first, 0)
    target = np.log2(far.shape[1])
    low, high = np.zeros(len(far)), np.full(len(far), np.inf)
    scale = np.ones(len(far))
    for _ in range(HALVINGS):
        over = np.exp(-beyond / scale[:, None]).sum(1) > target
        high, low = np.where(over, scale, high), np.where(over, low, scale)
        scale = np.where(np.isinf(high), 2 * scale, (low + high) / 2)
    scale = np.maximum(scale, SMALLEST * max(float(far.mean()), 1e-9))
    weights: Floats = np.exp(-beyond / scale[:, None]).astype(np.float32)
    return weights


def fuzzy_union(near: Places, weights: Floats) -> tuple[Places, Places, Floats]:
    """Edges in both directions, by w + w' - w w' where both ends have the other for a neighbour, else by w."""
    count = len(near)
    heads, tails = np.repeat(np.arange(count), near.shape[1]), near.ravel()
    there, back = heads * count + tails, tails * count + heads
    codes = np.unique(np.concatenate([there, back]))
    one, other = np.zeros(len(codes)), np.zeros(len(codes))
    one[np.searchsorted(codes, there)] = weights.ravel()
    other[np.searchsorted(codes, back)] = weights.ravel()
    return codes // count, codes % count, (one + other - one * other).astype(np.float32)


def placed_between(vectors: Floats, laid_out: Floats, positions: Floats) -> Floats:
    """Where rows belong that took no part: the mean of their nearest neighbours' positions, weighed as in layout.sql.

    `laid_out`: rows of length one.
    """
    rows, made = normalise_to_unit(vectors), np.empty((len(vectors), positions.shape[1]), dtype=np.float32)
    size = max(1, BLOCK // len(laid_out))
    for start in range(0, len(rows), size):
        near, far = find_nearest_columns(rows[start : start + size] @ laid_out.T, min(NEIGHBOURS, len(laid_out)))
        beyond = far - far[:, :1]
        weights = np.exp(-beyond / np.maximum(beyond.mean(axis=1, keepdims=True), 1e-9))
        made[start : start + size] = (positions[near] * weights[..., None]).sum(1) / weights.sum(1)[:, None]
    return made
