"""The profile reference-memory answers as the reference MCP memory server does: names, schemas, replies and texts."""

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString

import pytest

from tests.factories import OPERATOR, act_as
from tests.services import PATIENCE, Api, eventually, ok
from tests.tools import Tools, over_http

LANTERN = {"name": "Lantern", "entityType": "Software Project", "observations": ["Written in Rust", "Ships in May"]}
ADA = {"name": "Ada_Lovelace", "entityType": "person", "observations": ["Ships in May"]}
OWNS = {"from": "Ada_Lovelace", "to": "Lantern", "relationType": "works on"}
CHANGES = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
ENTITY = ["entityType", "name", "observations"]
RELATION = ["from", "relationType", "to"]
# what each tool takes and gives: the field, and the fields of its items, if it is a list of objects
TOOLS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, bool]]] = {
    "create_entities": ({"entities": ENTITY}, {"entities": ENTITY}, CHANGES),
    "create_relations": ({"relations": RELATION}, {"relations": RELATION}, CHANGES),
    "add_observations": (
        {"observations": ["contents", "entityName"]},
        {"results": ["addedObservations", "entityName"]},
        CHANGES,
    ),
    **{
        f"delete_{name}": (takes, {"success": "boolean", "message": "string"}, CHANGES | {"destructiveHint": True, "idempotentHint": True})
        for name, takes in {
            "entities": {"entityNames": "string"},
            "observations": {"deletions": ["entityName", "observations"]},
            "relations": {"relations": RELATION},
        }.items()
    },
    **{
        name: (takes, {"entities": ENTITY, "relations": RELATION}, CHANGES | {"readOnlyHint": True, "idempotentHint": True})
        for name, takes in {"read_graph": {}, "search_nodes": {"query": "string"}, "open_nodes": {"names": "string"}}.items()
    },
}  # fmt: skip


@pytest.fixture
def tools(api: Api) -> Iterator[Tools]:
    with over_http(api.service, profile="reference-memory", **{"X-Namespace": api.namespace}) as connected:
        yield connected


def fields(schema: dict[str, Any], *, closed: bool) -> dict[str, Any]:
    """What a schema takes, in short; every property must be required, and further ones are refused in replies alone."""
    assert sorted(schema.get("required", [])) == sorted(schema["properties"])
    assert schema.get("additionalProperties", True) is not closed
    return {name: short(field, closed=closed) for name, field in schema["properties"].items()}


def short(field: dict[str, Any], *, closed: bool) -> Any:
    item = field.get("items", field)
    return sorted(fields(item, closed=closed)) if item["type"] == "object" else item["type"]


def names(reply: dict[str, Any]) -> list[str]:
    return [entity["name"] for entity in reply["entities"]]


@pytest.mark.row("X10")
def test_the_nine_tools_are_those_of_the_reference_server(tools: Tools) -> None:
    listed = tools.listed()
    assert list(listed) == list(TOOLS)
    assert {
        name: (fields(tool["inputSchema"], closed=False), fields(tool["outputSchema"], closed=True), tool["annotations"])
        for name, tool in listed.items()
    } == TOOLS
    assert [tool["title"] for tool in listed.values()] == [name.replace("_", " ").title() for name in TOOLS]


@pytest.mark.row("X10")
def test_a_new_entity_is_read_as_stated_in_data_and_text(tools: Tools) -> None:
    created = tools.ask("create_entities", entities=[LANTERN, ADA])
    assert created.structured_content == {"entities": [LANTERN, ADA]}
    assert created.content[0].text == json.dumps([LANTERN, ADA], indent=2)  # type: ignore[union-attr]
    assert tools("create_relations", relations=[OWNS]) == {"relations": [OWNS]}
    graph = {"entities": [LANTERN, ADA], "relations": [OWNS]}
    assert tools("read_graph") == graph
    assert tools.text("read_graph") == json.dumps(graph, indent=2)


def test_only_what_is_new_is_created_and_returned(tools: Tools) -> None:
    tools("create_entities", entities=[LANTERN])
    again = tools("create_entities", entities=[{**LANTERN, "observations": ["Lost"]}, ADA, {**ADA, "name": "ada_lovelace"}])
    assert again == {"entities": [ADA]}
    assert tools("create_relations", relations=[OWNS]) == {"relations": [OWNS]}
    assert tools("create_relations", relations=[OWNS]) == {"relations": []}
    assert tools("read_graph")["entities"] == [LANTERN, ADA]


