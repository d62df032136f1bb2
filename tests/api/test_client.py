"""The Python client against a running service: every operation, both ways of waiting, and every route."""

import inspect
import pydoc
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import BaseModel

from loci import OMITTED, AsyncLociClient, AsyncPages, Conflict, Forbidden, Invalid, LociClient, NotFound, Pages, models
from loci._methods.transfer import exporting
from loci.descriptors import listing, operation
from loci.models.dreams import SignalInput
from loci.models.graph import EntityEvent, EntityInput
from loci.models.memories import MemoryInput, MemoryOut
from loci.models.recall import Filters, RecallOut
from loci.models.sessions import TurnInput
from loci.watch import watching
from tests.clients import async_client_of, client_of
from tests.details import DETAILS, OTHERS, STATED
from tests.services import Api, Service, eventually, new_api

ELSEWHERE = {  # fields of a route that another operation has
    "forget_memory": {"erase", "versions", "subtree"},
    "add_turn": {"turns"},
    "add_turns": {"role", "content", "metadata", "said_at"},
}
OPERATIONS = {
    name: made for name in dir(LociClient) if isinstance(made := inspect.getattr_static(LociClient, name), (operation, listing))
}


@pytest.fixture
def client(api: Api) -> Iterator[LociClient]:
    """A client in a namespace of its own."""
    with client_of(api.service, api.namespace) as made:
        yield made


def request_of(name: str) -> Any:
    """The request of an operation, with some value for each argument."""
    parameters = [p for p in inspect.signature(OPERATIONS[name].__wrapped__).parameters if p != "self"]
    return OPERATIONS[name].request(**{p: "x" for p in parameters if p != "limit"})


# Routes and methods


def test_every_route_has_an_operation_and_every_operation_a_route(service: Service) -> None:
    routes = {(m.upper(), path) for path, methods in service.app.openapi()["paths"].items() for m in methods}
    covered = {(request.method, request.route) for request in map(request_of, OPERATIONS)}
    streamed = {(request.method, request.route) for request in (exporting("x"), watching())}
    assert covered | streamed == routes


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in {"import_namespace", "import_from"}])
def test_the_arguments_of_an_operation_are_the_fields_of_its_route(service: Service, name: str) -> None:
    document = service.app.openapi()
    request = request_of(name)
    described = document["paths"][request.route][request.method.lower()]
    fields = {p["name"] for p in described.get("parameters", []) if p["in"] != "header"}
    body = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    body = next(iter(body.get("anyOf", [body])))  # a batch may also be a bare array
    named = body.get("$ref", "").rpartition("/")[2]
    fields |= set((document["components"]["schemas"][named] if named else body).get("properties", {}))
    fields -= ELSEWHERE.get(name, set())
    assert set(inspect.signature(OPERATIONS[name].__wrapped__).parameters) - {"self"} == fields


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_says_what_it_does(name: str) -> None:
    assert OPERATIONS[name].__doc__


def test_a_method_shows_the_arguments_of_its_definition_and_what_its_client_returns(client: LociClient) -> None:
    assert str(inspect.signature(client.recall)).startswith("(query: str, *, k: int | None = None, ")
    assert inspect.signature(client.recall).return_annotation is RecallOut
    assert inspect.signature(client.list_memories).return_annotation == Pages[MemoryOut]
    assert inspect.signature(AsyncLociClient("http://loci").list_memories).return_annotation == AsyncPages[MemoryOut]
    assert inspect.iscoroutinefunction(AsyncLociClient("http://loci").recall)
    shown = pydoc.render_doc(client.recall, renderer=pydoc.plaintext)
    assert "recall(query: str, *, k: int" in shown
    assert "Find what answers a question" in shown


def test_a_method_can_be_called_with_its_client(client: LociClient) -> None:
    assert LociClient.write_memory(client, "x").content == "x"
    assert [memory.content for memory in LociClient.list_memories(client)] == ["x"]


def test_every_model_is_found_in_one_subject_and_by_its_name_alone() -> None:
    found = [
        (name, value)
        for subject in models.SUBJECTS
        for name, value in vars(import_module(f"loci.models.{subject}")).items()
        if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__.startswith(f"loci.models.{subject}")
    ]
    assert len(found) > 150
    assert [name for name, count in Counter(name for name, _ in found).items() if count > 1] == []
    assert [name for name, value in found if getattr(models, name) is not value] == []
    with pytest.raises(ImportError):
        from loci.models import Nothing  # noqa: F401


