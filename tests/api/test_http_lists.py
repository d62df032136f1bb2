"""Every list of the interface: its pages visit each item once and in its order, and a wrong page is refused by its field."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.api.test_models_calls import called
from tests.databases import Database
from tests.services import Api, Row, new_api, ok, openapi_document, serve

pytestmark = pytest.mark.every_case

OPERATOR = "00000000-0000-0000-0000-000000000000"
# Each list, a field of its items, and the order that it has of what the scene wrote; None: one that the scene has not chosen.
ORDERS: dict[str, tuple[str, list[Any]] | None] = {
    "/agents/me/invitations": ("namespace", ["host-0", "host-1", "host-2"]),
    "/conversations": ("session_id", ["s0", "s1", "s2"]),
    "/conversations/s0/turns": ("content", [f"turn {n}" for n in range(5)]),
    "/edge-types": None,
    "/edges": None,
    "/entities": None,
    "/entities/Zeus/history": None,
    "/feedback": ("session_id", ["s2", "s1", "s0"]),
    "/feedback/signals": ("content", ["signal 2", "signal 1", "signal 0"]),
    "/grants": None,
    "/jobs": None,
    "/keys": None,
    "/keys/refusals": None,
    "/keys/{key}/uses": None,
    "/memories": None,
    "/memories/lineage/history": ("version", [1, 2, 3]),
    "/memories/unsettled": ("newer.content", ["Nadia eats fish", "Nadia eats beans", "Nadia eats rice"]),
    "/memories/{hub}/dependents": None,
    "/memories/{hub}/links": ("strength", [0.75, 0.5, 0.25]),
    "/memories/{hub}/recalls": None,
    "/memories/{hub}/subtree": None,
    "/merges": None,
    "/model-calls": None,
    "/namespaces": None,
    "/operations": None,
    "/operations/{batch}/changes": ("content", ["memory 0", "memory 1", "memory 2", None]),
    "/passes": None,
    "/recalls": (
        "query",
        ["the hub of it all", "question 2", "the hub of it all", "question 1", "the hub of it all", "question 0"],
    ),
    "/supersessions": ("older", ["Alice lives in Rome", "Alice lives in Berlin", "Alice lives in Paris"]),
    "/working-memory": ("key", [f"session/ä/{n}" for n in range(3)]),
}


@pytest.fixture(scope="module")
def scene(own_database: Database) -> Iterator[tuple[Api, Row]]:
    """A namespace with three or more of everything that is listed, and the ids of what lists are about."""
    with serve(own_database, worker=False) as service, new_api(service) as api:
        batch = api.post(
            "/memories/batch", {"items": [{"content": f"memory {n}", "entities": [{"name": "Zeus"}]} for n in range(3)]}
        )
        ok(batch)
        hub = api.write("the hub of it all", entities=[{"name": "Hub"}])["id"]
        for n in range(3):
            api.write(f"version {n}", lineage="lineage")
            leaf = api.write(f"leaf {n}", parent_id=hub)["id"]
            ok(api.post(f"/memories/{hub}/links", {"target_id": leaf, "type": "about", "strength": (n + 1) / 4}), 201)
            ok(api.post("/edges", {"source": "a", "type": f"type_{n}", "target": f"b{n}", "memory_id": hub}), 201)
        for n in range(4):
            ok(api.post("/entities", {"name": f"n{n}"}), 201)
        contradict(api, hub)
        sit_and_talk(api, hub)
        yield api, {"hub": hub, "batch": batch.headers["X-Operation-Id"], "key": ask_by_keys(api)}


def sit_and_talk(api: Api, hub: str) -> None:
    """Merges, sessions with their turns, entries, recalls and feedback; calls of a model."""
    for n in range(3):
        ok(api.post("/entities/n0/merge", {"other": f"n{n + 1}"}))
        said = [{"role": "user", "content": f"turn {turn}"} for turn in range(5)]
        ok(api.post(f"/conversations/s{n}/turns", {"turns": said}), 201)
        ok(api.client.put(f"/working-memory/session/ä/{n}", json={"value": n}))
        api.recall(f"question {n}", log=True, session_id=f"s{n}")
        api.recall("the hub of it all", log=True)
        signals = [{"kind": "correction", "content": f"signal {n}"}]
        ok(api.post("/feedback", {"session_id": f"s{n}", "injected": [hub], "signals": signals}))
        ok(api.post("/feedback", {"session_id": f"s{n}", "confirmed": [hub]}))
        ok(api.post(f"/sessions/s{n}/end"))
        called(api)


def contradict(api: Api, source: str) -> None:
    """Pairs that nobody has settled, and facts that replace each other, all from one memory."""
    older = api.write("Nadia eats no meat")["id"]
    for food in ("rice", "beans", "fish"):
        newer = api.write(f"Nadia eats {food}")["id"]
        ok(api.post(f"/memories/{newer}/links", {"target_id": older, "type": "contradicts", "strength": 0.6}), 201)
    ok(api.post("/entities", {"name": "Alice"}), 201)
    aspect = ok(api.post("/entities/Alice/aspects", {"name": "home"}), 201)["id"]
    for city in ("Paris", "Berlin", "Rome", "Oslo"):
        ok(api.post(f"/aspects/{aspect}/attributes", {"content": f"Alice lives in {city}", "memory_id": source}), 201)


def ask_by_keys(api: Api) -> str:
    """Keys with uses and refusals, guests, invitations to the operator, jobs and passes; the id of a key."""
    keys = [ok(api.post("/keys", {"role": "reader"}), 201) for _ in range(3)]
    with api.service.database.admin() as admin:
        admin.execute("select set_config('loci.agent', %s, false)", [OPERATOR])
        for n in range(3):
            ok(api.post("/namespaces", {"name": f"host-{n}"}), 201)
            admin.execute(
                "insert into loci_data.invitations (namespace_id, agent_id, role) select id, %s, 'reader' from loci_data.namespaces where name = %s",
                [OPERATOR, f"host-{n}"],
            )
            for key, outcome in ((keys[0]["id"], "answered"), (None, "unauthorized")):
                admin.execute(
                    """insert into loci_data.key_uses (namespace_id, key_id, hour, address, outcome, requests, first_at, last_at)
                       select n.id, %s, h.at, %s, %s, 1, h.at, h.at
                       from loci_data.namespaces n, (select date_trunc('hour', now()) - make_interval(hours => %s) as at) h where n.name = %s""",
                    [key, f"192.0.2.{n}", outcome, n, api.namespace],
                )
            job = admin.execute(
                "select a.id from loci_data.namespaces n, loci_internal.insert_job(n.id, 'enrich', jsonb_build_object('n', %s::integer), %s, null) a where n.name = %s",
                [n, f"job {n}", api.namespace],
            ).fetchone()
            assert job is not None
            admin.execute(
                "insert into loci_data.pass_runs (namespace_id, id, job_id, pass, outcome, started_at) select id, %s, %s, 'preferences', 'applied', now() from loci_data.namespaces where name = %s",
                [uuid4(), job[0], api.namespace],
            )
    return str(keys[0]["id"])


def field(item: Row, path: str) -> Any:
    """A field of an item, or of an object in it."""
    for name in path.split("."):
        item = item[name]
    return item


def pages(api: Api, path: str, limit: int) -> Iterator[list[Row]]:
    """The pages of a list, to the last."""
    cursor: Row = {}
    while True:
        page = ok(api.get(path, limit=limit, **cursor))
        assert len(page["items"]) <= limit
        yield page["items"]
        if page["next_cursor"] is None:
            return
        cursor = {"cursor": page["next_cursor"]}


def test_no_list_is_left_out() -> None:
    listed = {
        path.removeprefix("/api/v1")
        for path, methods in openapi_document()["paths"].items()
        if "cursor" in {each["name"] for each in methods.get("get", {}).get("parameters", [])}
    }
    assert {path.split("/")[1] for path in listed} == {path.split("/")[1] for path in ORDERS}
    assert len(listed) == len(ORDERS)


@pytest.mark.row("REST")
@pytest.mark.parametrize("path", ORDERS)
def test_pages_of_any_size_visit_each_item_once_and_in_one_order(scene: tuple[Api, Row], path: str) -> None:
    api, ids = scene
    order = ORDERS[path]
    path = path.format(**ids)
    (whole,) = pages(api, path, 1000)
    assert len(whole) >= 3
    for limit in (1, 2):
        seen = list(pages(api, path, limit))
        visited = [item for page in (reversed(seen) if path.endswith("/turns") else seen) for item in page]  # these go back
        assert visited == whole
    assert all(whole.count(item) == 1 for item in whole)
    assert order is None or [field(item, order[0]) for item in whole] == order[1]


@pytest.mark.parametrize("path", ORDERS)
def test_a_page_that_cannot_be_is_refused_by_its_field(scene: tuple[Api, Row], path: str) -> None:
    api, ids = scene
    for name, value in (("limit", "0"), ("limit", "1001"), ("limit", "x")):
        refused = api.get(path.format(**ids), **{name: value})
        assert (refused.status_code, [error["field"] for error in refused.json()["errors"]]) == (422, [name])