def test_observations_are_added_once_and_to_known_entities_alone(tools: Tools) -> None:
    tools("create_entities", entities=[LANTERN])
    added = tools("add_observations", observations=[{"entityName": "Lantern", "contents": ["Ships in May", "Has 3 users"]}])
    assert added == {"results": [{"entityName": "Lantern", "addedObservations": ["Has 3 users"]}]}
    several = [{"entityName": "Lantern", "contents": ["Lost"]}, {"entityName": "Nobody", "contents": ["x"]}]
    assert tools.error("add_observations", observations=several) == "Entity with name Nobody not found"
    assert tools("read_graph")["entities"][0]["observations"] == [*LANTERN["observations"], "Has 3 users"]


def test_a_search_of_nodes_reads_name_type_and_observations_and_brings_relations(tools: Tools) -> None:
    tools("create_entities", entities=[LANTERN, ADA, {"name": "Boat", "entityType": "", "observations": []}])
    tools("create_relations", relations=[OWNS])
    assert names(tools("search_nodes", query="RUST")) == ["Lantern"]
    assert names(tools("search_nodes", query="software p")) == ["Lantern"]
    assert tools("search_nodes", query="lovelace") == {"entities": [ADA], "relations": [OWNS]}
    assert tools("search_nodes", query="Rust May") == {"entities": [], "relations": []}
    assert tools("open_nodes", names=["Boat", "Nobody"]) == {
        "entities": [{"name": "Boat", "entityType": "", "observations": []}], "relations": [],
    }  # fmt: skip
    assert tools("open_nodes", names=["Lantern"]) == {"entities": [LANTERN], "relations": [OWNS]}


def test_a_relation_may_lead_to_what_is_no_entity_yet(tools: Tools) -> None:
    tools("create_entities", entities=[ADA])
    tools("create_relations", relations=[OWNS])
    assert tools("read_graph") == {"entities": [ADA], "relations": [OWNS]}
    assert tools("open_nodes", names=["Lantern"]) == {"entities": [], "relations": []}
    assert tools("create_entities", entities=[LANTERN]) == {"entities": [LANTERN]}


def test_deleting_takes_away_what_was_named_and_says_so_whether_it_was_there(tools: Tools) -> None:
    tools("create_entities", entities=[LANTERN, ADA])
    tools("create_relations", relations=[OWNS])
    tools("delete_observations", deletions=[{"entityName": "Lantern", "observations": ["Ships in May", "never said"]}])
    assert tools("read_graph")["entities"] == [{**LANTERN, "observations": ["Written in Rust"]}, ADA]
    for _ in range(2):
        assert tools.text("delete_relations", relations=[OWNS]) == "Relations deleted successfully"
        assert tools("read_graph")["relations"] == []
    tools("create_relations", relations=[OWNS])
    for _ in range(2):
        done = tools("delete_entities", entityNames=["Lantern", "Nobody"])
        assert done == {"success": True, "message": "Entities deleted successfully"}
        assert tools("read_graph") == {"entities": [ADA], "relations": []}
    assert tools("create_entities", entities=[LANTERN]) == {"entities": [LANTERN]}
    assert tools("read_graph")["entities"] == [ADA, LANTERN]


TOGETHER: tuple[tuple[str, dict[str, Any], LiteralString], ...] = (
    (
        "delete_entities",
        {"entityNames": ["Lantern"]},
        """select from loci_api.forget_memories(%(ns)s, (select array_agg(id) from loci.current_memories where namespace = %(ns)s)),
           loci_api.delete_entity(%(ns)s, (select id from loci.get_entity(%(ns)s, 'Lantern')))""",
    ),
    (
        "delete_relations",
        {"relations": [OWNS]},
        "select from loci_api.delete_edge(%(ns)s, (select id from loci.list_edges(%(ns)s)))",
    ),
)
WAITING = """select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
             and query ~ 'loci_api.(forget_memories|delete_)'"""


@pytest.mark.parametrize(("tool", "named", "deleted"), TOGETHER, ids=["entities", "relations"])
def test_a_concurrent_deletion_holds(api: Api, tools: Tools, tool: str, named: dict[str, Any], deleted: LiteralString) -> None:
    tools("create_entities", entities=[LANTERN, ADA])
    tools("create_relations", relations=[OWNS])
    database = api.service.database
    with database.app() as first, database.admin() as watcher, ThreadPoolExecutor(1) as pool:
        act_as(first, OPERATOR)
        first.execute(deleted, {"ns": api.namespace})
        asked = pool.submit(api.post, f"/profiles/reference-memory/{tool}", named)
        eventually(lambda: asked.done() or watcher.execute(WAITING).rowcount > 0)
        first.commit()
        assert ok(asked.result(PATIENCE))["success"]