def test_importing_the_client_loads_neither_the_service_nor_a_driver() -> None:
    heavy = "{'fastapi', 'starlette', 'psycopg', 'sqlalchemy', 'numpy', 'db', 'service', 'langgraph'}"
    code = f"import sys, loci; sys.exit(str({heavy} & set(sys.modules)) if {heavy} & set(sys.modules) else 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# Memories


def test_a_memory_is_written_read_changed_forgotten_and_restored(client: LociClient) -> None:
    written = client.write_memory(
        "Alice lives in Oslo.",
        lineage="alice/city",
        category="people/alice",
        tags=["home"],
        layer=1,
        valid_from=datetime(2020, 1, 1, tzinfo=UTC),
        metadata={"a": [1, None]},
        entities=[EntityInput(name="Alice"), {"name": "Oslo", "type": "place"}],
        edges=[{"source": "Alice", "type": "lives_in", "target": "Oslo"}],
    )
    assert (written.version, written.superseded, written.duplicate, written.metadata) == (1, None, False, {"a": [1, None]})
    became = {"superseded", "duplicate", "ignored", "cut_short", "enrichment"}
    assert client.get_memory(written.id).model_dump() == written.model_dump(exclude=became)
    assert client.change_memory(str(written.id), tags=[], importance=0.9).tags == []
    assert client.forget_memory(written.id).status == "forgotten"
    assert client.current_versions(["alice/city"]).items == []
    assert client.restore_memory(written.id).status == "active"
    assert [e.name for e in client.list_entities()] == ["Alice", "Oslo"]


def test_every_detail_of_a_memory_is_written_and_changed(client: LociClient) -> None:
    written = client.write_memory("Oslo", **STATED)
    assert written.model_dump(include=set(DETAILS)) == STATED
    assert client.change_memory(written.id, **OTHERS).model_dump(include=set(DETAILS)) == OTHERS
    batch = client.write_batch([{"content": "Rome", **OTHERS}, MemoryInput(content="Bern", **STATED)])
    assert [client.get_memory(m.id).model_dump(include=set(DETAILS)) for m in batch.items] == [OTHERS, STATED]


def test_versions_are_read_by_the_name_of_their_lineage(client: LociClient) -> None:
    client.write_memory("Oslo", lineage="city", valid_from="2020-01-01T00:00:00Z")
    client.write_memory("Paris", lineage="city")
    client.write_memory("tea", lineage="drink")
    asked = ["drink", "nothing", "city", "drink"]
    assert [m.content for m in client.current_versions(asked).items] == ["tea", "Paris"]
    then = datetime(2021, 1, 1, tzinfo=UTC)
    assert [m.content for m in client.current_versions(asked, as_of=then).items] == ["Oslo"]
    assert client.current_versions(asked, known_at=then).items == []
    assert [(m.version, m.content) for m in client.memory_history("city")] == [(1, "Oslo"), (2, "Paris")]


def test_null_is_said_only_where_it_is_meant(client: LociClient) -> None:
    parent = client.write_memory("parent")
    child = client.write_memory("child", parent_id=parent.id)
    assert client.change_memory(child.id, importance=0.1, parent_id=OMITTED).parent_id == parent.id
    assert client.change_memory(child.id, parent_id=None).parent_id is None


def test_the_hierarchy_is_walked_in_both_directions(client: LociClient) -> None:
    top = client.write_memory("top")
    middle = client.write_memory("middle", parent_id=top.id)
    leaves = [client.write_memory(f"leaf {n}", parent_id=middle.id) for n in range(3)]
    assert [(m.content, m.depth) for m in client.memory_subtree(top.id, limit=2)] == [("middle", 1), ("leaf 0", 2)]
    assert [(m.content, m.depth) for m in client.memory_ancestors(leaves[2].id).items] == [("middle", 1), ("top", 2)]


def test_links_are_made_listed_and_taken_back(client: LociClient) -> None:
    one, two = client.write_memory("one"), client.write_memory("two")
    link = client.link_memory(one.id, two.id, type="explains", strength=0.9)
    assert list(client.list_links(two.id)) == [link]
    assert client.unlink_memory(one.id, two.id, type="explains").type == "explains"
    assert list(client.list_links(two.id)) == []


