"""Search, merge, split and undo over REST, and many agents at once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.services import Api, Service, eventually, new_api, ok, problem, serve


def entity(api: Api, name: str, **fields: Any) -> dict[str, Any]:
    return ok(api.post("/entities", {"name": name, **fields}), 201)


def found(api: Api, query: str, **fields: Any) -> list[str]:
    return [row["name"] for row in ok(api.post("/entities/search", {"query": query, **fields}))["entities"]]


def settled(api: Api) -> bool:
    return not ok(api.get(f"/namespaces/{api.namespace}"))["pending_embeddings"]


def edges(api: Api) -> list[tuple[str, str, str]]:
    return sorted((row["source"], row["type"], row["target"]) for row in ok(api.get("/edges", limit=1000))["items"])


# Search


@pytest.mark.row("G11")
def test_an_entity_is_found_by_what_it_is_about(api: Api) -> None:
    entity(api, "Zeus", description="automobile engine repair and car maintenance")
    entity(api, "Hera", description="growing tomatoes and flowers in a garden")
    eventually(lambda: settled(api))
    assert found(api, "fixing vehicles", mode="semantic")[0] == "Zeus"
    assert found(api, "plants", mode="semantic")[0] == "Hera"
    assert found(api, "hera")[0] == "Hera"


def test_a_found_entity_says_how_it_was_found(api: Api) -> None:
    made = entity(api, "Azure DevOps", type="tool", aliases=["ADO"])
    body = ok(api.post("/entities/search", {"query": "ado", "mode": "name"}))
    assert body == {
        "entities": [
            {
                "id": made["id"], "name": "Azure DevOps", "type": "tool", "aliases": ["ADO"], "description": None, "mentions": 0, "pinned": False,
                "score": pytest.approx(0.95), "matched": "ado", "by_name": 0.95, "by_meaning": None,
            }
        ],
        "skipped": {},
    }  # fmt: skip


@pytest.mark.parametrize("mode", ["both", "semantic", "name"])
def test_without_a_model_names_serve_and_the_reply_says_what_did_not_take_part(service: Service, mode: str) -> None:
    with serve(service.database) as plain, new_api(plain) as api:
        entity(api, "Kubernetes")
        body = ok(api.post("/entities/search", {"query": "kubernetes", "mode": mode}))
        assert [row["name"] for row in body["entities"]] == ["Kubernetes"]
        assert list(body["skipped"]) == ([] if mode == "name" else ["semantic"])


def test_a_stated_vector_of_a_question_is_used(api: Api) -> None:
    entity(api, "Zeus")
    eventually(lambda: settled(api))
    assert found(api, "nothing like it", embedding=[1.0] + [0.0] * 255, mode="semantic") == ["Zeus"]
    body = problem(api.post("/entities/search", {"query": "x", "embedding": [1.0]}), 422, "invalid-request")
    assert body["errors"][0]["field"] == "embedding"


def test_another_namespace_finds_nothing_of_it(api: Api, service: Service) -> None:
    entity(api, "Zeus")
    with new_api(service) as other:
        assert found(other, "Zeus") == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "x", "k": 0}, "k"),
        ({"query": "x", "k": 1001}, "k"),
        ({"query": "x", "mode": "odd"}, "mode"),
    ],
)
def test_a_wrong_search_names_its_field(api: Api, body: dict[str, Any], field: str) -> None:
    assert problem(api.post("/entities/search", body), 422, "invalid-request")["errors"][0]["field"] == field


# Merge, split, undo


def test_a_merge_returns_the_kept_entity_and_what_undoes_it(api: Api) -> None:
    for name in ("Bob", "Robert"):
        ok(api.post("/edges", {"source": name, "type": "knows", "target": f"friend of {name}"}), 201)
    before = edges(api)
    merged = ok(api.post("/entities/Bob/merge", {"other": "robert", "reason": "one man"}))
    assert (merged["name"], merged["aliases"]) == ("Bob", ["Robert"])
    assert ok(api.get("/entities/Robert"))["id"] == merged["id"]
    (listed,) = ok(api.get("/merges"))["items"]
    assert (listed["id"], listed["reason"], listed["kept"], listed["merged"], listed["edges"]) == (
        merged["merge_id"],
        "one man",
        "Bob",
        "Robert",
        1,
    )
    undone = ok(api.post(f"/merges/{merged['merge_id']}/undo"))
    assert undone["kept_id"] == merged["id"]
    assert edges(api) == before
    problem(api.post(f"/merges/{merged['merge_id']}/undo"), 409, "conflict")


def test_a_split_makes_an_entity_and_is_undone(api: Api) -> None:
    old = entity(api, "Mercury")
    edge = ok(api.post("/edges", {"source": "Mercury", "type": "orbits", "target": "Sun"}), 201)
    ok(api.post("/edges", {"source": "Mercury", "type": "is", "target": "Metal"}), 201)
    made = ok(api.post("/entities/Mercury/split", {"name": "Mercury (planet)", "type": "planet", "edge_ids": [edge["id"]]}), 201)
    assert made["type"] == "planet"
    assert edges(api) == [("Mercury", "is", "Metal"), ("Mercury (planet)", "orbits", "Sun")]
    ok(api.post(f"/merges/{made['merge_id']}/undo"))
    assert ok(api.get(f"/entities/{made['id']}"))["id"] == old["id"]


@pytest.mark.parametrize(
    ("path", "body", "status", "slug"),
    [
        ("/entities/Bob/merge", {"other": "Nobody"}, 404, "not-found"),
        ("/entities/Nobody/merge", {"other": "Bob"}, 404, "not-found"),
        ("/entities/Bob/merge", {"other": "BOB"}, 409, "conflict"),
        ("/entities/Bob/merge", {}, 422, "invalid-request"),
        ("/entities/Bob/merge", {"other": "Ann", "reason": "x" * 1001}, 422, "invalid-request"),
        ("/entities/Bob/split", {"name": "Ann"}, 409, "conflict"),
        ("/entities/Bob/split", {"name": "New", "edge_ids": ["00000000-0000-7000-8000-000000000005"]}, 404, "not-found"),
        ("/entities/Bob/split", {"name": "New", "type": "Bad Type!"}, 422, "invalid-request"),
        ("/merges/00000000-0000-7000-8000-000000000005/undo", None, 404, "not-found"),
    ],
)
def test_an_impossible_change_is_a_problem_and_changes_nothing(api: Api, path: str, body: Any, status: int, slug: str) -> None:
    entity(api, "Bob")
    entity(api, "Ann")
    problem(api.post(path, body), status, slug)
    assert api.size()["entities"] == 2
    assert ok(api.get("/merges"))["items"] == []


def test_duplicates_are_first_proposed_then_merged(api: Api) -> None:
    for name in ("Node.js", "nodejs", "GPT-3", "GPT-4"):
        entity(api, name)
    (proposed,) = [row for row in ok(api.post("/entities/merge-duplicates", {}))["items"] if row["basis"] == "name"]
    assert ({proposed["kept"], proposed["merged"]}, proposed["merge_id"]) == ({"Node.js", "nodejs"}, None)
    assert api.size()["entities"] == 4
    (done,) = ok(api.post("/entities/merge-duplicates", {"dry_run": False}))["items"]
    assert done["merge_id"]
    assert api.size()["entities"] == 3
    assert ok(api.get("/merges"))["items"][0]["automatic"]


# Many at once


def at_once(count: int, work: Any) -> list[Any]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(work, range(count)))


@pytest.mark.parametrize("both_ways", [False, True])
def test_concurrent_merges_of_a_pair_make_one(api: Api, both_ways: bool) -> None:
    for name in ("A", "B"):
        ok(api.post("/edges", {"source": name, "type": "t", "target": "C"}), 201)

    def send(n: int) -> int:
        into, other = ("B", "A") if both_ways and n % 2 else ("A", "B")
        return api.post(f"/entities/{into}/merge", {"other": other}).status_code

    assert sorted(at_once(8, send)) == [200] + [409] * 7
    assert api.size()["entities"] == 2
    assert len(edges(api)) == 1


@pytest.mark.row("G12")
def test_merges_and_their_undoing_lose_and_hide_no_concurrent_write(api: Api) -> None:
    for name in ("Alpha", "Beta"):
        entity(api, name)

    def work(n: int) -> None:
        if n % 8 == 0:
            merged = api.post("/entities/Alpha/merge", {"other": "Beta"})
            if merged.status_code == 200 and n % 16 == 0:
                ok(api.post(f"/merges/{merged.json()['merge_id']}/undo"))
            return
        source = "Beta" if n % 2 else "Alpha"
        ok(api.post("/edges", {"source": source, "type": "t", "target": f"target {n}"}), 201)
        api.write(f"{source} {n}", entities=[{"name": source}])
        ok(api.post(f"/entities/{source}/aspects", {"name": f"aspect {n}"}), 201)

    at_once(64, work)
    written = [n for n in range(64) if n % 8]
    assert sorted(target for _, _, target in edges(api)) == sorted(f"target {n}" for n in written)
    names = {"Alpha", "Beta"} & {row["name"] for row in ok(api.get("/entities", limit=1000))["items"]}
    assert sum(len(ok(api.get(f"/entities/{name}/aspects"))["items"]) for name in names) == len(written)
    mentioned = {item["content"] for name in names for item in ok(api.get("/memories", entity=name, limit=1000))["items"]}
    assert len(mentioned) == len(written)
    ids = {ok(api.get(f"/entities/{name}"))["id"] for name in names}
    sources = {row["source_id"] for row in ok(api.get("/edges", limit=1000))["items"]}
    assert sources <= ids