def test_the_graph_is_the_one_that_loci_recalls_and_traverses(api: Api, tools: Tools) -> None:
    tools("create_entities", entities=[LANTERN, ADA])
    tools("create_relations", relations=[OWNS])
    assert "Written in Rust" in api.found("What is Lantern written in?")
    edges = ok(api.post("/graph/traverse", {"start": ["Lantern"]}))["edges"]
    assert [(edge["source"], edge["type"], edge["target"]) for edge in edges] == [("Ada_Lovelace", "works_on", "Lantern")]
    api.write("Ada_Lovelace met Lantern in Oslo")  # no observation: nobody stated it as one
    assert tools("read_graph")["entities"] == [LANTERN, ADA]


def test_shown_observations_say_whose_they_are(api: Api, tools: Tools) -> None:
    rosa = {"name": "Rosa", "entityType": "person", "observations": ["Lives in Braga", "Allergic to nuts"]}
    emil = {"name": "Emil", "entityType": "person", "observations": ["Lives in Kiel", "Vegetarian"]}
    tools("create_entities", entities=[rosa, emil])
    eventually(api.embedded)
    with over_http(api.service, **{"X-Namespace": api.namespace}) as own:
        first = own("recall", query="Where does Emil live?")["results"][0]
        assert (first["content"], first["about"], first["relevance"] > 0.8) == ("Lives in Kiel", "Emil", True)
        assert own.text("recall", query="Where does Emil live?").partition("\n")[0].endswith(": Emil: Lives in Kiel")
        shown = own.text("get_context", message="I cook for Rosa and Emil").splitlines()
        found = own("search_memory", query="lives", about="rosa")["results"]
    told = {"Rosa: Lives in Braga", "Rosa: Allergic to nuts", "Emil: Lives in Kiel", "Emil: Vegetarian"}
    assert {line.partition("): ")[2] for line in shown} >= told
    assert {row["content"] for row in found} == {*rosa["observations"]}


def test_an_observation_that_states_no_subject_is_the_same_as_one_that_does(api: Api, tools: Tools) -> None:
    """As those that were written before memories had one."""
    tools("create_entities", entities=[{**ADA, "observations": []}])
    digest = hashlib.sha256(b"Ships in May").hexdigest()[:16]
    placed = {"category": "person", "source": "mcp-memory", "metadata": {"entity": "Ada_Lovelace"}}
    made = api.write("Ships in May", lineage=f"mcp-memory/Ada_Lovelace/{digest}", entities=[{"name": "Ada_Lovelace"}], **placed)
    assert tools("open_nodes", names=["Ada_Lovelace"])["entities"] == [ADA]
    again = {"entityName": "Ada_Lovelace", "contents": ["Ships in May"]}
    assert tools("add_observations", observations=[again])["results"] == [{"entityName": "Ada_Lovelace", "addedObservations": []}]
    assert tools("create_entities", entities=[ADA]) == {"entities": []}
    assert api.size()["memories"] == 1
    tools("delete_observations", deletions=[{"entityName": "Ada_Lovelace", "observations": ["Ships in May"]}])
    assert tools("read_graph")["entities"] == [{**ADA, "observations": []}]
    assert ok(api.get(f"/memories/{made['id']}"))["status"] == "forgotten"


def test_an_entity_may_be_named_like_an_id(tools: Tools) -> None:
    named = {**ADA, "name": "0d9f7c52-7d3e-4f58-9a6a-1f1f6a0f8a11"}
    tools("create_entities", entities=[named])
    assert tools("read_graph")["entities"] == [named]


def test_an_empty_or_mistyped_field_is_refused_by_name(tools: Tools) -> None:
    assert "observation" in tools.error("create_entities", entities=[{**ADA, "observations": [" "]}])
    assert "name must not be empty" in tools.error("create_entities", entities=[{**ADA, "name": ""}])
    assert "entities.0.entityType" in tools.error("create_entities", entities=[{"name": "x", "observations": []}])
    assert tools("read_graph") == {"entities": [], "relations": []}


def test_the_graph_can_be_read_as_a_resource(tools: Tools) -> None:
    tools("create_entities", entities=[ADA])
    (listed,) = tools.portal.call(tools.client.list_resources).resources
    assert (str(listed.uri), listed.mime_type) == ("memory://knowledge-graph", "application/json")
    (content,) = tools.portal.call(tools.client.read_resource, "memory://knowledge-graph").contents
    assert json.loads(content.text) == tools("read_graph")  # type: ignore[union-attr]