def test_categories_are_counted(client: LociClient) -> None:
    client.write_memory("one", category="a/b")
    client.write_memory("two", category="a")
    assert [(c.category, c.memories, c.total) for c in client.list_categories(under="a").items] == [("a", 1, 2), ("a/b", 1, 1)]


def test_erased_memories_are_gone_and_counted(client: LociClient) -> None:
    written = client.write_memory("secret")
    assert client.erase_memories([written.id]).erased == 1
    with pytest.raises(NotFound):
        client.get_memory(written.id)


def test_a_batch_tells_what_became_of_each_item(client: LociClient) -> None:
    good, bad = client.write_batch([MemoryInput(content="fine", lineage="a"), {"content": ""}]).items
    assert good.id is not None
    assert bad.problem is not None
    assert bad.problem.errors[0].field == "content"
    with pytest.raises(Invalid):
        client.write_batch([{"content": "fine"}, {"content": ""}], atomic=True)


def test_any_number_of_memories_is_written_in_requests_of_a_size(client: LociClient) -> None:
    read: list[int] = []

    def items() -> Iterator[MemoryInput | dict[str, Any]]:
        for n in range(7):
            read.append(n)
            yield {"content": f"fact {n}"} if n % 2 else MemoryInput(content=f"fact {n}")

    results = client.write_memories(items(), size=3)
    assert next(results).id is not None
    assert len(read) == 4  # the request was sent before the rest was read
    assert sum(result.id is not None for result in results) == 6
    assert client.get_namespace(client._options.namespace or "").memories == 7


def test_a_long_write_under_a_key_is_done_once(client: LociClient) -> None:
    items = [{"content": f"fact {n}", "layer": 3} for n in range(5)]
    first = [r.id for r in client.once("nightly").write_memories(items, size=2)]
    assert [r.id for r in client.once("nightly").write_memories(items, size=2)] == first
    assert len(list(client.list_memories())) == 5


# Lists


def test_a_list_is_read_page_by_page_while_it_is_iterated_over(client: LociClient) -> None:
    list(client.write_memories({"content": f"fact {n}", "category": "a" if n % 2 else "b"} for n in range(250)))
    assert len(list(client.list_memories())) == 250
    assert [m.content for m in client.list_memories(limit=150, category="a")] == [f"fact {n}" for n in range(249, 0, -2)]
    assert len(list(client.list_memories(limit=101))) == 101


def test_a_list_is_filtered_by_what_metadata_contain(client: LociClient) -> None:
    client.write_memory("one", metadata={"a": {"b": [1, 2], "c": "ü"}})
    client.write_memory("two", metadata={"a": {"b": [3]}})
    assert [m.content for m in client.list_memories(metadata={"a": {"c": "ü", "b": [2]}})] == ["one"]
    assert len(list(client.list_memories(metadata={}))) == 2
    with pytest.raises(Invalid, match="metadata"):
        list(client.list_memories(metadata={"a": "\0"}))


def test_a_single_page_has_a_cursor_for_the_next(client: LociClient) -> None:
    list(client.write_memories({"content": f"fact {n}"} for n in range(3)))
    page = client.list_memories(limit=2).page()
    assert [m.content for m in page.items] == ["fact 2", "fact 1"]
    rest = client.list_memories(limit=2, cursor=page.next_cursor).page()
    assert ([m.content for m in rest.items], rest.next_cursor) == (["fact 0"], None)


def test_no_more_is_listed_than_the_limit_whatever_it_is(client: LociClient) -> None:
    list(client.write_memories(({"content": f"fact {n}"} for n in range(1005)), size=2000))
    assert len(list(client.list_memories(limit=1003))) == 1003


# Asking


def test_a_question_is_answered_with_what_was_asked_for(client: LociClient) -> None:
    client.write_memory("The build runs at night.", category="work/ci")
    client.write_memory("Bread is baked at night.", category="home")
    answer = client.recall("when does the build run", arms=["lexical"], filters=Filters(category="work"), explain=True)
    assert [r.content for r in answer.memories] == ["The build runs at night."]
    assert answer.results[0].explain
    assert [r.content for r in client.search_words("bread", tags=[]).results] == ["Bread is baked at night."]


