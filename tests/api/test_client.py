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

import loci
from loci import OMITTED, AsyncLociClient, AsyncPages, Conflict, Forbidden, Invalid, LociClient, NotFound, Pages, models
from loci._methods.transfer import exporting
from loci.descriptors import listing, operation
from loci.models.dreams import SignalInput
from loci.models.graph import EntityEvent, EntityInput
from loci.models.memories import MemoryInput, MemoryOut
from loci.models.recall import Filters, RecallOut
from loci.models.sessions import TurnInput
from loci.watch import watching
from tests.api.clients import async_client_of, client_of
from tests.services import Api, Service, eventually, new_api
from tests.sql.details import DETAILS, OTHERS, STATED

pytestmark = pytest.mark.every_case

ELSEWHERE = {  # fields of a route that another operation has
    "memories.forget": {"erase", "versions", "subtree", "with_turns", "dry_run"},
    "sessions.add_turn": {"turns"},
    "sessions.add_turns": {"role", "content", "metadata", "said_at"},
}
GROUPS = {
    name: type(getattr(LociClient("http://loci"), name))
    for name, made in inspect.getmembers(LociClient, lambda made: isinstance(made, property))
    if not name.startswith("_")
}


def operations_of(owner: type, prefix: str = "") -> dict[str, Any]:
    """The definitions of a class's operations, by where a user finds them."""
    found = {name: inspect.getattr_static(owner, name) for name in dir(owner)}
    return {prefix + name: made for name, made in found.items() if isinstance(made, (operation, listing))}


OPERATIONS = operations_of(LociClient)
for group, kind in GROUPS.items():
    OPERATIONS |= operations_of(kind, f"{group}.")


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


@pytest.mark.row("X11")
def test_every_route_has_an_operation_and_every_operation_a_route(service: Service) -> None:
    routes = {(m.upper(), path) for path, methods in service.app.openapi()["paths"].items() for m in methods}
    covered = {(request.method, request.route) for request in map(request_of, OPERATIONS)}
    streamed = {(request.method, request.route) for request in (exporting("x"), watching())}
    assert covered | streamed == routes


@pytest.mark.row("X11")
@pytest.mark.parametrize("name", [name for name in OPERATIONS if not name.startswith("transfer.")])
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
    if "filters" in fields:  # they are arguments; the one whose name the question has itself is called conversation
        fields = fields - {"filters"} | set(Filters.model_fields) - {"session_id"} | {"session_id", "conversation"}
    assert set(inspect.signature(OPERATIONS[name].__wrapped__).parameters) - {"self"} == fields


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_says_what_it_does(name: str) -> None:
    assert OPERATIONS[name].__doc__


def test_a_few_verbs_stand_on_top_and_everything_else_under_its_subject() -> None:
    assert set(operations_of(LociClient)) == {"remember", "recall", "context", "retain", "reflect"}
    assert set(GROUPS) == {*models.SUBJECTS, "recalls", "server"} - {"recall", "retain", "problems", "messages"} | {
        "graph",
        "hierarchy",
    }


def test_a_method_shows_the_arguments_of_its_definition_and_what_its_client_returns(client: LociClient) -> None:
    assert str(inspect.signature(client.recall)).startswith("(query: str, *, k: Union[int, Literal['auto'], NoneType] = None, ")
    assert inspect.signature(client.recall).return_annotation is RecallOut
    assert inspect.signature(client.memories.list).return_annotation == Pages[MemoryOut]
    waits = AsyncLociClient("http://loci")
    assert inspect.signature(waits.memories.list).return_annotation == AsyncPages[MemoryOut]
    assert inspect.iscoroutinefunction(waits.recall)
    assert inspect.iscoroutinefunction(waits.memories.get)
    shown = pydoc.render_doc(client.recall, renderer=pydoc.plaintext)
    assert "recall(query: str, *, k: Union[int, " in shown
    assert "Find what answers a question" in shown


@pytest.mark.parametrize("owner", [LociClient, AsyncLociClient, *GROUPS.values()])
def test_help_of_a_class_shows_every_method_with_its_arguments_and_its_text(owner: type) -> None:
    shown = pydoc.render_doc(owner, renderer=pydoc.plaintext)
    for name, made in operations_of(owner).items():
        assert f"{name}(self" in shown
        assert made.__doc__.split("\n")[0] in shown
    assert "(self, *args" not in shown


