"""Maps by UMAP: what is alike stands together; a job makes them, says how far it is, and can be cancelled."""

from typing import Any

import numpy as np
import pytest

from service.models import umap_job
from service.models.projection import principal_axes
from service.models.umap_layout import EPOCHS, Layout, normalise_to_unit, placed_between
from tests.api.test_models_projection import DIMENSIONS, cloud, laid_out, points, projected, write
from tests.services import Api, eventually, new_api, ok, problem

Rows = np.ndarray[Any, Any]


def groups(seed: int, size: int, count: int) -> tuple[Rows, Rows]:
    """Unit vectors around `count` directions, and the number of each one's direction."""
    chance = np.random.default_rng(seed)
    of = np.arange(size) % count
    made = np.eye(DIMENSIONS)[of * 7 + 3] + 0.05 * chance.standard_normal((size, DIMENSIONS))
    return np.asarray(made / np.linalg.norm(made, axis=1)[:, None], dtype=np.float32), of


def settled(vectors: Rows, dims: int = 2) -> Rows:
    layout = Layout(vectors, dims)
    assert [step.stage for step in layout.run_steps()][-EPOCHS:] == ["layout"] * EPOCHS
    return layout.positions


def neighbours(rows: Rows, k: int) -> Rows:
    """The k nearest of each row."""
    far = ((rows[:, None] - rows[None]) ** 2).sum(-1)
    np.fill_diagonal(far, np.inf)
    return np.asarray(np.argsort(far, axis=1)[:, :k])


def trustworthiness(vectors: Rows, positions: Rows, k: int = 10) -> float:
    """Whether neighbours on the map are neighbours by meaning: 1 for all (Venna and Kaski, 2001)."""
    size = len(vectors)
    order = neighbours(vectors, size - 1)
    ranks = np.zeros((size, size))
    ranks[np.arange(size)[:, None], order] = np.arange(1, size)
    wrong = np.maximum(np.take_along_axis(ranks, neighbours(positions, k), axis=1) - k, 0).sum()
    return float(1 - 2 * wrong / (size * k * (2 * size - 3 * k - 1)))


@pytest.mark.row("X7")
def test_groups_stay_apart_where_principal_components_throw_them_together() -> None:
    vectors, of = groups(1, 192, 12)
    positions = settled(vectors)
    assert (of[neighbours(positions, 5)] == of[:, None]).mean() > 0.99
    mean, axes = principal_axes(vectors)
    assert trustworthiness(vectors, positions) > trustworthiness(vectors, (vectors - mean) @ axes[:2].T) + 0.05
    middles = np.array([positions[of == n].mean(0) for n in range(12)])
    added, group = groups(2, 24, 12)
    placed = placed_between(added, normalise_to_unit(vectors), positions)
    assert (((placed[:, None] - middles[None]) ** 2).sum(-1).argmin(1) == group).all()