def test_a_logged_recall_is_shown_rated_and_deleted(client: LociClient) -> None:
    written = client.write_memory("The build runs at night.")
    recall_id = client.recall("build", log=True).recall_id
    assert recall_id is not None
    client.note_feedback(recall_id=recall_id, ratings=[{"memory_id": written.id, "useful": True}])
    assert [r.useful for r in client.list_recalls()] == [1]
    assert [m.useful for m in client.get_recall(recall_id).memories] == [True]
    client.delete_recall(recall_id)
    with pytest.raises(NotFound):
        client.get_recall(recall_id)


def test_one_recall_spans_tiers_and_namespaces(client: LociClient, api: Api) -> None:
    client.write_memory("The build runs at night.")
    client.save_entry("task", {"build": "is red"})
    client.add_turn("s", "user", "Why is the build red?")
    found = client.recall("build", arms=["lexical", "working_memory", "conversation"], namespaces=[api.namespace])
    assert {result.tier for result in found.results} >= {"memory", "working_memory", "conversation"}
    assert all(memory.tier == "memory" for memory in found.memories)


def test_a_context_shows_a_session_what_is_new_to_it(client: LociClient) -> None:
    written = client.write_memory("Alice works on RockBot.")
    client.observe_edge("Alice", "works_on", "RockBot")
    first = client.in_space("session/s").build_context("What does Alice do?", session_id="s", max_chars=5000)
    assert ([m.id for m in first.memories], first.first, first.space) == ([written.id], True, "session/s")
    assert "Alice works on RockBot." in first.text
    assert client.build_context("What does Alice do?", session_id="s").memories == []


def test_a_text_is_retained_and_its_facts_find_a_place(client: LociClient) -> None:
    assert client.retain("Alice lives in Oslo. Bob bakes bread.", dry_run=True).created == 2
    assert client.retain("Alice lives in Oslo. Bob bakes bread.", category="people").created == 2
    assert client.retain("Alice lives in Oslo.").unchanged == 1
    assert client.reflect(dry_run=True).visited == client.reflect(limit=100).visited == 2


# Working memory and conversations


def test_an_entry_is_saved_found_and_deleted(client: LociClient) -> None:
    own = client.in_space("session/ä")
    assert own.save_entry("plan", {"step": 1}, ttl_seconds=60, category="work", tags=["now"]).key == "session/ä/plan"
    own.save_entry("note", None)
    assert own.get_entry("plan").value == {"step": 1}
    assert client.get_entry("session/ä/plan").tags == ["now"]
    assert [entry.key for entry in client.list_entries(prefix="session/ä", limit=1)] == ["session/ä/note"]
    assert [entry.key for entry in client.search_entries("step", category="work").items] == ["session/ä/plan"]
    own.delete_entry("plan")
    with pytest.raises(NotFound):
        own.get_entry("plan")
    with pytest.raises(NotFound):
        own.delete_entry("plan")


def test_turns_are_appended_replayed_and_deleted(client: LociClient) -> None:
    client.add_turn("team/s", "user", "Hello", metadata={"a": 1})
    client.add_turns("team/s", [TurnInput(role="assistant", content="Hi"), {"role": "user", "content": "Bye"}])
    page = client.list_turns("team/s", limit=2)
    assert [turn.content for turn in page.items] == ["Hi", "Bye"]
    assert [turn.content for turn in client.list_turns("team/s", cursor=page.next_cursor).items] == ["Hello"]
    assert [(c.session_id, c.turns) for c in client.list_conversations()] == [("team/s", 3)]
    assert client.delete_turns("team/s").deleted == 3


def test_a_session_says_what_it_was_shown_and_ends(client: LociClient) -> None:
    written = client.write_memory("Ada prefers tea")
    aspect = client.write_aspect(client.write_entity("Ada").id, "taste")
    client.write_attribute(aspect.id, "Ada prefers tea", memory_id=written.id)
    assert client.note_feedback("s", injected=[written.id]).injected == [written.id]
    client.search_words("tea", session_id="s")
    assert client.note_feedback("s", confirmed=[written.id]).confirmed == [written.id]
    assert client.end_session("s").confirmed == 1
    assert [event.kind for event in client.list_feedback(session_id="s")] == ["confirmation"]


