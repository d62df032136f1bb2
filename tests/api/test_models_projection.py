"""The map of a namespace: where its memories stand, in binary."""

import json
from typing import Any

import numpy as np
import pytest

from service.models.projection import CLUSTER, COLUMNS, MAGIC, _unpack_sample, cluster_centres, principal_axes
from tests.services import Api, eventually, ok, problem

DIMENSIONS = 256


def parsed(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and columns, as the documentation says."""
    assert body[:8] == MAGIC
    size = int.from_bytes(body[8:12], "big")
    header, at = json.loads(body[12 : 12 + size]), 12 + size
    columns: dict[str, Any] = {"id": [body[at + 16 * n : at + 16 * n + 16].hex() for n in range(header["points"])]}
    at += 16 * header["points"]
    for name, kind in {**COLUMNS, **(CLUSTER if "clusters" in header else {})}.items():
        count = header["points"] * (header["dims"] if name == "position" else 1)
        columns[name] = np.frombuffer(body, dtype=kind, count=count, offset=at)
        at += columns[name].nbytes
    assert at == len(body)
    return header, columns


def projected(api: Api, **asked: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    reply = api.get("/embeddings/projection", **asked)
    assert reply.status_code == 200, reply.text
    return parsed(reply.content)


def write(api: Api, vectors: np.ndarray[Any, Any], start: int, **fields: Any) -> list[str]:
    items = [
        {"content": f"point {start + n}", "embedding": [float(x) for x in vector], **fields} for n, vector in enumerate(vectors)
    ]
    done = ok(api.post("/memories/batch", {"items": items, "atomic": True}))
    return [each["id"].replace("-", "") for each in done["items"]]


def laid_out(api: Api, **asked: Any) -> dict[str, Any]:
    """The result of the job that lays a map out."""
    made = ok(api.post("/embeddings/projection", asked), 202)

    def ended() -> dict[str, Any] | None:
        row: dict[str, Any] = ok(api.get(f"/jobs/{made['job_id']}"))
        return row if row["finished_at"] else None

    row = eventually(ended)
    assert (row["kind"], row["state"]) == ("project", "succeeded"), row["error"]
    result: dict[str, Any] = row["result"]
    return result


def points(columns: dict[str, Any], dims: int = 2) -> dict[str, Any]:
    """Where each memory stands."""
    return dict(zip(columns["id"], columns["position"].reshape(-1, dims), strict=True))


def cloud(seed: int, size: int) -> np.ndarray[Any, Any]:
    """Unit vectors that spread most along three axes, by different amounts."""
    spread = np.full(DIMENSIONS, 0.01)
    spread[[7, 30, 99]] = [0.6, 0.4, 0.2]
    made = np.random.default_rng(seed).standard_normal((size, DIMENSIONS)) * spread + 0.05
    return np.asarray(made / np.linalg.norm(made, axis=1)[:, None])


@pytest.mark.row("X7")
def test_points_stand_on_the_principal_components_and_an_added_one_moves_no_other(api: Api) -> None:
    vectors = cloud(1, 60)
    ids = write(api, vectors, 0, category="a/b", source="Bob")
    header, columns = projected(api, dims=3)
    assert (header["points"], header["fitted"], header["categories"], header["sources"]) == (60, 60, ["a/b"], ["Bob"])
    places = dict(zip(columns["id"], columns["position"].reshape(-1, 3), strict=True))
    centred = vectors - vectors.mean(axis=0)
    exact = np.abs(centred @ np.linalg.svd(centred, full_matrices=False)[2][:3].T)
    assert np.abs(np.array([places[each] for each in ids])) == pytest.approx(exact, abs=0.01)

    (added,) = write(api, cloud(2, 1), 60, category="c")
    header, columns = projected(api, dims=2)
    flat = dict(zip(columns["id"], columns["position"].reshape(-1, 2), strict=True))
    assert (header["points"], header["fitted"], header["categories"]) == (61, 60, ["a/b", "c"])
    assert all((flat[each] == places[each][:2]).all() for each in ids)
    assert np.abs(flat[added]).max() > 0

    write(api, cloud(3, 600), 61)  # ten times as many: what was found in a few says little of these
    assert projected(api)[0]["fitted"] == 661


def test_times_and_an_erased_memory(api: Api) -> None:
    vectors = cloud(1, 9)
    ids = write(api, vectors, 0, valid_from="2023-01-01T00:00:00Z", valid_to="2024-01-01T00:00:00Z")
    _, columns = projected(api)
    assert set(columns["valid_from"]) == {1672531200.0}
    assert set(columns["valid_to"]) == {1704067200.0}
    assert projected(api, known_at="2020-01-01T00:00:00Z")[0]["points"] == 0
    ok(api.client.delete(f"/memories/{ids[0]}", params={"erase": True}))
    header, columns = projected(api)
    assert (header["points"], header["fitted"]) == (8, 8)  # nothing of it is left in the axes
    assert ids[0] not in columns["id"]


def test_an_erasure_during_the_search_for_axes_leaves_nothing_in_them(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = write(api, cloud(1, 9), 0)
    found: list[Any] = []

    def slow(sampled: Any) -> Any:
        made = _unpack_sample(sampled)
        if not found:
            ok(api.client.delete(f"/memories/{ids[0]}", params={"erase": True}))
        found.append(made)
        return made

    monkeypatch.setattr("service.models.projection._unpack_sample", slow)
    header, _ = projected(api)
    assert (header["points"], header["fitted"], len(found)) == (8, 8, 2)
    with api.service.database.admin() as owner:
        statement = "select p.mean::real[] from loci_data.projections p join loci_data.namespaces n on n.id = p.namespace_id where n.name = %s"
        assert owner.execute(statement, [api.namespace]).fetchone() == (pytest.approx(found[1]["mean"].tolist()),)


def test_no_map_is_made_of_memories_that_are_erased_all_the_time(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = write(api, cloud(1, 9), 0)

    def slow(sampled: Any) -> Any:
        ok(api.client.delete(f"/memories/{ids.pop()}", params={"erase": True}))
        return _unpack_sample(sampled)

    monkeypatch.setattr("service.models.projection._unpack_sample", slow)
    problem(api.get("/embeddings/projection"), 503, "unavailable")
    monkeypatch.undo()
    assert projected(api)[0]["fitted"] == len(ids) > 0


def test_without_vectors_the_map_is_empty_and_what_is_unknown_is_refused(api: Api) -> None:
    header, _ = projected(api)
    assert (header["points"], header["fitted"]) == (0, None)
    for asked in ({"dims": 4}, {"method": "tsne"}):
        problem(api.get("/embeddings/projection", **asked), 422, "invalid-request")
    for wanted in ({"dims": 4}, {"method": "pca"}, {"size": 1}):
        problem(api.post("/embeddings/projection", wanted), 422, "invalid-request")
    missing = problem(api.get("/embeddings/projection", method="umap", dims=3), 404, "not-found")
    assert "POST /api/v1/embeddings/projection" in missing["hint"]
    assert laid_out(api)["memories"] == 0
    assert projected(api, method="umap")[0]["points"] == 0


@pytest.mark.row("X7")
def test_clusters_are_named_by_the_words_that_tell_them_apart_and_an_added_memory_changes_none(api: Api) -> None:
    middles = np.eye(DIMENSIONS)[[3, 50, 200]]
    about = ["coffee and tea in the kitchen", "trains and stations and the platform", "コーヒー 会議 と 会議"]
    chance = np.random.default_rng(7)

    def near(at: int, count: int, start: int = 0) -> list[dict[str, Any]]:
        made = middles[at] + 0.02 * chance.standard_normal((count, DIMENSIONS))
        return [
            {"content": f"{about[at]} with all of it {n}", "embedding": [float(x) for x in row]}
            for n, row in enumerate(made, start)
        ]

    items = [*near(0, 12), *near(1, 9), *near(2, 7)]
    ids = [each["id"].replace("-", "") for each in ok(api.post("/memories/batch", {"items": items}))["items"]]
    header, columns = projected(api, clusters=True)
    of = dict(zip(columns["id"], columns["cluster"].tolist(), strict=True))
    assert header["clusters"] == ["coffee, kitchen, tea", "platform, stations, trains", "コーヒー, 会議"]  # the largest first
    assert [{of[each] for each in part} for part in (ids[:12], ids[12:21], ids[21:])] == [{0}, {1}, {2}]
    (added,) = ok(api.post("/memories/batch", {"items": near(1, 1, 50)}))["items"]
    header, columns = projected(api, clusters=True)
    assert header["points"] == 29
    now = dict(zip(columns["id"], columns["cluster"].tolist(), strict=True))
    assert now == {**of, added["id"].replace("-", ""): 1}
    assert "cluster" not in projected(api)[1]


def test_axes_are_the_same_for_the_same_rows_and_of_few_rows_the_rest_is_nought() -> None:
    rows = cloud(4, 50).astype(np.float32)
    (_, first), (_, second) = principal_axes(rows), principal_axes(rows.copy())
    assert (first == second).all()
    assert first @ first.T == pytest.approx(np.eye(3), abs=1e-4)
    _, few = principal_axes(rows[:1])
    assert not np.isnan(few).any()
    assert (cluster_centres(rows) == cluster_centres(rows.copy())).all()
    assert cluster_centres(rows[[0] * 9]).shape == cluster_centres(rows[:1]).shape == (1, DIMENSIONS)
