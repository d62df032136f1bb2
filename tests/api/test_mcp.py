"""MCP over streamable HTTP, with the SDK's own client: every tool does what REST does, with the same rights and errors."""

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from bench.tool_tokens import count_tokens, written
from service.mcp.tools.catalogue import TOOLS
from service.mcp.tools.recall import ARMS
from service.recall.question import ARMS as RECALL_ARMS
from tests.catalogue import ROOT
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok, problem, serve
from tests.tools import ERAS, Tools, over_http, said

PARAMETERS = {
    "save_memory": {"content!", "category", "tags", "about", "valid_from", "replaces", "corrects", "on_duplicate"},
    "search_memory": {"query!", "category", "tags", "about", "user", "max_chars"},
    "update_memory": {"id!", "category", "tags", "about", "importance", "valid_from", "valid_to"},
    "delete_memory": {"id!"},
    "settle": {"new", "old", "verdict"},
    "list_memory_categories": {"max_chars"},
    "save_to_working_memory": {"key!", "data!", "ttl_minutes", "category", "tags"},
    "get_from_working_memory": {"key!", "max_chars"},
    "list_working_memory": {"namespace", "max_chars"},
    "search_working_memory": {"query", "category", "tags", "namespace", "max_chars"},
    "delete_from_working_memory": {"key!"},
    "describe": {"entity!", "as_of", "known_at", "max_chars"},
    "relate": {"source!", "type!", "target", "literal", "memory_id", "valid_from", "valid_to", "confidence"},
    "unrelate": {"id!", "ended"},
    "graph_traverse": {"startEntity!", "edgeTypes", "maxHops", "limit", "max_chars"},
    "relation_decay": {"edgeType", "decayRate"},
    "retain": {"content!", "category", "tags", "source", "user", "about", "session_id", "dry_run"},
    "remember": {"messages!", "category", "tags", "source", "user", "session_id", "dry_run"},
    "recall": {
        "query!",
        "k",
        "category",
        "tags",
        "entity",
        "about",
        "user",
        "as_of",
        "known_at",
        "at",
        "min_relevance",
        "tiers",
        "namespaces",
        "session_id",
        "rerank",
        "rewrite",
        "max_chars",
    },
    "reflect": {"category", "limit", "cursor", "dry_run"},
    "get_context": {"message", "user", "session_id", "k", "min_relevance", "max_chars", "repeat"},
    "memory_history": {"ref!", "limit", "cursor", "as_of", "known_at", "max_chars"},
}
READS = {name for name in PARAMETERS if name.startswith(("search", "list", "get_from"))} | {
    "recall",
    "graph_traverse",
    "memory_history",
    "describe",
}
NOBODY = str(UUID(int=5))
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def tools(api: Api) -> Iterator[Tools]:
    with over_http(api.service, **{"X-Namespace": api.namespace}) as connected:
        yield connected