def test_what_is_said_about_the_work_of_an_agent_is_noted_and_listed(client: LociClient) -> None:
    written = client.write_memory("Mails go out at once")
    signals = [
        SignalInput(kind="correction", content="ask before you mail", memory_id=written.id),
        {"kind": "praise", "content": "well done"},
    ]
    noted = client.note_feedback("s", signals=signals).signals
    assert noted is not None
    assert [(signal.kind, signal.session_id, signal.memory_id) for signal in noted] == [
        ("correction", "s", written.id),
        ("praise", "s", None),
    ]
    assert [signal.content for signal in client.list_signals(session_id="s")] == ["well done", "ask before you mail"]
    assert [signal.content for signal in client.list_signals(kind="praise")] == ["well done"]


# The graph


def test_edges_are_observed_listed_and_taken_back(client: LociClient) -> None:
    edge = client.observe_edge("Alice", "knows", "Bob", confidence=0.8, aspect="people")
    more = client.observe_edges(
        [{"source": "Bob", "type": "knows", "target": "Carol"}, {"source": "Bob", "type": "is", "literal": "old"}]
    )
    assert [(e.source, e.target, e.literal) for e in more.items] == [("Bob", "Carol", None), ("Bob", None, "old")]
    assert {(e.source, e.target) for e in client.list_edges(type="knows", limit=2)} == {("Alice", "Bob"), ("Bob", "Carol")}
    assert client.traverse(["Alice"], max_hops=2, paths=True, scores=True).edges[1].hop == 2
    context = client.graph_context("What does Alice do?", touch=False)
    assert (context.entities[0].matched, len(context.edges)) == ("Alice", 3)
    assert client.delete_edge(edge.id).superseded_at is not None
    assert [(e.source, e.target) for e in client.list_edges(type="knows")] == [("Bob", "Carol")]


def test_the_settings_of_an_edge_type_change_and_go_back(client: LociClient) -> None:
    client.observe_edge("Alice", "knows", "Bob", confidence=0.5, observed_at="2020-01-01T00:00:00Z")
    assert client.set_edge_type("knows", decay_rate=0).revived == 1
    assert client.get_edge_type("knows").decay_rate == 0
    assert client.set_edge_type("knows", decay_rate=None).faded == 1
    assert client.decay_edges(type="knows").faded == 0


def test_entities_are_written_found_touched_and_pinned(client: LociClient) -> None:
    entity = client.write_entity("Azure DevOps", type="tool", aliases=["ADO"])
    assert entity.created
    assert client.match_entities("We use ADO here.").entities[0].id == entity.id
    assert client.touch_entities([entity.id]).touched == 1
    assert client.search_entities("azure", mode="name").entities[0].id == entity.id
    assert client.change_entity(entity.id, description="Builds").description == "Builds"
    assert client.change_entity(entity.id, description=None).description is None
    assert client.pin_entity(entity.id).pinned
    assert [e.name for e in client.list_entities(pinned=True)] == ["Azure DevOps"]
    assert not client.unpin_entity(entity.id).pinned
    assert client.get_entity("ado").id == entity.id
    assert client.delete_entity(entity.id).name == "Azure DevOps"
    assert list(client.list_entities()) == []


def test_a_namespace_is_shared_and_taken_back(client: LociClient) -> None:
    agent = client.create_key(name="guest", role="reader").agent_id
    assert not client.set_grant(agent, "writer", expires_at=datetime(2100, 1, 1, tzinfo=UTC)).created
    assert [(grant.agent_id, grant.role, grant.expired) for grant in client.list_grants(limit=10)] == [(agent, "writer", False)]
    assert client.delete_grant(agent).role == "writer"
    assert list(client.list_grants()) == []
    with pytest.raises(NotFound):
        client.delete_grant(agent)
    assert client.whoami().grants is None