@pytest.mark.parametrize("kind", [LociClient, AsyncLociClient])
def test_an_address_that_is_none_is_named_before_anything_is_sent(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'localhost:8420'"):
        kind("localhost:8420")
    monkeypatch.setenv("LOCI_URL", "loci.example")
    with pytest.raises(ValueError, match=r"not so 'loci\.example'"):
        kind()


def test_a_method_can_be_called_with_its_client(client: LociClient) -> None:
    assert LociClient.retain(client, "Bob bakes bread.").created == 1
    assert [memory.content for memory in type(client.memories).list(client.memories)] == ["Bob bakes bread."]


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
    assert [name for name, value in found if getattr(loci, name) is not value] == []
    assert {name for name, _ in found} <= set(dir(loci))
    with pytest.raises(ImportError):
        from loci.models import Nothing  # noqa: F401


@pytest.mark.row("X11")
def test_importing_the_client_loads_neither_the_service_nor_a_driver() -> None:
    heavy = "{'fastapi', 'starlette', 'psycopg', 'sqlalchemy', 'numpy', 'db', 'service', 'langgraph'}"
    code = f"import sys, loci; sys.exit(str({heavy} & set(sys.modules)) if {heavy} & set(sys.modules) else 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# Memories


def test_a_memory_is_written_read_changed_forgotten_and_restored(client: LociClient) -> None:
    written = client.memories.write(
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
    became = {"superseded", "duplicate", "ignored", "cut_short", "enrichment", "unsettled"}
    assert client.memories.get(written.id).model_dump() == written.model_dump(exclude=became)
    assert client.memories.change(str(written.id), tags=[], importance=0.9).tags == []
    assert client.memories.forget(written.id).status == "forgotten"
    assert client.memories.current(["alice/city"]).items == []
    assert client.memories.restore(written.id).status == "active"
    assert [e.name for e in client.graph.list_entities()] == ["Alice", "Oslo"]


def test_every_detail_of_a_memory_is_written_and_changed(client: LociClient) -> None:
    written = client.memories.write("Oslo", **STATED)
    assert written.model_dump(include=set(DETAILS)) == STATED
    assert client.memories.change(written.id, **OTHERS).model_dump(include=set(DETAILS)) == OTHERS
    batch = client.memories.write_batch([{"content": "Rome", **OTHERS}, MemoryInput(content="Bern", **STATED)])
    assert [client.memories.get(m.id).model_dump(include=set(DETAILS)) for m in batch.items] == [OTHERS, STATED]


def test_versions_are_read_by_the_name_of_their_lineage(client: LociClient) -> None:
    client.memories.write("Oslo", lineage="city", valid_from="2020-01-01T00:00:00Z")
    client.memories.write("Paris", lineage="city")
    client.memories.write("tea", lineage="drink")
    asked = ["drink", "nothing", "city", "drink"]
    assert [m.content for m in client.memories.current(asked).items] == ["tea", "Paris"]
    then = datetime(2021, 1, 1, tzinfo=UTC)
    assert [m.content for m in client.memories.current(asked, as_of=then).items] == ["Oslo"]
    assert client.memories.current(asked, known_at=then).items == []
    assert [(m.version, m.content) for m in client.memories.history("city")] == [(1, "Oslo"), (2, "Paris")]


def test_null_is_said_only_where_it_is_meant(client: LociClient) -> None:
    parent = client.memories.write("parent")
    child = client.memories.write("child", parent_id=parent.id)
    assert client.memories.change(child.id, importance=0.1, parent_id=OMITTED).parent_id == parent.id
    assert client.memories.change(child.id, parent_id=None).parent_id is None


def test_the_hierarchy_is_walked_in_both_directions(client: LociClient) -> None:
    top = client.memories.write("top")
    middle = client.memories.write("middle", parent_id=top.id)
    leaves = [client.memories.write(f"leaf {n}", parent_id=middle.id) for n in range(3)]
    assert [(m.content, m.depth) for m in client.hierarchy.subtree(top.id, limit=2)] == [("middle", 1), ("leaf 0", 2)]
    assert [(m.content, m.depth) for m in client.hierarchy.ancestors(leaves[2].id).items] == [("middle", 1), ("top", 2)]


def test_links_are_made_listed_and_taken_back(client: LociClient) -> None:
    one, two = client.memories.write("one"), client.memories.write("two")
    link = client.memories.link(one.id, two.id, type="explains", strength=0.9)
    assert list(client.memories.list_links(two.id)) == [link]
    assert client.memories.unlink(one.id, two.id, type="explains").type == "explains"
    assert list(client.memories.list_links(two.id)) == []


def test_categories_are_counted(client: LociClient) -> None:
    client.memories.write("one", category="a/b")
    client.memories.write("two", category="a")
    assert [(c.category, c.memories, c.total) for c in client.memories.list_categories(under="a").items] == [
        ("a", 1, 2),
        ("a/b", 1, 1),
    ]


def test_erased_memories_are_gone_and_counted(client: LociClient) -> None:
    written = client.memories.write("secret")
    assert client.memories.erase([written.id]).erased == 1
    with pytest.raises(NotFound):
        client.memories.get(written.id)


def test_a_batch_tells_what_became_of_each_item(client: LociClient) -> None:
    good, bad = client.memories.write_batch([MemoryInput(content="fine", lineage="a"), {"content": ""}]).items
    assert good.id is not None
    assert bad.problem is not None
    assert bad.problem.errors[0].field == "content"
    with pytest.raises(Invalid):
        client.memories.write_batch([{"content": "fine"}, {"content": ""}], atomic=True)


def test_any_number_of_memories_is_written_in_requests_of_a_size(client: LociClient) -> None:
    read: list[int] = []

    def items() -> Iterator[MemoryInput | dict[str, Any]]:
        for n in range(7):
            read.append(n)
            yield {"content": f"fact {n}"} if n % 2 else MemoryInput(content=f"fact {n}")

    results = client.memories.write_many(items(), size=3)
    assert next(results).id is not None
    assert len(read) == 4  # the request was sent before the rest was read
    assert sum(result.id is not None for result in results) == 6
    assert client.namespaces.get(client._options.namespace or "").memories == 7


def test_a_long_write_under_a_key_is_done_once(client: LociClient) -> None:
    items = [{"content": f"fact {n}", "layer": 3} for n in range(5)]
    first = [r.id for r in client.once("nightly").memories.write_many(items, size=2)]
    assert [r.id for r in client.once("nightly").memories.write_many(items, size=2)] == first
    assert len(list(client.memories.list())) == 5


# Lists


def test_a_list_is_read_page_by_page_while_it_is_iterated_over(client: LociClient) -> None:
    list(client.memories.write_many({"content": f"fact {n}", "category": "a" if n % 2 else "b"} for n in range(250)))
    assert len(list(client.memories.list())) == 250
    assert [m.content for m in client.memories.list(limit=150, category="a")] == [f"fact {n}" for n in range(249, 0, -2)]
    assert len(list(client.memories.list(limit=101))) == 101


def test_a_list_is_filtered_by_what_metadata_contain(client: LociClient) -> None:
    client.memories.write("one", metadata={"a": {"b": [1, 2], "c": "ü"}})
    client.memories.write("two", metadata={"a": {"b": [3]}})
    assert [m.content for m in client.memories.list(metadata={"a": {"c": "ü", "b": [2]}})] == ["one"]
    assert len(list(client.memories.list(metadata={}))) == 2
    with pytest.raises(Invalid, match="metadata"):
        list(client.memories.list(metadata={"a": "\0"}))


def test_a_single_page_has_a_cursor_for_the_next(client: LociClient) -> None:
    list(client.memories.write_many({"content": f"fact {n}"} for n in range(3)))
    page = client.memories.list(limit=2).page()
    assert [m.content for m in page.items] == ["fact 2", "fact 1"]
    rest = client.memories.list(limit=2, cursor=page.next_cursor).page()
    assert ([m.content for m in rest.items], rest.next_cursor) == (["fact 0"], None)


def test_no_more_is_listed_than_the_limit_whatever_it_is(client: LociClient) -> None:
    list(client.memories.write_many(({"content": f"fact {n}"} for n in range(1005)), size=2000))
    assert len(list(client.memories.list(limit=1003))) == 1003


# Asking


def test_recall_sends_its_options_and_reads_the_answer(client: LociClient) -> None:
    client.memories.write("The build runs at night.", category="work/ci")
    client.memories.write("Bread is baked at night.", category="home")
    answer = client.recall("when does the build run", arms=["lexical"], category="work", explain=True)
    assert [r.content for r in answer] == ["The build runs at night."]
    assert (len(answer), answer[0].content) == (1, "The build runs at night.")
    assert not client.recall("when does the build run", category="nothing")
    assert answer.results[0].explain
    assert [r.content for r in client.memories.search("bread", tags=[]).results] == ["Bread is baked at night."]


def test_a_logged_recall_is_shown_rated_and_deleted(client: LociClient) -> None:
    written = client.memories.write("The build runs at night.")
    recall_id = client.recall("build", log=True).recall_id
    assert recall_id is not None
    client.sessions.note_feedback(recall_id=recall_id, ratings=[{"memory_id": written.id, "useful": True}])
    assert [r.useful for r in client.recalls.list()] == [1]
    assert [m.useful for m in client.recalls.get(recall_id).memories] == [True]
    client.recalls.delete(recall_id)
    with pytest.raises(NotFound):
        client.recalls.get(recall_id)


def test_one_recall_spans_tiers_and_namespaces(client: LociClient, api: Api) -> None:
    client.memories.write("The build runs at night.")
    client.sessions.save_entry("task", {"build": "is red"})
    client.sessions.add_turn("s", "user", "Why is the build red?")
    found = client.recall("build", arms=["lexical", "working_memory", "conversation"], namespaces=[api.namespace])
    assert {result.tier for result in found.results} >= {"memory", "working_memory", "conversation"}
    assert all(memory.tier == "memory" for memory in found.memories)


def test_a_context_shows_a_session_what_is_new_to_it(client: LociClient) -> None:
    written = client.memories.write("Alice works on RockBot.")
    client.graph.observe_edge("Alice", "works_on", "RockBot")
    first = client.in_space("session/s").context("What does Alice do?", session_id="s", max_chars=5000)
    assert ([m.id for m in first.memories], first.first, first.space) == ([written.id], True, "session/s")
    assert "Alice works on RockBot." in first.text
    assert client.context("What does Alice do?", session_id="s").memories == []
    repeated = client.context("What does Alice do?", session_id="s", repeat=True)
    assert ([m.id for m in repeated.memories], repeated.held_back) == ([written.id], 0)


def test_a_text_is_retained_and_its_facts_find_a_place(client: LociClient) -> None:
    assert client.retain("Alice lives in Oslo. Bob bakes bread.", dry_run=True).created == 2
    assert client.retain("Alice lives in Oslo. Bob bakes bread.", category="people").created == 2
    assert client.retain("Alice lives in Oslo.").unchanged == 1
    assert client.reflect(dry_run=True).visited == client.reflect(limit=100).visited == 2


# Working memory and conversations


def test_an_entry_is_saved_found_and_deleted(client: LociClient) -> None:
    own = client.in_space("session/ä")
    assert own.sessions.save_entry("plan", {"step": 1}, ttl_seconds=60, category="work", tags=["now"]).key == "session/ä/plan"
    own.sessions.save_entry("note", None)
    assert own.sessions.get_entry("plan").value == {"step": 1}
    assert client.sessions.get_entry("session/ä/plan").tags == ["now"]
    assert [entry.key for entry in client.sessions.list_entries(prefix="session/ä", limit=1)] == ["session/ä/note"]
    assert [entry.key for entry in client.sessions.search_entries("step", category="work").items] == ["session/ä/plan"]
    own.sessions.delete_entry("plan")
    with pytest.raises(NotFound):
        own.sessions.get_entry("plan")
    with pytest.raises(NotFound):
        own.sessions.delete_entry("plan")


def test_turns_are_appended_replayed_and_deleted(client: LociClient) -> None:
    client.sessions.add_turn("team/s", "user", "Hello", metadata={"a": 1})
    client.sessions.add_turns("team/s", [TurnInput(role="assistant", content="Hi"), {"role": "user", "content": "Bye"}])
    page = client.sessions.list_turns("team/s", limit=2)
    assert [turn.content for turn in page.items] == ["Hi", "Bye"]
    assert [turn.content for turn in client.sessions.list_turns("team/s", cursor=page.next_cursor).items] == ["Hello"]
    assert [(c.session_id, c.turns) for c in client.sessions.list_conversations()] == [("team/s", 3)]
    assert client.sessions.delete_turns("team/s").deleted == 3


def test_a_session_says_what_it_was_shown_and_ends(client: LociClient) -> None:
    written = client.memories.write("Ada prefers tea")
    aspect = client.facts.write_aspect(client.graph.write_entity("Ada").id, "taste")
    client.facts.write_attribute(aspect.id, "Ada prefers tea", memory_id=written.id)
    assert client.sessions.note_feedback("s", injected=[written.id]).injected == [written.id]
    client.memories.search("tea", session_id="s")
    assert client.sessions.note_feedback("s", confirmed=[written.id]).confirmed == [written.id]
    assert client.sessions.end("s").confirmed == 1
    assert [event.kind for event in client.sessions.list_feedback(session_id="s")] == ["confirmation"]


def test_a_signal_about_an_agents_work_is_noted_and_listed(client: LociClient) -> None:
    written = client.memories.write("Mails go out at once")
    signals = [
        SignalInput(kind="correction", content="ask before you mail", memory_id=written.id),
        {"kind": "praise", "content": "well done"},
    ]
    noted = client.sessions.note_feedback("s", signals=signals).signals
    assert noted is not None
    assert [(signal.kind, signal.session_id, signal.memory_id) for signal in noted] == [
        ("correction", "s", written.id),
        ("praise", "s", None),
    ]
    assert [signal.content for signal in client.dreams.list_signals(session_id="s")] == ["well done", "ask before you mail"]
    assert [signal.content for signal in client.dreams.list_signals(kind="praise")] == ["well done"]


# The graph


def test_edges_are_observed_listed_and_taken_back(client: LociClient) -> None:
    edge = client.graph.observe_edge("Alice", "knows", "Bob", confidence=0.8, aspect="people")
    more = client.graph.observe_edges(
        [{"source": "Bob", "type": "knows", "target": "Carol"}, {"source": "Bob", "type": "is", "literal": "old"}]
    )
    assert [(e.source, e.target, e.literal) for e in more.items] == [("Bob", "Carol", None), ("Bob", None, "old")]
    assert {(e.source, e.target) for e in client.graph.list_edges(type="knows", limit=2)} == {("Alice", "Bob"), ("Bob", "Carol")}
    assert client.graph.traverse(["Alice"], max_hops=2, paths=True, scores=True).edges[1].hop == 2
    context = client.graph.context("What does Alice do?", touch=False)
    assert (context.entities[0].matched, len(context.edges)) == ("Alice", 3)
    assert client.graph.delete_edge(edge.id).superseded_at is not None
    assert [(e.source, e.target) for e in client.graph.list_edges(type="knows")] == [("Bob", "Carol")]


def test_the_settings_of_an_edge_type_change_and_go_back(client: LociClient) -> None:
    client.graph.observe_edge("Alice", "knows", "Bob", confidence=0.5, observed_at="2020-01-01T00:00:00Z")
    assert client.graph.set_edge_type("knows", decay_rate=0).revived == 1
    assert client.graph.get_edge_type("knows").decay_rate == 0
    assert client.graph.set_edge_type("knows", decay_rate=None).faded == 1
    counted = client.graph.decay_edges(type="knows")
    assert (counted.edges, counted.faded, counted.faded_now) == (1, 1, 1)
    assert client.graph.decay_edges(type="knows").faded == 0


def test_entities_are_written_found_touched_and_pinned(client: LociClient) -> None:
    entity = client.graph.write_entity("Azure DevOps", type="tool", aliases=["ADO"])
    assert entity.created
    assert client.graph.match_entities("We use ADO here.").entities[0].id == entity.id
    assert client.graph.touch_entities([entity.id]).touched == 1
    assert client.graph.search_entities("azure", mode="name").entities[0].id == entity.id
    assert client.graph.change_entity(entity.id, description="Builds").description == "Builds"
    assert client.graph.change_entity(entity.id, description=None).description is None
    assert client.graph.pin_entity(entity.id).pinned
    assert [e.name for e in client.graph.list_entities(pinned=True)] == ["Azure DevOps"]
    assert not client.graph.unpin_entity(entity.id).pinned
    assert client.graph.get_entity("ado").id == entity.id
    assert client.graph.delete_entity(entity.id).name == "Azure DevOps"
    assert list(client.graph.list_entities()) == []


def test_a_namespace_is_shared_and_taken_back(client: LociClient) -> None:
    agent = client.access.create_key(name="guest", role="reader").agent_id
    assert not client.access.set_grant(agent, "writer", expires_at=datetime(2100, 1, 1, tzinfo=UTC)).created
    assert [(grant.agent_id, grant.role, grant.expired) for grant in client.access.list_grants(limit=10)] == [
        (agent, "writer", False)
    ]
    assert client.access.delete_grant(agent).role == "writer"
    assert list(client.access.list_grants()) == []
    with pytest.raises(NotFound):
        client.access.delete_grant(agent)
    assert client.access.whoami().grants is None


def test_a_guest_answers_an_invitation_and_leaves(client: LociClient, api: Api) -> None:
    with new_api(api.service) as home, client_of(api.service, home.namespace) as owner:
        made, host = owner.access.create_key(), client.access.create_key(role="admin")
        with client_of(api.service, api.namespace, key=host.key) as boss, client_of(api.service, "", key=made.key) as guest:
            assert not boss.access.set_grant(made.agent_id, "reader").accepted
            assert [invitation.namespace for invitation in guest.access.list_invitations()] == [api.namespace]
            guest.access.decline_invitation(api.namespace)
            boss.access.set_grant(made.agent_id, "reader")
            assert guest.access.accept_invitation(api.namespace).role == "reader"
            me = guest.access.whoami()
            assert me.grants is not None
            assert (me.home, me.default_namespace, len(me.grants)) == (home.namespace, home.namespace, 2)
            guest.access.leave_namespace(api.namespace)
            with pytest.raises(Forbidden):
                list(guest.in_namespace(api.namespace).memories.list())


def test_entities_are_merged_parted_and_split(client: LociClient) -> None:
    one, two = client.graph.write_entity("Robert"), client.graph.write_entity("Bobby")
    merged = client.graph.merge_entities(one.id, "Bobby", reason="a nickname")
    assert client.graph.get_entity("Bobby").id == one.id
    assert client.graph.undo_merge(merged.merge_id).merged_id == two.id
    part = client.graph.split_entity("Robert", "Robert the younger")
    assert [merge.kind for merge in client.graph.list_merges()] == ["split", "merge"]
    assert part.name == "Robert the younger"
    assert client.graph.merge_duplicate_entities().items == []


def test_a_history_is_of_a_lineage_or_of_an_entity(client: LociClient) -> None:
    client.memories.write("Oslo", lineage="city")
    client.graph.write_entity("Alice")
    assert [type(item) for item in client.graph.entity_history("city")] == [MemoryOut]
    assert [type(item) for item in client.graph.entity_history("Alice")] == [EntityEvent]
    assert client.graph.describe_entity("Alice", limit=5).entity.name == "Alice"


def test_facts_stand_under_aspects_and_supersede_each_other(client: LociClient) -> None:
    client.graph.write_entity("Alice")
    aspect = client.facts.write_aspect("Alice", "home", weight=0.9)
    old = client.facts.write_attribute(aspect.id, "Alice lives in Oslo")
    new = client.facts.write_attribute(aspect.id, "Alice does not live in Oslo")
    assert new.superseded == [old.id]
    assert [a.id for a in client.facts.list_aspects("Alice").items[0].attributes] == [new.id]
    decision = next(iter(client.facts.list_supersessions(status="applied")))
    assert client.facts.undo_supersession(decision.id).status == "undone"
    assert client.facts.dismiss_supersession(decision.id).status == "dismissed"
    assert client.facts.accept_supersession(decision.id).status == "applied"
    assert client.facts.change_attribute(new.id, importance=1.0).importance == 1.0
    assert client.facts.sweep_supersessions(mode="propose").next_cursor is None
    assert [f.name for f in client.facts.walk("Alice", attributes=True).focal] == ["Alice"]
    assert [s.name for s in client.graph.constellation(limit=5).entities] == ["Alice"]


@pytest.mark.parametrize("name", ["a/b", "/a//b/", "..", "a/history", "50%", "ä?b#c"])
def test_any_name_is_found_by_its_path(client: LociClient, name: str) -> None:
    entity = client.graph.write_entity(name, aliases=["plain"])
    client.facts.write_aspect(name, "mood")
    client.memories.write("one", lineage=name)
    client.graph.set_edge_type(name, single_valued=True)
    assert [m.content for m in client.memories.history(name)] == ["one"]
    assert client.facts.list_aspects(name).items[0].entity_id == entity.id
    assert client.graph.merge_entities(name, client.graph.write_entity("other").name).id == entity.id
    assert client.graph.get_edge_type(name).single_valued
    assert client.sessions.end(name).session_id == name
    if name != "a/history":  # the history of a; its id and its other names lead to it
        assert client.graph.get_entity(name).id == entity.id


# Namespaces and keys


def test_a_namespace_is_made_changed_and_deleted(client: LociClient) -> None:
    name = f"made-{uuid4().hex[:8]}"
    assert client.namespaces.create(name, description="mine").name == name
    assert client.namespaces.change(name, settings={"decay_rate": 0.5}).settings["decay_rate"] == 0.5
    assert client.namespaces.change(name, description=None).description is None
    assert name in {n.name for n in client.namespaces.list()}
    client.namespaces.delete(name)
    with pytest.raises(NotFound):
        client.namespaces.get(name)


def test_a_client_makes_the_namespace_that_it_names_where_it_was_told_to(api: Api) -> None:
    name = f"made-{uuid4().hex[:8]}"
    with client_of(api.service, name) as without, pytest.raises(NotFound, match="does not exist"):
        without.memories.write("x")
    with client_of(api.service, name, create=True) as client:
        assert client.memories.write("here").content == "here"
        assert [m.content for m in client.memories.list()] == ["here"]
        with pytest.raises(NotFound):
            client.namespaces.get("another-one")
        client.namespaces.delete(name)
        for _ in range(2):
            assert client.once("k").memories.write("once").content == "once"
        assert [m.content for m in client.memories.list()] == ["once"]
        client.namespaces.delete(name)


def test_making_a_namespace_needs_no_other_one_and_is_done_once_under_a_key(client: LociClient) -> None:
    name = f"made-{uuid4().hex[:8]}"
    there = client.in_namespace(name)
    assert there.once("k").namespaces.create(name, description="first").description == "first"
    assert there.once("k").namespaces.create(name, description="first").name == name
    with pytest.raises(Conflict):
        there.once("k").namespaces.create(name, description="second")
    with pytest.raises(Conflict):
        there.namespaces.create(name)


def test_a_client_that_is_to_make_a_namespace_needs_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCI_NAMESPACE", raising=False)
    with pytest.raises(ValueError, match="LOCI_NAMESPACE"):
        LociClient("http://loci", create=True)


def test_copies_speak_to_other_namespaces_and_share_the_connections(client: LociClient) -> None:
    name = f"other-{uuid4().hex[:8]}"
    client.namespaces.create(name)
    other = client.in_namespace(name)
    other.memories.write("there")
    other.close()
    assert [m.content for m in other.memories.list()] == ["there"]
    assert list(client.memories.list()) == []
    client.namespaces.delete(name)


def test_an_export_is_imported_from_a_file_from_blocks_and_from_bytes(client: LociClient, api: Api, tmp_path: Path) -> None:
    client.memories.write("one")
    eventually(lambda: client.namespaces.get(api.namespace).pending_embeddings == 0)
    data = b"".join(client.transfer.export_namespace(api.namespace, vectors=True))
    assert b'"kind":"end"' in data
    file, name = tmp_path / "export.jsonl", f"copy-{uuid4().hex[:8]}"
    file.write_bytes(data)
    assert client.transfer.import_namespace(name, file).written["memory"] == 1
    assert client.transfer.import_namespace(name, [data[:100], data[100:]]).unchanged["memory"] == 1
    assert not client.transfer.import_namespace(name, data).created
    with pytest.raises(NotFound):
        list(client.transfer.export_namespace("nowhere"))


def test_a_key_opens_its_namespace_until_it_is_revoked(client: LociClient, api: Api) -> None:
    made = client.access.create_key(role="reader", name="guest")
    assert [(key.name, key.role) for key in client.access.list_keys()] == [("guest", "reader")]
    with client_of(api.service, api.namespace, key=made.key) as guest:
        assert list(guest.memories.list()) == []
        with pytest.raises(Forbidden) as refused:
            guest.memories.write("x")
        assert refused.value.status == 403
    client.access.revoke_key(made.id)


def test_a_service_says_how_it_is(client: LociClient) -> None:
    assert client.server.health().status == "ok"
    assert client.server.readiness().status == "ready"
    assert "loci_" in client.server.metrics()


# Errors


def test_a_problem_names_the_field_and_what_to_do(client: LociClient) -> None:
    with pytest.raises(Invalid) as raised:
        client.memories.write("x", importance=3)
    error = raised.value
    assert (error.status, error.type, error.title) == (422, "urn:loci:problem:invalid-request", "Invalid request")
    assert error.errors[0].field == "importance"
    assert error.request_id
    assert "importance" in str(error)


def test_an_idempotency_key_of_another_request_is_a_conflict(client: LociClient) -> None:
    client.once("k").memories.write("one")
    with pytest.raises(Conflict):
        client.once("k").memories.write("two")


# Asynchronous


@pytest.fixture
async def aclient(api: Api) -> AsyncIterator[AsyncLociClient]:
    """An asynchronous client in a namespace of its own."""
    async with async_client_of(api.service, api.namespace) as made:
        yield made


@pytest.mark.anyio
async def test_operations_are_awaited(aclient: AsyncLociClient) -> None:
    written = await aclient.memories.write("Alice lives in Oslo.", lineage="city")
    assert (await aclient.memories.get(written.id)).content == "Alice lives in Oslo."
    assert (await aclient.recall("where does Alice live", k=1)).memories[0].id == written.id
    with pytest.raises(NotFound):
        await aclient.memories.get(uuid4())
    made = aclient.in_namespace(f"made-{uuid4().hex[:8]}", create=True)
    assert len(await made.recall("where does Alice live")) == 0


@pytest.mark.anyio
async def test_lists_are_read_with_async_for(aclient: AsyncLociClient) -> None:
    async def items() -> AsyncIterator[MemoryInput]:
        for n in range(105):
            yield MemoryInput(content=f"fact {n}")

    assert len([r async for r in aclient.memories.write_many(items(), size=50)]) == 105
    assert len([m async for m in aclient.memories.list()]) == 105
    assert len([m async for m in aclient.memories.list(limit=7)]) == 7
    assert len((await aclient.memories.list(limit=7).page()).items) == 7


@pytest.mark.anyio
async def test_an_export_is_streamed_and_imported(aclient: AsyncLociClient, api: Api, tmp_path: Path) -> None:
    assert [r.id async for r in aclient.once("k").memories.write_many([{"content": "one"}])]
    data = b"".join([block async for block in aclient.transfer.export_namespace(api.namespace)])
    file = tmp_path / "export.jsonl"
    file.write_bytes(data)
    assert (await aclient.transfer.import_namespace(api.namespace, file)).unchanged["memory"] == 1
    assert (await aclient.transfer.import_namespace(api.namespace, [data])).unchanged["memory"] == 1
    assert (await aclient.transfer.import_namespace(api.namespace, data)).unchanged["memory"] == 1
    with pytest.raises(NotFound):
        [block async for block in aclient.transfer.export_namespace("nowhere")]