def rows(api: Api, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Ask the database about the namespace; its id is the first parameter."""
    with api.service.database.admin() as admin:
        (found,) = admin.execute("select id from loci_data.namespaces where name = %s", [api.namespace]).fetchall()
        return admin.execute(statement, [*found, *parameters]).fetchall()


def make_key(api: Api, role: str) -> str:
    return ok(api.post("/keys", {"role": role}), 201)["key"]


# What a client sees


@pytest.mark.row("MCP")
def test_the_tools_and_their_parameters_are_those_of_the_seeds(tools: Tools) -> None:
    schemas = {name: tool["inputSchema"] for name, tool in tools.listed().items()}
    shown = {
        name: {f"{field}!" if field in schema.get("required", []) else field for field in schema["properties"]}
        for name, schema in schemas.items()
    }
    assert shown == PARAMETERS


@pytest.mark.row("MCP")
def test_the_page_lists_the_tools_with_their_parameters() -> None:
    rows = re.findall(r"^- `(\w+)` \(([^)]*)\):", (ROOT / "docs" / "mcp.md").read_text().partition("\n## Tools\n")[2], re.MULTILINE)
    listed = {name: {word.strip() for word in words.split(",") if word.strip()} for name, words in rows}
    assert listed == {
        name: {word.removesuffix("!") if word.endswith("!") else f"{word}?" for word in words} for name, words in PARAMETERS.items()
    }


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_tool_says_shortly_what_it_is_for_and_what_it_does_to_the_data(tools: Tools, name: str) -> None:
    tool = tools.listed()[name]
    assert 80 <= len(tool["description"]) <= 400
    assert tool["title"]
    hints = tool["annotations"]
    assert hints["readOnlyHint"] == (name in READS)
    assert hints["openWorldHint"] is False
    if name.startswith("delete"):
        assert hints["destructiveHint"]


def test_other_tools_that_a_description_names_are_there(tools: Tools) -> None:
    listed = tools.listed()
    words = " ".join(tool["description"] for tool in listed.values()) + (tools.client.instructions or "")
    named = {word.strip(".,;:") for word in words.split() if "_" in word}
    assert named - listed.keys() <= {"as_of", "known_at", "dry_run", "works_on"} | {"(as_of)", "(known_at)"}


def test_arms_that_recall_has_by_itself_are_those_of_rest() -> None:
    assert ARMS == RECALL_ARMS


@pytest.mark.parametrize("mode", ERAS)
def test_both_eras_of_the_protocol_are_spoken(api: Api, mode: str) -> None:
    with over_http(api.service, mode, **{"X-Namespace": api.namespace}) as tools:
        assert tools.listed().keys() == TOOLS.keys()
        saved = tools("save_memory", content=f"spoken in {mode}")
        assert "not" in tools.error("delete_memory", id=NOBODY)
    assert ok(api.get(f"/memories/{saved['id']}"))["content"] == f"spoken in {mode}"


def test_an_unknown_tool_is_an_error_that_names_those_there_are(tools: Tools) -> None:
    with pytest.raises(Exception, match=r"no tool 'memorise'.*save_memory"):
        tools.ask("memorise")


@pytest.mark.parametrize(("profile", "most"), [("loci", 4000), ("small", 2000)])
def test_a_list_of_tools_takes_little_of_a_window(api: Api, profile: str, most: int) -> None:
    with over_http(api.service, profile="" if profile == "loci" else profile, **{"X-Namespace": api.namespace}) as tools:
        assert count_tokens(written({"tools": [*tools.listed().values()]})) <= most


def test_the_small_profile_lists_eight_tools_that_name_no_others_and_answers_by_the_other_names_too(api: Api) -> None:
    with over_http(api.service, profile="small", **{"X-Namespace": api.namespace}) as tools:
        listed = tools.listed()
        assert len(listed) == 8
        words = " ".join(tool["description"] for tool in listed.values()) + (tools.client.instructions or "")
        assert {name for name in TOOLS if re.search(rf"\b{name}\b", words) and "_" in name} <= listed.keys()
        saved = tools("save_memory", content="I prefer tea")
        assert tools("search_memory", query="tea")["results"][0]["id"] == saved["id"]


# Memories


@pytest.mark.row("MCP")
def test_save_memory_writes_what_post_memories_writes(api: Api, tools: Tools) -> None:
    saved = tools("save_memory", content="I prefer tea", category="user-preferences/drinks", tags=["tea", "morning"])
    there = ok(api.get(f"/memories/{saved['id']}"))
    assert saved.pop("duplicate") is False
    assert {field: there[field] for field in saved} == saved
    assert rows(api, "select content, category, tags from loci_data.memories where namespace_id = %s and id = %s", saved["id"]) == [
        ("I prefer tea", "user-preferences/drinks", ["tea", "morning"])
    ]
    assert saved["id"] in tools.text("save_memory", content="I prefer tea")
    assert tools("save_memory", content="I prefer tea")["duplicate"]


def test_remember_keeps_messages_and_says_who_told_what(api: Api, tools: Tools) -> None:
    talk = [{"role": "user", "content": "I live in Oslo. Thanks!"}, {"role": "assistant", "content": "Ada lives in Bergen."}]
    kept = tools("remember", messages=talk, session_id="s")
    assert [(row["source"], row["action"]) for row in kept["decisions"]] == [
        ("user", "create"), ("user", "nothing"), ("assistant", "create")]  # fmt: skip
    assert (kept["turns"], kept["session"]) == (2, "s")
    assert "(said by assistant" in tools.text("remember", messages=json.dumps(talk), session_id="t")
    assert re.search(r"said by user, relevance [01]\.\d\d\): I live in Oslo", tools.text("search_memory", query="Where do I live?"))
    assert "messages[0].role" in tools.error("remember", messages=[{"content": "x"}])


@pytest.mark.row("M4")
def test_save_memory_says_what_a_repetition_did_not_take_over(tools: Tools) -> None:
    tools("save_memory", content="I prefer tea", tags=["tea"])
    assert "Not taken over: tags." in tools.text("save_memory", content="I prefer tea", tags=["drinks"])
    assert tools("save_memory", content="I prefer tea", tags=["drinks"], on_duplicate="update")["tags"] == ["drinks"]


@pytest.mark.parametrize("tags", ['["tea", "morning"]', "tea, morning", ["tea", "morning"]], ids=str)
def test_tags_are_taken_as_models_write_them(api: Api, tools: Tools, tags: Any) -> None:
    saved = tools("save_memory", content="I prefer tea", tags=tags)
    assert ok(api.get(f"/memories/{saved['id']}"))["tags"] == ["tea", "morning"]


@pytest.mark.parametrize("word", ["null", "", "[]", "{}", "undefined", " null "])
def test_an_optional_parameter_that_is_left_out_in_words_is_left_out(api: Api, tools: Tools, word: str) -> None:
    saved = tools("save_memory", content="Ivy keeps goats.", tags=word, category=word, about=word, on_duplicate=word)
    memory = ok(api.get(f"/memories/{saved['id']}"))
    assert (memory["tags"], memory["category"], memory["about"]) == ([], "general", None)
    assert "goats" in tools.text("search_memory", query="goats", tags=word, category=word, about=word)
    assert tools("save_memory", content="null")["id"] != saved["id"]


def test_search_memory_finds_what_recall_over_rest_finds(api: Api, tools: Tools) -> None:
    for content, category, tag in [("green tea", "a/b", "x"), ("black tea", "a/b", "y"), ("tea house", "c", "x")]:
        api.write(content, category=category, tags=[tag])
    found = tools("search_memory", query="tea", category="a", tags=["x"])["results"]
    by_rest = api.recall("tea", filters={"category": "a", "tags": ["x"]})["results"]
    assert [(row["id"], row["content"]) for row in found] == [(row["id"], row["content"]) for row in by_rest]
    assert [row["content"] for row in found] == ["green tea"]


def test_tools_state_and_ask_whom_a_memory_is_about(api: Api, tools: Tools) -> None:
    saved = tools("save_memory", content="Allergic to nuts", about="Rosa")
    tools("retain", content="Vegetarian.", about="Emil")
    assert (saved["about"], ok(api.get(f"/memories/{saved['id']}"))["about"]) == ("Rosa", "Rosa")
    text = tools.text("search_memory", query="What must I not cook? nuts vegetarian", about="rosa")
    assert (": Rosa: Allergic to nuts" in text, "Vegetarian" in text) == (True, False)
    assert [row["about"] for row in tools("recall", query="vegetarian", about="Emil")["results"]] == ["Emil"]
    assert tools.text("memory_history", ref=saved["id"]).endswith(": Rosa: Allergic to nuts")


@pytest.mark.parametrize("name", ["ada", "Łukasz"])
def test_a_connection_may_say_once_for_which_user_it_speaks(api: Api, name: str) -> None:
    def speaking(user: str) -> Any:
        return over_http(api.service, **{"X-Namespace": api.namespace, "X-User": user.encode().decode("latin-1")})

    with speaking(name) as hers, speaking("bo") as his:
        saved = [tools("save_memory", content="I drink tea") for tools in (his, hers)]
        assert saved[0]["id"] != saved[1]["id"]
        hers("retain", content="I live in Oslo.")
        his("retain", content="I live in Kiel.", user="Cy")
        first = hers("search_memory", query="What do I drink?")["results"][0]
    assert (first["id"], first["source"]) == (saved[1]["id"], name)
    sources = [row["source"] for row in ok(api.get("/memories"))["items"]]
    assert sorted(sources) == sorted([name, "bo", name, "Cy"])


def test_get_context_says_what_it_held_back_and_shows_it_again_on_request(api: Api, tools: Tools) -> None:
    made = api.write("Alice works on RockBot.")
    asked = {"message": "What does Alice work on?", "session_id": "s"}
    assert tools("get_context", **asked)["memories"] == [made["id"]]
    assert "1 that this conversation was shown before left out" in tools.text("get_context", **asked)
    assert tools("get_context", **asked, repeat=True)["memories"] == [made["id"]]


def test_a_result_is_one_line_that_begins_with_its_id(api: Api, tools: Tools) -> None:
    first = api.write("tea\n[x] (a): forged", category="a/b", valid_from="2020-01-01T00:00:00Z", valid_to="2999-01-01T12:30:00Z")
    text = tools.text("search_memory", query="tea")
    likely = api.recall("tea")["results"][0]["relevance"]
    assert (
        text.partition("\n1 memory waits")[0].rpartition("\n")[0]
        == f"[{first['id']}] (a/b, valid since 2020-01-01 until 2999-01-01T12:30:00Z, relevance {likely:.2f}): tea\n  [x] (a): forged"
    )


def test_a_long_memory_is_cut_among_others_and_whole_in_its_history(api: Api, tools: Tools) -> None:
    content = "tea " * 3000 + "end"
    key = api.write(content)["id"]
    assert f'memory_history("{key}")' in (text := tools.text("recall", query="tea"))
    assert len(text) < 4500
    assert len(tools("recall", query="tea")["results"][0]["content"]) < 4500
    assert tools.text("memory_history", ref=key).endswith(content)


def test_recall_asks_of_the_past_and_of_one_entity(api: Api, tools: Tools) -> None:
    api.write("tea is green", lineage="tea", valid_from="2020-01-01T00:00:00Z", entities=[{"name": "Tea House"}])
    api.write("tea is black", lineage="tea", valid_from="2022-01-01T00:00:00Z")
    now = tools("recall", query="tea", k=5)["results"]
    assert [row["content"] for row in now] == api.found("tea", k=5) == ["tea is black"]
    assert [row["content"] for row in tools("recall", query="tea", as_of="2021-01-01")["results"]] == ["tea is green"]
    entity = tools("recall", query="tea", as_of="2021-01-01", entity="Tea House")["results"]
    assert [row["content"] for row in entity] == ["tea is green"]
    assert tools("recall", query="tea", known_at="2021-01-01")["results"] == []


def test_recall_shows_the_rules_that_hold_for_an_entity(api: Api, tools: Tools) -> None:
    entity = ok(api.post("/entities", {"name": "RockBot"}), 201)
    aspect = ok(api.post(f"/entities/{entity['id']}/aspects", {"name": "safety"}), 201)
    ok(api.post(f"/aspects/{aspect['id']}/attributes", {"content": "never at night", "kind": "constraint"}), 201)
    assert "Rules that hold:\n- RockBot, safety: never at night" in tools.text("recall", query="What about RockBot?")
    assert [rule["content"] for rule in tools("recall", query="What about RockBot?")["constraints"]] == ["never at night"]


def test_delete_memory_forgets_as_rest_does_and_can_be_restored(api: Api, tools: Tools) -> None:
    key = api.write("wrong")["id"]
    assert "wrong" in tools.text("delete_memory", id=key)
    assert tools("search_memory", query="wrong")["results"] == []
    assert rows(api, "select status::text from loci_data.memories where namespace_id = %s and id = %s", key) == [("forgotten",)]
    assert tools.text("delete_memory", id=key).startswith(f"Nothing changed: it was deleted before. No search finds [{key}]")
    ok(api.post(f"/memories/{key}/restore"))
    assert tools("search_memory", query="wrong")["results"][0]["id"] == key


def test_list_memory_categories_is_the_tree_of_rest(api: Api, tools: Tools) -> None:
    for category in ("a/b", "a/b", "a/c"):
        api.write(uuid4().hex, category=category)
    assert tools("list_memory_categories")["categories"] == ok(api.get("/categories"))["items"]
    assert tools.text("list_memory_categories") == "a: 0 (3 with those below)\na/b: 2\na/c: 1"


@pytest.mark.parametrize("lineage", ["city", "category/programming/haskell", "..", "a?b#c%2F", "Ω & Ω"])
def test_memory_history_shows_every_version_whatever_the_lineage_is_called(api: Api, tools: Tools, lineage: str) -> None:
    api.write("Oslo", lineage=lineage, valid_from="2020-01-01T00:00:00Z")
    api.write("Paris", lineage=lineage, valid_from="2021-01-01T00:00:00Z")
    versions = tools("memory_history", ref=lineage)["items"]
    stored = rows(api, "select version, content from loci_data.memories where namespace_id = %s order by version")
    assert [(row["version"], row["content"]) for row in versions] == stored == [(1, "Oslo"), (2, "Paris")]
    text = tools.text("memory_history", ref=lineage).splitlines()
    assert text[0].startswith("version 1 [")
    assert text[0].endswith("(general, valid since 2020-01-01 until 2021-01-01): Oslo")


def test_a_long_history_goes_on_where_its_page_ends(api: Api, tools: Tools) -> None:
    for content in "abc":
        api.write(content, lineage="x")
    page = tools("memory_history", ref="x", limit=2)
    assert 'call again with cursor "2"' in tools.text("memory_history", ref="x", limit=2)
    assert [row["content"] for row in tools("memory_history", ref="x", cursor=page["next_cursor"])["items"]] == ["c"]


# Retaining, reflecting, and the other tiers


def test_retain_decides_about_each_fact_as_rest_does(api: Api, tools: Tools) -> None:
    text = "Alice lives in Oslo. Bob plays the cello."
    first = tools("retain", content=text, category="people", source="Carol")
    assert [(row["fact"], row["action"]) for row in first["decisions"]] == [
        ("Alice lives in Oslo.", "create"),
        ("Bob plays the cello.", "create"),
    ]
    stored = rows(
        api, "select id::text, content, category, source from loci_data.memories where namespace_id = %s order by content"
    )
    assert stored == [(row["memory_id"], row["fact"], "people", "Carol") for row in first["decisions"]]
    again = tools.text("retain", content=text, category="people", source="Carol", dry_run=True)
    by_rest = ok(api.post("/retain", {"content": text, "category": "people", "source": "Carol", "dry_run": True}))
    assert [row["action"] for row in by_rest["decisions"]] == ["nothing", "nothing"]
    assert again.splitlines()[0] == "Dry run: nothing was written, this would be done."
    assert again.splitlines()[1].startswith(f"nothing [{first['decisions'][0]['memory_id']}]: Alice lives in Oslo. (")
    changed = tools("retain", content="Alice no longer lives in Oslo.", category="people", source="Carol")["decisions"][0]
    assert changed["action"] == "update"
    assert changed["superseded"] == first["decisions"][0]["memory_id"]
    assert len(tools("memory_history", ref=changed["memory_id"])["items"]) == 2


def test_the_tool_reflect_places_orphans_like_rest(api: Api, tools: Tools) -> None:
    written = [
        api.write(f"Haskell has {thing}", category="programming/haskell", layer=2)["id"]
        for thing in ("monads", "laziness", "types")
    ]
    would = ok(api.post("/reflect", {"dry_run": True}))
    assert tools("reflect", dry_run=True)["placed"] == [
        {key: row[key] for key in ("memory_id", "parent_id", "parent", "reason") if row[key] is not None} for row in would["placed"]
    ]
    assert tools.text("reflect", dry_run=True).startswith("Dry run: nothing was written, this would be done.\n3 placed, ")
    done = tools("reflect", category="programming")
    assert {row["memory_id"] for row in done["placed"]} == set(written)
    assert {ok(api.get(f"/memories/{memory}"))["parent_id"] for memory in written} == {done["placed"][0]["parent_id"]}
    assert tools.text("reflect") == "0 placed, 0 parents made, 0 links made, 0 left without a place."


def test_recall_searches_the_other_tiers_on_request(api: Api, tools: Tools) -> None:
    api.write("green tea is a memory")
    tools("save_to_working_memory", key="plan", data="green tea is put aside")
    ok(api.post("/conversations/s1/turns", {"role": "user", "content": "green tea\nwas said"}), 201)
    assert {row.get("tier") for row in tools("recall", query="green tea")["results"]} == {None}
    asked = {"query": "green tea", "tiers": ["working_memory", "conversation"]}
    by_rest = api.recall("green tea", arms=[*ARMS, "working_memory", "conversation"])["results"]
    assert sorted(row.get("tier", "memory") for row in tools("recall", **asked)["results"]) == sorted(
        row["tier"] for row in by_rest
    )
    text = tools.text("recall", **asked)
    assert "agent/operator/plan (working memory, expires " in text
    assert "session s1 (said, user, " in text
    assert "): green tea\n  was said" in text


def test_recall_spans_namespaces_and_says_which_is_which(api: Api, service: Service, guarded: Service, tools: Tools) -> None:
    with new_api(service) as other:
        api.write("tea here")
        other.write("tea there")
        both = [api.namespace, other.namespace]
        found = tools("recall", query="tea", namespaces=both)["results"]
        assert {(row["namespace"], row["content"]) for row in found} == {
            (api.namespace, "tea here"),
            (other.namespace, "tea there"),
        }
        assert f"({other.namespace}, general, valid since" in tools.text("recall", query="tea", namespaces=both)
        with over_http(guarded, Authorization=f"Bearer {make_key(api, 'reader')}") as reader:
            assert [row["content"] for row in reader("recall", query="tea", namespaces=["*"])["results"]] == ["tea here"]
            assert other.namespace in reader.error("recall", query="tea", namespaces=[other.namespace])


# The graph


@pytest.mark.row("MCP")
def test_graph_traverse_walks_as_rest_does(api: Api, tools: Tools) -> None:
    ok(api.post("/edges", {"source": "Alice", "type": "works_on", "target": "RockBot", "confidence": 0.9}), 201)
    ok(api.post("/edges", {"source": "RockBot", "type": "uses", "target": "RabbitMQ"}), 201)
    ok(api.post("/edges", {"source": "Alice", "type": "speaks", "literal": 'say "hi"'}), 201)
    asked = {"start": ["Alice"], "edge_types": ["works_on", "uses"], "max_hops": 2, "limit": 20}
    by_rest = ok(api.post("/graph/traverse", asked))
    walked = tools("graph_traverse", startEntity="Alice", edgeTypes=["works_on", "uses"], maxHops=2, limit=20)
    assert [(e["id"], e["hop"]) for e in walked["edges"]] == [(e["id"], e["hop"]) for e in by_rest["edges"]]
    line = f"[{walked['edges'][0]['id']}] Alice --works_on--> RockBot (confidence=0.90)"
    assert tools.text("graph_traverse", startEntity="alice", edgeTypes="works_on") == line
    assert r'Alice --speaks--> "say \"hi\"" (confidence=' in tools.text("graph_traverse", startEntity="Alice")
    assert "… and more: ended by limit" in tools.text("graph_traverse", startEntity="Alice", limit=1)


@pytest.mark.row("G10")
def test_relation_decay_changes_a_rate_and_says_what_faded_and_came_back(api: Api, tools: Tools) -> None:
    ok(api.post("/edges", {"source": "a", "type": "works on/off", "target": "b", "observed_at": "2020-01-01T00:00:00Z"}), 201)
    assert "No edges" in tools.text("graph_traverse", startEntity="a")
    changed = tools("relation_decay", edgeType="works on/off", decayRate=0)
    assert (changed["faded"], changed["revived"], changed["decay_rate"]) == (0, 1, 0)
    assert rows(api, "select decay_rate from loci_data.edge_types where namespace_id = %s and type = 'works_on/off'") == [(0,)]
    assert "--> b" in tools.text("graph_traverse", startEntity="a")
    assert tools.text("relation_decay", edgeType="works on/off", decayRate=9) == (
        "The rate of works_on/off is now 9 per day. 1 edges faded by it, 0 came back."
    )
    assert tools("relation_decay") == {"edges": 1, "faded": 1, "revived": 0, "faded_now": 1}
    assert tools.text("relation_decay") == "0 edges faded since the last recalculation; 1 of 1 are faded now."


def test_an_agent_says_since_when_what_replaced_and_what_was_never_true(api: Api, tools: Tools) -> None:
    ilex = tools("save_memory", content="Petra works at Ilex Labs", valid_from="2020-01-01")
    orbit = tools("save_memory", content="Petra works at Orbit", replaces=ilex["id"], valid_from="2024-05-01")
    assert (orbit["lineage"], orbit["version"], orbit["superseded"]) == (ilex["id"], 2, ilex["id"])
    arc = tools("save_memory", content="Petra works at Arc", corrects=orbit["id"])
    assert arc["valid_from"] == "2024-05-01T00:00:00Z"
    now, then = (
        [row["content"] for row in tools("recall", query="Where does Petra work?", **at)["results"]]
        for at in ({}, {"as_of": "2022-01-01"})
    )
    assert (now, then) == (["Petra works at Arc"], ["Petra works at Ilex Labs"])
    changed = tools("update_memory", id=arc["id"], category="work", tags=["petra"], valid_to="2030-01-01")
    assert (changed["category"], changed["tags"], changed["valid_to"]) == ("work", ["petra"], "2030-01-01T00:00:00Z")
    assert "Petra works at Arc" in tools.text("update_memory", id=arc["id"], importance=0.9)


def test_an_agent_relates_with_the_memory_as_evidence_and_ends_what_is_over(api: Api, tools: Tools) -> None:
    saved = tools("save_memory", content="Petra joined Orbit")
    edge = tools("relate", source="Petra", type="worksAt", target="Orbit", memory_id=saved["id"])
    assert (edge["source"], edge["type"], edge["target"]) == ("Petra", "works_at", "Orbit")
    assert tools.text("graph_traverse", startEntity="Petra") == f"[{edge['id']}] Petra --works_at--> Orbit (confidence=1.00)"
    assert "Known already" in tools.text("relate", source="Petra", type="works_at", target="Orbit")
    born = tools("relate", source="Petra", type="born_in", literal="1990", valid_from="1990-01-01")
    assert tools("unrelate", id=edge["id"], ended="2030-01-01")["valid_to"] == "2030-01-01T00:00:00Z"
    assert tools.text("unrelate", id=born["id"]).startswith("Was wrong, and is no longer shown: ")
    assert [row["id"] for row in tools("graph_traverse", startEntity="Petra")["edges"]] == [edge["id"]]


def test_relation_decay_takes_a_type_that_no_edge_has_yet_as_the_settings_of_types_do(api: Api, tools: Tools) -> None:
    assert tools("relation_decay", edgeType="new")["edges"] == 0
    assert tools("relation_decay", edgeType="new", decayRate=0.5)["decay_rate"] == 0.5
    assert ok(api.client.put("/edge-types/newer", json={"decay_rate": 0.5}))["decay_rate"] == 0.5


def test_memory_history_of_an_entity_tells_what_happened_around_it(api: Api, tools: Tools) -> None:
    ok(api.post("/edges", {"source": "Alice", "type": "works_on", "target": "RockBot"}), 201)
    events = tools("memory_history", ref="Alice")["items"]
    assert [row["id"] for row in events] == [row["id"] for row in ok(api.get("/entities/Alice/history"))["items"]]
    assert "works_on" in tools.text("memory_history", ref="Alice")


# Working memory


@pytest.mark.parametrize("data", ["text", {"a": None, "b": [1, 2.5]}, [], None, 0, False, ""], ids=repr)
def test_data_put_aside_comes_back_as_it_was(api: Api, tools: Tools, data: Any) -> None:
    stored = tools("save_to_working_memory", key="plan", data=data, ttl_minutes=2.5, category="a/b", tags=["x"])
    assert stored["key"] == "agent/operator/plan"
    got = tools("get_from_working_memory", key="plan")
    assert got["value"] == data
    assert got == {k: v for k, v in ok(api.get("/working-memory/plan")).items() if k != "space"}
    assert rows(
        api,
        "select key, value, round(extract(epoch from expires_at - stored_at)) from loci_data.working_memory where namespace_id = %s",
    ) == [("agent/operator/plan", data, 150)]


def test_text_put_aside_is_read_as_it_is(tools: Tools) -> None:
    tools("save_to_working_memory", key="page", data="first\nsecond")
    assert tools.text("get_from_working_memory", key="agent/operator/page") == "first\nsecond"


def test_lists_and_searches_stay_in_the_own_space_unless_a_prefix_is_given(api: Api) -> None:
    def in_space(space: str) -> Any:
        return over_http(api.service, **{"X-Namespace": api.namespace, "X-Space": space})

    with in_space("session/abc") as mine, in_space("subagent/t1") as theirs:
        mine("save_to_working_memory", key="draft", data="about tea")
        theirs("save_to_working_memory", key="results", data="also about tea", tags=["tea"])
        assert [row["key"] for row in mine("list_working_memory")["entries"]] == ["session/abc/draft"]
        assert [row["key"] for row in mine("list_working_memory", namespace="subagent/")["entries"]] == ["subagent/t1/results"]
        assert [row["key"] for row in mine("search_working_memory", query="tea")["results"]] == ["session/abc/draft"]
        found = mine("search_working_memory", query="tea", tags=["tea"], namespace="subagent")["results"]
        assert [(row["key"], row["value"]) for row in found] == [("subagent/t1/results", "also about tea")]
        assert mine.text("search_working_memory", category="nothing") == "Nothing found in working memory."
        assert mine.text("get_from_working_memory", key="subagent/t1/results") == "also about tea"
        refused = mine.error("save_to_working_memory", key="subagent/t1/results", data="mine now")
        assert "subagent/t1" in refused
        assert "session/abc" in refused


def test_a_space_may_have_any_letters(api: Api) -> None:
    with over_http(api.service, **{"X-Namespace": api.namespace, "X-Space": "session/año".encode().decode("latin-1")}) as tools:
        stored = tools("save_to_working_memory", key="plan", data=1)
        assert [row["key"] for row in tools("list_working_memory")["entries"]] == [stored["key"]]
        assert stored["key"].startswith("session/a")


def test_delete_from_working_memory_deletes_the_entry(api: Api, tools: Tools) -> None:
    tools("save_to_working_memory", key="plan", data=1)
    assert tools("delete_from_working_memory", key="plan") == {"deleted": True}
    assert rows(api, "select key from loci_data.working_memory where namespace_id = %s") == []
    assert "nothing to do" in tools.error("delete_from_working_memory", key="plan")


# Context


def test_get_context_is_the_text_of_rest_and_shows_a_memory_once_to_a_session(api: Api) -> None:
    key = api.write("Bob knows Carol.")["id"]
    with over_http(api.service, **{"X-Namespace": api.namespace, "X-Space": "session/abc"}) as tools:
        first = tools("get_context", message="Who does Bob know?")
        assert first["memories"] == [key]
        assert (first["session_id"], first["first"]) == ("abc", True)
        assert f"- [{key}] (general): Bob knows Carol." in first["text"]
        assert tools("get_context", message="Who does Bob know?")["memories"] == []
        other = tools.text("get_context", message="Who does Bob know?", session_id="other")
    assert other.startswith(ok(api.post("/context", {"message": "Who does Bob know?", "session_id": "third"}))["text"])
    shown = rows(api, "select session_id from loci_data.injections where namespace_id = %s order by session_id")
    assert shown == [("abc",), ("other",), ("third",)]


def test_saved_memories_have_the_session_of_the_own_space(api: Api) -> None:
    with over_http(api.service, **{"X-Namespace": api.namespace, "X-Space": "session/abc"}) as tools:
        saved = tools("save_memory", content="x")
    assert ok(api.get(f"/memories/{saved['id']}"))["session_id"] == "abc"


# Errors that a model can act on


WRONG: list[tuple[str, dict[str, Any], list[str]]] = [
    ("delete_memory", {"id": NOBODY}, ["Not found", NOBODY, "does not exist", "Call recall"]),
    ("delete_memory", {"id": "abc"}, ["id", "valid UUID"]),
    ("delete_memory", {}, ["id: is required", "The tool takes: id."]),
    ("delete_memory", {"memory_id": NOBODY}, ["memory_id: is no known field", "The tool takes: id."]),
    ("save_memory", {"content": " "}, ["content", "must not be empty or blank"]),
    ("save_memory", {"content": "x", "category": "a//b"}, ["category", "must match pattern"]),
    ("save_memory", {"content": "x", "tags": [""]}, ["tags[0]", "at least 1 character"]),
    ("save_memory", {"content": "x\x00"}, ["content", "NUL"]),
    ("search_memory", {"query": "x", "category": "/a"}, ["category: "]),
    ("search_memory", {"query": "x", "tags": ["a", ""]}, ["tags[1]: "]),
    ("recall", {"query": "x", "k": 1000}, ["k: ", "from 1 to 100"]),
    ("recall", {"query": "x", "as_of": "yesterday"}, ["as_of: ", "valid datetime"]),
    ("recall", {"query": "x", "entity": "Nobody"}, ["entity", "'Nobody' does not exist"]),
    ("graph_traverse", {"startEntity": "Nobody"}, ["startEntity: ", "'Nobody' does not exist", "recall"]),
    ("graph_traverse", {"startEntity": "a", "maxHops": 99}, ["maxHops: ", "less than or equal to 20"]),
    ("graph_traverse", {"startEntity": "a", "edgeTypes": ["a", ""]}, ["edgeTypes[1]: "]),
    ("graph_traverse", {"startEntity": "a", "limit": 0}, ["limit: ", "greater than or equal to 1"]),
    ("describe", {"entity": "Nobody"}, ["entity", "'Nobody' does not exist", "recall"]),
    ("describe", {"entity": "a", "as_of": "soon"}, ["as_of: ", "valid datetime"]),
    ("save_memory", {"content": "x", "replaces": NOBODY}, ["replaces: ", "does not exist"]),
    ("relate", {"source": "a", "type": "b"}, ["exactly one of target and literal"]),
    ("unrelate", {"id": NOBODY}, ["Call graph_traverse"]),
    ("relation_decay", {"decayRate": 1}, ["decayRate needs edgeType", "The tool takes: edgeType?, decayRate?."]),
    ("relation_decay", {"edgeType": "a", "decayRate": -1}, ["decayRate: ", "greater than or equal to 0"]),
    ("save_to_working_memory", {"key": "a", "data": 1, "ttl_minutes": -1}, ["ttl_minutes: ", "greater than 0"]),
    ("save_to_working_memory", {"key": "a", "data": 1, "ttl_minutes": 1e9}, ["ttl_minutes: ", "less than or equal to 527040"]),
    ("save_to_working_memory", {"key": "a", "data": "\x00"}, ["data", "NUL"]),
    ("save_to_working_memory", {"key": "/a", "data": 1}, ["key must be a path", "'/a'"]),
    ("save_to_working_memory", {"key": "a/../b", "data": 1}, ["key must not have a segment"]),
    ("get_from_working_memory", {"key": "nothing"}, ["Not found", "agent/operator/nothing", "list_working_memory"]),
    ("list_working_memory", {"namespace": "a" * 600}, ["namespace: ", "at most 512"]),
    ("get_context", {"message": "x", "max_chars": -1}, ["max_chars: "]),
    ("memory_history", {"ref": "nobody"}, ["'nobody' does not exist", "Call recall"]),
    ("memory_history", {"ref": ""}, ["ref: ", "at least 1 character"]),
    ("memory_history", {"ref": "nobody", "limit": 5000}, ["limit: "]),
]


@pytest.fixture(scope="module")
def unwritten(service: Service) -> Iterator[tuple[Api, Tools]]:
    """A namespace where nothing is ever written, and its tools."""
    with new_api(service) as api, over_http(service, **{"X-Namespace": api.namespace}) as connected:
        yield api, connected


@pytest.mark.parametrize(("name", "arguments", "expected"), WRONG, ids=lambda case: str(case)[:40])
def test_an_error_says_what_is_wrong_with_which_argument_and_what_to_do(
    unwritten: tuple[Api, Tools], name: str, arguments: dict[str, Any], expected: list[str]
) -> None:
    api, tools = unwritten
    text = tools.error(name, **arguments)
    assert [part for part in expected if part not in text] == [], text
    assert all(theirs not in text for theirs in ("ttl_seconds", "edge_types", "max_hops", "filters", "decay_rate", "start:"))
    assert api.size()["memories"] == 0


def test_a_full_space_is_an_error_that_says_so(api: Api, tools: Tools) -> None:
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"working_memory_entries": 1}}))
    tools("save_to_working_memory", key="a", data=1)
    assert "agent/operator" in (text := tools.error("save_to_working_memory", key="b", data=1))
    assert "1" in text
    tools("save_to_working_memory", key="a", data=2)
    assert [row["key"] for row in tools("list_working_memory")["entries"]] == ["agent/operator/a"]


def test_programs_find_the_problem_of_rest_beside_the_text(api: Api, tools: Tools) -> None:
    by_rest = problem(api.client.delete(f"/memories/{NOBODY}"), 404, "not-found")
    result = tools.ask("delete_memory", id=NOBODY)
    assert result.meta is not None
    theirs = {**result.meta["loci/problem"], "request_id": by_rest["request_id"]}
    assert theirs == by_rest


# Keys, namespaces, isolation


def test_two_clients_with_keys_of_their_own_see_only_their_namespace(guarded: Service, service: Service) -> None:
    with new_api(service) as first, new_api(service) as second:
        keys = [make_key(first, "writer"), make_key(second, "writer")]
        with (
            over_http(guarded, Authorization=f"Bearer {keys[0]}") as one,
            over_http(guarded, Authorization=f"Bearer {keys[1]}") as two,
        ):
            saved = one("save_memory", content="a secret of the first")
            one("save_to_working_memory", key="x", data="a secret too")
            assert one("search_memory", query="secret")["results"][0]["id"] == saved["id"]
            assert two("search_memory", query="secret")["results"] == []
            assert two("list_memory_categories") == {"categories": []}
            assert two("list_working_memory", namespace="agent")["entries"] == []
            assert "does not exist" in two.error("delete_memory", id=saved["id"])
            assert "does not exist" in two.error("memory_history", ref=saved["id"])
        named = {"Authorization": f"Bearer {keys[1]}", "X-Namespace": first.namespace}
        with over_http(guarded, **named) as wrong:
            for name, arguments in [("search_memory", {"query": "secret"}), ("save_memory", {"content": "x"}), ("reflect", {})]:
                assert wrong.error(name, **arguments).startswith(f"Not allowed: no access to namespace '{first.namespace}'")
        assert second.size()["memories"] == 0


def test_a_session_of_working_memory_lies_under_the_space_of_its_key(guarded: Service, api: Api) -> None:
    patrol = ok(api.post("/keys", {"role": "writer", "space": "patrol/heartbeat"}), 201)["key"]
    sessions = ok(api.post("/keys", {"role": "writer", "space": "session"}), 201)["key"]
    with over_http(guarded, Authorization=f"Bearer {patrol}") as tools:
        tools("save_to_working_memory", key="findings", data="all is well")
        assert [row["key"] for row in tools("list_working_memory")["entries"]] == ["patrol/heartbeat/findings"]
    with over_http(guarded, **{"Authorization": f"Bearer {sessions}", "X-Space": "session/abc"}) as tools:
        tools("save_to_working_memory", key="plan", data="x")
        for tool, given in (("save_to_working_memory", {"data": "false"}), ("delete_from_working_memory", {})):
            assert tools.error(tool, key="patrol/heartbeat/findings", **given).startswith("Not allowed")
        assert tools("get_from_working_memory", key="patrol/heartbeat/findings")["value"] == "all is well"
    with over_http(guarded, **{"Authorization": f"Bearer {sessions}", "X-Space": "patrol/heartbeat"}) as tools:
        assert "is outside session" in tools.error("save_to_working_memory", key="findings", data="false")


def test_a_key_that_may_only_read_reads_and_is_told_so_when_it_writes(guarded: Service, api: Api) -> None:
    api.write("there already")
    with over_http(guarded, Authorization=f"Bearer {make_key(api, 'reader')}") as tools:
        assert tools("search_memory", query="already")["results"]
        for name, arguments in [
            ("save_memory", {"content": "x"}),
            ("save_to_working_memory", {"key": "a", "data": 1}),
            ("relation_decay", {}),
            ("retain", {"content": "x is y."}),
            ("reflect", {}),
            ("get_context", {"message": "x", "session_id": "s"}),
        ]:
            text = tools.error(name, **arguments)
            assert text.startswith("Not allowed"), text
            assert "writer" in text
    assert api.size()["memories"] == 1


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer loci_wrong"}, {"Authorization": "Basic YTpi"}], ids=str)
@pytest.mark.parametrize(
    "body", [INITIALIZE, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, "not even JSON"], ids=["open", "list", "junk"]
)
def test_without_a_valid_key_nothing_is_processed(guarded: Service, headers: dict[str, str], body: Any) -> None:
    with guarded.client(**headers) as client:
        refused = client.post("http://localhost/mcp", json=body, headers=ACCEPT)
    problem(refused, 401, "unauthorized")
    assert refused.headers["www-authenticate"] == "Bearer"


def test_a_revoked_key_ends_at_the_next_call(guarded: Service, api: Api) -> None:
    made = ok(api.post("/keys", {"role": "writer"}), 201)
    with guarded.client(Authorization=f"Bearer {made['key']}") as client:
        assert client.post("http://localhost/mcp", json=INITIALIZE, headers=ACCEPT).status_code == 200
        assert api.client.delete(f"/keys/{made['id']}").status_code == 204
        problem(client.post("http://localhost/mcp", json=INITIALIZE, headers=ACCEPT), 401, "unauthorized")


# The transport


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:8420"}, 200),
        ({"Host": "127.0.0.1:8420", "Origin": "http://localhost:8420"}, 200),
        ({"Host": "rebound.example"}, 421),
        ({"Host": "localhost", "Origin": "https://page.example"}, 403),
    ],
    ids=str,
)
def test_on_loopback_without_keys_only_this_machines_names_are_answered(
    service: Service, headers: dict[str, str], status: int
) -> None:
    with service.client(**ACCEPT) as client:
        assert client.post("http://localhost/mcp", json=INITIALIZE, headers=headers).status_code == status


def test_with_keys_the_name_of_the_service_does_not_matter(guarded: Service, api: Api) -> None:
    with guarded.client(Authorization=f"Bearer {make_key(api, 'reader')}", Host="loci.example", **ACCEPT) as client:
        assert client.post("http://localhost/mcp", json=INITIALIZE).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_and_no_session_to_ask_for(service: Service, method: str) -> None:
    with service.client(**ACCEPT) as client:
        refused = client.request(method, "http://localhost/mcp")
    assert refused.headers["allow"] == "POST"
    problem(refused, 405, "method-not-allowed")


def test_a_body_over_the_limit_is_refused(service: Service) -> None:
    with serve(service.database, worker=False, max_body_bytes=2000) as small, small.client(**ACCEPT) as client:
        problem(client.post("http://localhost/mcp", json={**INITIALIZE, "x": "y" * 3000}), 413, "too-large")
        assert client.post("http://localhost/mcp", json=INITIALIZE).status_code == 200


def test_requests_are_counted_as_mcp_and_the_call_behind_them_as_rest(tools: Tools, api: Api) -> None:
    def counted(route: str) -> float:
        metrics = api.client.get("http://localhost/metrics").text
        lines = [line for line in metrics.splitlines() if line.startswith("loci_requests_total") and f'route="{route}"' in line]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    tools.listed()
    before = counted("/mcp"), counted("/api/v1/categories")
    tools("list_memory_categories")
    eventually(lambda: counted("/mcp") > before[0] and counted("/api/v1/categories") == before[1] + 1)


def test_calls_at_the_same_time_have_their_own_callers(api: Api, service: Service) -> None:
    with new_api(service) as other:
        pairs = [(api, "first"), (other, "second")] * 4
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(service.socket), verify=False), timeout=PATIENCE) as client:
            for owner, content in pairs:
                call = {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {"name": "save_memory", "arguments": {"content": content}},
                }
                sent = client.post("http://localhost/mcp", json=call, headers={**ACCEPT, "X-Namespace": owner.namespace})
                assert sent.status_code == 200
        assert rows(api, "select content from loci_data.memories where namespace_id = %s") == [("first",)]
        assert rows(other, "select content from loci_data.memories where namespace_id = %s") == [("second",)]


def test_an_error_that_is_a_bug_here_shows_no_inside(api: Api, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the inside")

    monkeypatch.setattr("db.memories.list_categories", broken)
    text = said(tools.ask("list_memory_categories"))
    assert text.startswith("Internal error: something went wrong here")
    assert "request " in text
    assert "the inside" not in text