def test_a_guest_answers_an_invitation_and_leaves(client: LociClient, api: Api) -> None:
    with new_api(api.service) as home, client_of(api.service, home.namespace) as owner:
        made, host = owner.create_key(), client.create_key(role="admin")
        with client_of(api.service, api.namespace, key=host.key) as boss, client_of(api.service, "", key=made.key) as guest:
            assert not boss.set_grant(made.agent_id, "reader").accepted
            assert [invitation.namespace for invitation in guest.list_invitations()] == [api.namespace]
            guest.decline_invitation(api.namespace)
            boss.set_grant(made.agent_id, "reader")
            assert guest.accept_invitation(api.namespace).role == "reader"
            me = guest.whoami()
            assert me.grants is not None
            assert (me.home, me.default_namespace, len(me.grants)) == (home.namespace, home.namespace, 2)
            guest.leave_namespace(api.namespace)
            with pytest.raises(Forbidden):
                list(guest.in_namespace(api.namespace).list_memories())


def test_entities_are_merged_parted_and_split(client: LociClient) -> None:
    one, two = client.write_entity("Robert"), client.write_entity("Bobby")
    merged = client.merge_entities(one.id, "Bobby", reason="a nickname")
    assert client.get_entity("Bobby").id == one.id
    assert client.undo_merge(merged.merge_id).merged_id == two.id
    part = client.split_entity("Robert", "Robert the younger")
    assert [merge.kind for merge in client.list_merges()] == ["split", "merge"]
    assert part.name == "Robert the younger"
    assert client.merge_duplicate_entities().items == []


def test_a_history_is_of_a_lineage_or_of_an_entity(client: LociClient) -> None:
    client.write_memory("Oslo", lineage="city")
    client.write_entity("Alice")
    assert [type(item) for item in client.entity_history("city")] == [MemoryOut]
    assert [type(item) for item in client.entity_history("Alice")] == [EntityEvent]


def test_facts_stand_under_aspects_and_supersede_each_other(client: LociClient) -> None:
    client.write_entity("Alice")
    aspect = client.write_aspect("Alice", "home", weight=0.9)
    old = client.write_attribute(aspect.id, "Alice lives in Oslo")
    new = client.write_attribute(aspect.id, "Alice does not live in Oslo")
    assert new.superseded == [old.id]
    assert [a.id for a in client.list_aspects("Alice").items[0].attributes] == [new.id]
    decision = next(iter(client.list_supersessions(status="applied")))
    assert client.undo_supersession(decision.id).status == "undone"
    assert client.dismiss_supersession(decision.id).status == "dismissed"
    assert client.accept_supersession(decision.id).status == "applied"
    assert client.change_attribute(new.id, importance=1.0).importance == 1.0
    assert client.sweep_supersessions(mode="propose").next_cursor is None
    assert [f.name for f in client.walk("Alice", attributes=True).focal] == ["Alice"]
    assert [s.name for s in client.constellation(limit=5).entities] == ["Alice"]


@pytest.mark.parametrize("name", ["a/b", "/a//b/", "..", "a/history", "50%", "ä?b#c"])
def test_any_name_is_found_by_its_path(client: LociClient, name: str) -> None:
    entity = client.write_entity(name, aliases=["plain"])
    client.write_aspect(name, "mood")
    client.write_memory("one", lineage=name)
    client.set_edge_type(name, single_valued=True)
    assert [m.content for m in client.memory_history(name)] == ["one"]
    assert client.list_aspects(name).items[0].entity_id == entity.id
    assert client.merge_entities(name, client.write_entity("other").name).id == entity.id
    assert client.get_edge_type(name).single_valued
    assert client.end_session(name).session_id == name
    if name != "a/history":  # the history of a; its id and its other names lead to it
        assert client.get_entity(name).id == entity.id


# Namespaces and keys


def test_a_namespace_is_made_changed_and_deleted(client: LociClient) -> None:
    name = f"made-{uuid4().hex[:8]}"
    assert client.create_namespace(name, description="mine").name == name
    assert client.change_namespace(name, settings={"decay_rate": 0.5}).settings["decay_rate"] == 0.5
    assert client.change_namespace(name, description=None).description is None
    assert name in {n.name for n in client.list_namespaces()}
    client.delete_namespace(name)
    with pytest.raises(NotFound):
        client.get_namespace(name)


def test_copies_speak_to_other_namespaces_and_share_the_connections(client: LociClient) -> None:
    name = f"other-{uuid4().hex[:8]}"
    client.create_namespace(name)
    other = client.in_namespace(name)
    other.write_memory("there")
    other.close()
    assert [m.content for m in other.list_memories()] == ["there"]
    assert list(client.list_memories()) == []
    client.delete_namespace(name)