@pytest.fixture
def few_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layout that is not worked out to the end: groups far from each other stand apart as soon as it begins."""
    monkeypatch.setattr("service.models.umap_layout.EPOCHS", EPOCHS // 5)


@pytest.mark.usefixtures("few_epochs")
def test_the_same_rows_stand_at_the_same_places() -> None:
    vectors, _ = groups(1, 60, 3)
    first, second = Layout(vectors, 2), Layout(vectors.copy(), 2)
    assert list(first.run_steps()) == list(second.run_steps())
    assert (first.positions == second.positions).all()


@pytest.mark.usefixtures("few_epochs")
@pytest.mark.parametrize("size", [0, 1, 2, 3, 20])
def test_few_rows_and_rows_that_are_the_same_or_nought_have_a_place(size: int) -> None:
    for rows in (np.zeros((size, 4), dtype=np.float32), np.ones((size, 4), dtype=np.float32)):
        layout = Layout(rows, 3)
        assert list(layout.run_steps()) or size < 2
        assert layout.positions.shape == (size, 3)
        assert np.isfinite(layout.positions).all()


@pytest.mark.row("X7")
@pytest.mark.usefixtures("few_epochs")
def test_a_new_memory_gets_its_place_moves_no_other_and_an_erased_one_leaves(api: Api) -> None:
    vectors, of = groups(1, 60, 3)
    ids = write(api, vectors, 0, category="a")
    said = laid_out(api, dims=3)
    assert (said["memories"], said["added"]) == (60, 0)
    header, columns = projected(api, method="umap", dims=3)
    before = points(columns, 3)
    assert (header["method"], header["points"], header["fitted"], header["added"], header["waiting"]) == ("umap", 60, 60, 0, 0)
    problem(api.get("/embeddings/projection", method="umap"), 404, "not-found")  # flat, it was not made

    (added,) = write(api, groups(5, 2, 3)[0][1:], 60)
    header, columns = projected(api, method="umap", dims=3, clusters=True)
    after = points(columns, 3)
    assert (header["points"], header["added"], header["waiting"]) == (61, 1, 0)
    assert all((after[each] == before[each]).all() for each in ids)
    far = {each: np.linalg.norm(after[added] - after[each]) for each in ids}
    assert {int(of[ids.index(each)]) for each in sorted(ids, key=far.__getitem__)[:15]} == {1}
    again = placed_between(groups(5, 2, 3)[0][1:], normalise_to_unit(vectors), np.array([before[each] for each in ids]))
    assert after[added] == pytest.approx(again[0], abs=0.05)  # as the job would have placed it

    ok(api.client.delete(f"/memories/{ids[0]}", params={"erase": True}))
    left = points(projected(api, method="umap", dims=3)[1], 3)
    assert left.keys() == after.keys() - {ids[0]}
    assert all((left[each] == after[each]).all() for each in left)
    with new_api(api.service) as other:
        problem(other.get("/embeddings/projection", method="umap", dims=3), 404, "not-found")


def test_those_that_the_job_does_not_lay_out_stand_between_them(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(umap_job, "LAID_OUT_MEMORIES", 40)
    monkeypatch.setattr(umap_job, "PAGE_MEMORIES", 7)
    vectors, of = groups(1, 60, 3)
    ids = write(api, vectors, 0)
    said = laid_out(api)
    assert (said["memories"], said["added"]) == (40, 20)
    header, columns = projected(api, method="umap")
    assert (header["points"], header["fitted"], header["added"], header["waiting"]) == (60, 40, 20, 0)
    stand = points(columns)
    near = neighbours(np.array([stand[each] for each in ids]), 5)
    assert (of[near] == of[:, None]).mean() > 0.95


@pytest.mark.row("X7")
def test_it_says_how_far_it_is_and_a_cancelled_one_leaves_the_map_before(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = write(api, cloud(1, 30), 0)
    laid_out(api)
    before = points(projected(api, method="umap")[1])
    monkeypatch.setattr(umap_job, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr("service.models.umap_layout.EPOCHS", 1_000_000)
    job = ok(api.post("/embeddings/projection", {"dims": 2}), 202)["job_id"]

    def layout_goes_on() -> Any:
        said = ok(api.get(f"/jobs/{job}"))["result"] or {}
        return said.get("stage") == "layout" and said["of"] == 1_000_000 and said["done"] > 1

    eventually(layout_goes_on)
    ok(api.post(f"/jobs/{job}/cancel"))
    eventually(lambda: ok(api.get(f"/jobs/{job}"))["state"] == "cancelled")
    after = points(projected(api, method="umap")[1])
    assert all((after[each] == before[each]).all() for each in ids)


@pytest.mark.usefixtures("few_epochs")
def test_another_vector_gives_a_memory_another_place(api: Api) -> None:
    vectors, of = groups(1, 30, 3)
    ids = write(api, vectors, 0)
    laid_out(api)
    before = points(projected(api, method="umap")[1])
    with api.service.database.admin() as owner:
        owner.execute(
            """update loci_data.memory_vectors v set embedding = o.embedding from loci_data.memory_vectors o
               where v.memory_id = %s and o.memory_id = %s""",
            (ids[0], ids[1]),
        )
    header, columns = projected(api, method="umap")
    after = points(columns)
    assert header["added"] == 1
    far = {each: np.linalg.norm(after[ids[0]] - before[each]) for each in ids[1:]}
    assert of[ids.index(min(far, key=far.__getitem__))] == 1
