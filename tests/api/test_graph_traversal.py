"""Walks and the context of a message over REST: worked examples, literally."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.factories import OPERATOR, act_as
from tests.services import PATIENCE, Api, eventually, ok, problem

SEED_A = [
    {"source": "Alice", "type": "works_on", "target": "RockBot", "confidence": 0.9},
    {"source": "RockBot", "type": "uses", "target": "RabbitMQ", "confidence": 0.85},
    {"source": "Bob", "type": "works_on", "target": "RockBot", "confidence": 0.8},
    {"source": "Alice", "type": "knows", "target": "Bob", "confidence": 0.75},
]
SEED_C = [
    {"source": "Alex", "type": "works_on", "target": "ProjectX"},
    {"source": "ProjectX", "type": "uses", "target": "PostgreSQL"},
    {"source": "ProjectX", "type": "uses", "target": "Typesense"},
    {"source": "ProjectX", "type": "uses", "target": "Node.js"},
    {"source": "Alex", "type": "knows", "target": "Sam"},
    {"source": "Sam", "type": "works_on", "target": "ProjectY"},
    {"source": "ProjectX", "type": "owned_by", "target": "Acme"},
]


def observe(api: Api, edges: list[dict[str, Any]]) -> None:
    ok(api.post("/edges/batch", {"items": edges}))


def walk(api: Api, **body: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(api.post("/graph/traverse", body))["edges"]
    return found


def short(edge: dict[str, Any]) -> str:
    return f"{edge['hop']} {edge['source']} {edge['type']} {edge['target'] or edge['literal']}"


def test_the_worked_example_of_seed_a_goes_from_alice_over_her_project_to_its_tools_and_people(api: Api) -> None:
    observe(api, SEED_A[:3])
    assert [short(edge) for edge in walk(api, start=["Alice"], max_hops=2)] == [
        "1 Alice works_on RockBot",
        "2 RockBot uses RabbitMQ",
        "2 Bob works_on RockBot",
    ]


def test_the_worked_example_of_seed_c_says_what_technologies_the_team_of_alex_uses(api: Api) -> None:
    observe(api, SEED_C)
    found = walk(api, start=["Alex"], edge_types=["works_on", "uses"], max_hops=2, limit=20, direction="out")
    assert [edge["target"] for edge in found if edge["type"] == "uses"] == ["PostgreSQL", "Typesense", "Node.js"]
    assert short(found[0]) == "1 Alex works_on ProjectX"
    assert len(found) == 4


def test_a_message_brings_the_lines_of_seed_a(api: Api) -> None:
    observe(api, [SEED_A[0], SEED_A[1], SEED_A[3]])
    context = ok(api.post("/graph/context", {"text": "How is alice doing?"}))
    assert context["rendered"].splitlines() == [
        "Related knowledge graph connections:",
        "- Alice --works_on--> RockBot (confidence=0.90)",
        "- Alice --knows--> Bob (confidence=0.75)",
        "- RockBot --uses--> RabbitMQ (confidence=0.85)",
    ]
    assert [entity["name"] for entity in context["entities"]] == ["Alice"]
    assert short(context["edges"][0]) == "1 Alice works_on RockBot"
    assert (context["truncated"], context["reason"]) == (False, [])


@pytest.mark.row("W4")
def test_a_context_shows_fifteen_edges_unless_the_namespace_or_the_caller_says_otherwise(api: Api) -> None:
    observe(api, [{"source": "Hub", "type": "t", "target": f"spoke {n:02}"} for n in range(30)])
    context = ok(api.post("/graph/context", {"text": "the hub"}))
    assert (len(context["edges"]), context["reason"]) == (15, ["limit"])
    assert [edge["target"] for edge in context["edges"]] == [f"spoke {n:02}" for n in range(15)]
    assert len(ok(api.post("/graph/context", {"text": "the hub", "limit": 3}))["edges"]) == 3
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"context_triples": 7}}))
    assert len(ok(api.post("/graph/context", {"text": "the hub"}))["rendered"].splitlines()) == 8


@pytest.mark.row("G6")
def test_a_context_touches_what_the_message_names_and_nothing_else(api: Api) -> None:
    observe(api, SEED_A)
    ok(api.post("/graph/context", {"text": "Ask Bob", "touch": False}))
    assert ok(api.get("/entities/Bob"))["last_referenced_at"] is None
    ok(api.post("/graph/context", {"text": "Ask Bob"}))
    assert ok(api.get("/entities/Bob"))["last_referenced_at"] is not None
    assert ok(api.get("/entities/Alice"))["last_referenced_at"] is None


def test_a_message_that_names_nothing_has_an_empty_context(api: Api) -> None:
    observe(api, SEED_A)
    assert ok(api.post("/graph/context", {"text": "Malice in wonderland"})) == {
        "entities": [],
        "edges": [],
        "rendered": None,
        "truncated": False,
        "reason": [],
    }


def test_the_score_of_an_edge_is_the_product_of_confidences_on_the_way_to_it(api: Api) -> None:
    observe(api, SEED_A)
    scores = {short(edge): edge["score"] for edge in walk(api, start=["Alice"], scores=True)}
    assert scores["1 Alice works_on RockBot"] == pytest.approx(0.9, abs=1e-4)
    assert scores["2 RockBot uses RabbitMQ"] == pytest.approx(0.9 * 0.85, abs=1e-4)
    assert all("path" not in edge for edge in walk(api, start=["Alice"], scores=True))
    assert all("score" not in edge for edge in walk(api, start=["Alice"], paths=True))


@pytest.mark.row("G7")
def test_a_path_names_what_lies_between_a_start_and_an_edge(api: Api) -> None:
    observe(api, SEED_A[:2])
    assert walk(api, start=["Alice"], paths=True)[1]["path"] == ["Alice", "--works_on-->", "RockBot", "--uses-->", "RabbitMQ"]


def test_a_walk_starts_from_ids_names_aliases_and_from_what_a_text_names(api: Api) -> None:
    observe(api, SEED_A)
    alice = ok(api.post("/entities", {"name": "Alice", "aliases": ["Ally"]}), 201)["id"]
    expected = [short(edge) for edge in walk(api, start=["Alice"])]
    for start in (
        {"start": [alice]},
        {"start": ["ally"]},
        {"text": "what does Ally do?"},
        {"start": ["ALICE"], "text": "ally and alice"},
    ):
        assert [short(edge) for edge in walk(api, **start)] == expected
    assert walk(api, text="nobody we know") == []


def test_a_walk_from_neither_names_nor_text_is_refused(api: Api) -> None:
    assert "start or text" in str(problem(api.post("/graph/traverse", {"max_hops": 2}), 422, "invalid-request"))


@pytest.mark.row("G7")
def test_paths_and_lines_say_which_way_an_edge_points(api: Api) -> None:
    observe(api, [{"source": "Bob", "type": "manages", "target": "Carl"}])
    (edge,) = walk(api, start=["Carl"], paths=True)
    assert edge["path"] == ["Carl", "<--manages--", "Bob"]
    context = ok(api.post("/graph/context", {"text": "What about Carl?"}))
    assert "Bob --manages--> Carl" in context["rendered"]


@pytest.mark.row("G7")
def test_a_walk_names_all_that_cut_it_short(api: Api) -> None:
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"fan_out": 2}}))
    observe(api, [{"source": "a", "type": "t", "target": f"b{n}"} for n in range(4)])
    observe(api, [{"source": "b0", "type": "t", "target": f"c{n}"} for n in range(2)])
    reply = ok(api.post("/graph/traverse", {"start": ["a"], "limit": 3}))
    assert (reply["truncated"], reply["reason"]) == (True, ["fan_out", "limit"])


def test_an_entity_that_is_deleted_meanwhile_is_not_in_the_context_and_no_error(api: Api) -> None:
    ok(api.post("/edges", {"source": "Alpha", "type": "uses", "target": "Beta"}), 201)
    beta = ok(api.get("/entities/Beta"))["id"]
    waiting = """select from pg_stat_activity where wait_event_type = 'Lock' and query like '%touch_entities%'
                 and datname = current_database() and pid <> pg_backend_pid()"""
    with (
        api.service.database.admin() as watcher,
        psycopg.connect(api.service.database.app_url) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        act_as(other, OPERATOR)
        other.execute("select from loci_api.delete_entity(%s, %s)", [api.namespace, beta])
        asking = pool.submit(lambda: api.post("/graph/context", {"text": "What does Alpha use, and Beta?"}))
        eventually(lambda: watcher.execute(waiting).rowcount > 0)
        other.commit()
        assert [each["name"] for each in ok(asking.result(PATIENCE))["entities"]] == ["Alpha"]