def test_an_export_is_imported_from_a_file_from_blocks_and_from_bytes(client: LociClient, api: Api, tmp_path: Path) -> None:
    client.write_memory("one")
    eventually(lambda: client.get_namespace(api.namespace).pending_embeddings == 0)
    data = b"".join(client.export_namespace(api.namespace, vectors=True))
    assert b'"kind":"end"' in data
    file, name = tmp_path / "export.jsonl", f"copy-{uuid4().hex[:8]}"
    file.write_bytes(data)
    assert client.import_namespace(name, file).written["memory"] == 1
    assert client.import_namespace(name, [data[:100], data[100:]]).unchanged["memory"] == 1
    assert not client.import_namespace(name, data).created
    with pytest.raises(NotFound):
        list(client.export_namespace("nowhere"))


def test_a_key_opens_its_namespace_until_it_is_revoked(client: LociClient, api: Api) -> None:
    made = client.create_key(role="reader", name="guest")
    assert [(key.name, key.role) for key in client.list_keys()] == [("guest", "reader")]
    with client_of(api.service, api.namespace, key=made.key) as guest:
        assert list(guest.list_memories()) == []
        with pytest.raises(Forbidden) as refused:
            guest.write_memory("x")
        assert refused.value.status == 403
    client.revoke_key(made.id)


def test_a_service_says_how_it_is(client: LociClient) -> None:
    assert client.health().status == "ok"
    assert client.readiness().status == "ready"
    assert "loci_" in client.metrics()


# Errors


def test_a_problem_names_the_field_and_what_to_do(client: LociClient) -> None:
    with pytest.raises(Invalid) as raised:
        client.write_memory("x", importance=3)
    error = raised.value
    assert (error.status, error.type, error.title) == (422, "urn:loci:problem:invalid-request", "Invalid request")
    assert error.errors[0].field == "importance"
    assert error.request_id
    assert "importance" in str(error)


def test_an_idempotency_key_of_another_request_is_a_conflict(client: LociClient) -> None:
    client.once("k").write_memory("one")
    with pytest.raises(Conflict):
        client.once("k").write_memory("two")


# Asynchronous


@pytest.fixture
async def aclient(api: Api) -> AsyncIterator[AsyncLociClient]:
    """An asynchronous client in a namespace of its own."""
    async with async_client_of(api.service, api.namespace) as made:
        yield made


@pytest.mark.anyio
async def test_operations_are_awaited(aclient: AsyncLociClient) -> None:
    written = await aclient.write_memory("Alice lives in Oslo.", lineage="city")
    assert (await aclient.get_memory(written.id)).content == "Alice lives in Oslo."
    assert (await aclient.recall("where does Alice live", k=1)).memories[0].id == written.id
    with pytest.raises(NotFound):
        await aclient.get_memory(uuid4())


@pytest.mark.anyio
async def test_lists_are_read_with_async_for(aclient: AsyncLociClient) -> None:
    async def items() -> AsyncIterator[MemoryInput]:
        for n in range(105):
            yield MemoryInput(content=f"fact {n}")

    assert len([r async for r in aclient.write_memories(items(), size=50)]) == 105
    assert len([m async for m in aclient.list_memories()]) == 105
    assert len([m async for m in aclient.list_memories(limit=7)]) == 7
    assert len((await aclient.list_memories(limit=7).page()).items) == 7


@pytest.mark.anyio
async def test_an_export_is_streamed_and_imported(aclient: AsyncLociClient, api: Api, tmp_path: Path) -> None:
    assert [r.id async for r in aclient.once("k").write_memories([{"content": "one"}])]
    data = b"".join([block async for block in aclient.export_namespace(api.namespace)])
    file = tmp_path / "export.jsonl"
    file.write_bytes(data)
    assert (await aclient.import_namespace(api.namespace, file)).unchanged["memory"] == 1
    assert (await aclient.import_namespace(api.namespace, [data])).unchanged["memory"] == 1
    assert (await aclient.import_namespace(api.namespace, data)).unchanged["memory"] == 1
    with pytest.raises(NotFound):
        [block async for block in aclient.export_namespace("nowhere")]
