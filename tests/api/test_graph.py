"""The graph at two times over REST, timelines, aspects and attributes."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from tests.services import Api, ok, problem

EDGE = {"source": "Alice", "type": "works_on", "target": "Loci"}


def now() -> str:
    return datetime.now(UTC).isoformat()


def targets(api: Api, way: str, **moments: str) -> list[str]:
    """Targets of the edges at Alice, listed or walked to, at two moments."""
    if way == "list":
        return [edge["target"] for edge in ok(api.get("/edges", entity="Alice", **moments))["items"]]
    return [edge["target"] for edge in ok(api.post("/graph/traverse", {"start": ["Alice"], **moments}))["edges"]]


@pytest.mark.parametrize("way", ["list", "walk"])
def test_edges_are_shown_as_of_a_moment_as_known_at_another(api: Api, way: str) -> None:
    made = ok(api.post("/edges", {**EDGE, "observed_at": "2025-01-01T00:00:00Z", "confidence": 1}), 201)
    api.post("/edges", {**EDGE, "target": "Postgres"})
    known_at = now()
    api.client.delete(f"/edges/{made['id']}")
    assert targets(api, way, as_of="2025-01-02T00:00:00Z") == []
    assert targets(api, way, as_of="2025-01-02T00:00:00Z", known_at=known_at) == ["Loci"]
    assert targets(api, way) == ["Postgres"]


def test_observing_an_edge_shows_it_and_what_ended_by_it(api: Api) -> None:
    ok(api.client.put("/edge-types/lives_in", json={"single_valued": True}))
    home = {"source": "Alice", "type": "lives_in"}
    first = ok(api.post("/edges", {**home, "target": "Rome", "valid_from": "2020-01-01T00:00:00Z", "confidence": 0.5}), 201)
    assert (first["created"], first["observations"], first["superseded"]) == (True, 1, [])
    assert first["confidence"] == pytest.approx(0.5)
    second = ok(api.post("/edges", {**home, "target": "Oslo", "valid_from": "2022-01-01T00:00:00Z"}), 201)
    (ended,) = second["superseded"]
    assert (ended["id"], ended["target"], ended["valid_to"][:10]) == (first["id"], "Rome", "2022-01-01")
    assert ok(api.get(f"/edges/{first['id']}"))["valid_to"] == "2022-01-01T00:00:00Z"
    (decision,) = ok(api.get("/supersessions", signal="single_valued"))["items"]
    assert (decision["id"], decision["aspect"]) == (ended["supersession_id"], None)
    assert ok(api.post(f"/supersessions/{decision['id']}/undo"))["status"] == "undone"
    assert ok(api.get(f"/edges/{first['id']}"))["valid_to"] is None


def test_an_edge_that_ends_before_it_begins_and_a_moment_that_is_none_are_refused_with_what_is_expected(api: Api) -> None:
    edge = {"source": "Pia", "type": "works_at", "target": "Acme", "valid_from": "2020-01-01T00:00:00Z"}
    ended = problem(api.post("/edges", {**edge, "valid_to": "2019-01-01T00:00:00Z"}), 422, "invalid-request")
    assert "must not be before valid_from, which is 2020-01-01" in ended["errors"][0]["message"]
    (error,) = problem(api.get("/edges", entity="Pia", as_of=""), 422, "invalid-request")["errors"]
    assert (error["field"], "number" in error["message"]) == ("as_of", False)


@pytest.mark.row("G2")
def test_an_edge_is_shown_with_its_spells_and_evidence_at_two_moments(api: Api) -> None:
    spell = {"valid_from": "2015-01-01T00:00:00Z", "valid_to": "2016-01-01T00:00:00Z"}
    made = ok(api.post("/edges", {**EDGE, **spell, "session_id": "s"}), 201)
    known_at = now()
    ok(api.post("/edges", {**EDGE, "valid_from": "2020-01-01T00:00:00Z", "session_id": "t"}), 201)
    shown = ok(api.get(f"/edges/{made['id']}", as_of="2015-06-01T00:00:00Z"))
    assert (shown["valid_from"], shown["valid_to"], shown["observations"], shown["last_observed_at"]) == (*spell.values(), 0, None)
    assert [(s["valid_from"][:4], s["superseded_at"]) for s in shown["spells"]] == [("2015", None), ("2020", None)]
    assert [(e["restored"], e["session_id"]) for e in shown["evidence"]] == [(True, "t"), (False, "s")]
    assert len(ok(api.get(f"/edges/{made['id']}", known_at=known_at))["spells"]) == 1
    assert len(ok(api.get(f"/edges/{made['id']}", limit=1))["evidence"]) == 1
    problem(api.get(f"/edges/{uuid4()}"), 404, "not-found")


def test_an_entity_is_shown_as_it_was_known(api: Api) -> None:
    made = ok(api.post("/entities", {"name": "Zeus", "type": "god"}), 201)
    known_at = now()
    api.client.patch(f"/entities/{made['id']}", json={"name": "Jupiter"})
    assert ok(api.get(f"/entities/{made['id']}", known_at=known_at))["name"] == "Zeus"
    assert [entity["name"] for entity in ok(api.get("/entities", known_at=known_at))["items"]] == ["Zeus"]
    problem(api.get(f"/entities/{made['id']}", as_of="2001-01-01T00:00:00Z"), 404, "not-found")
    assert ok(api.get("/entities", as_of="2001-01-01T00:00:00Z"))["items"] == []


def test_a_history_of_an_entity_is_its_timeline(api: Api) -> None:
    api.write("Zeus is angry", valid_from="2020-01-01T00:00:00Z", entities=[{"name": "Zeus"}])
    api.post("/edges", {"source": "Zeus", "type": "loves", "target": "Hera", "observed_at": "2021-01-01T00:00:00Z"})
    items = ok(api.get("/entities/zeus/history"))["items"]
    assert [(item["kind"], item["event"], item["at"][:4]) for item in items] == [
        ("entity", "created", "2020"),
        ("memory", "version", "2020"),
        ("edge", "observed", "2021"),
    ]
    assert set(items[0]) == {"at", "recorded_at", "kind", "event", "id", "detail"}


def aspect(api: Api, **fields: Any) -> dict[str, Any]:
    api.post("/entities", {"name": "Alice"})
    made: dict[str, Any] = ok(api.post("/entities/Alice/aspects", {"name": "Diet", **fields}), 201)
    return made


@pytest.mark.row("S1")
def test_an_aspect_carries_attributes_and_constraints(api: Api) -> None:
    made = aspect(api, weight=0.7)
    ok(api.post(f"/aspects/{made['id']}/attributes", {"content": "likes tea"}), 201)
    ok(api.post(f"/aspects/{made['id']}/attributes", {"content": "no peanuts", "kind": "constraint"}), 201)
    (shown,) = ok(api.get("/entities/alice/aspects"))["items"]
    assert (shown["name"], shown["weight"]) == ("Diet", 0.7)
    assert [item["content"] for item in shown["attributes"]] == ["likes tea"]
    assert [item["content"] for item in shown["constraints"]] == ["no peanuts"]


def test_a_replaced_attribute_is_still_known_at_an_earlier_moment(api: Api) -> None:
    old = ok(api.post(f"/aspects/{aspect(api)['id']}/attributes", {"content": "vegetarian"}), 201)
    known_at = now()
    new = ok(api.client.patch(f"/attributes/{old['id']}", json={"content": "vegan"}))
    assert (new["content"], new["status"]) == ("vegan", "active")
    assert attributes(api) == ["vegan"]
    assert attributes(api, known_at=known_at) == ["vegetarian"]
    assert ok(api.client.patch(f"/attributes/{new['id']}", json={"status": "deleted"}))["status"] == "deleted"
    assert attributes(api) == ["vegetarian"]  # what it had replaced is as if it had never been


def attributes(api: Api, **moments: str) -> list[str]:
    items = ok(api.get("/entities/Alice/aspects", **moments))["items"]
    return [attribute["content"] for item in items for attribute in item["attributes"]]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": ""}, "content"),
        ({"content": "x" * 10_001}, "content"),
        ({"content": "x", "kind": "rule"}, "kind"),
        ({"content": "x", "importance": 2}, "importance"),
        ({"content": "x", "memory_id": "y"}, "memory_id"),
        ({"content": "x", "colour": 1}, "colour"),
        ({"content": "x", "valid_from": "2021-01-01T00:00:00Z", "valid_to": "2020-01-01T00:00:00Z"}, "valid_to"),
    ],
)
def test_a_wrong_attribute_is_refused_by_name(api: Api, body: dict[str, Any], field: str) -> None:
    errors = problem(api.post(f"/aspects/{aspect(api)['id']}/attributes", body), 422, "invalid-request")["errors"]
    assert [error["field"] for error in errors] == [field]


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"status": "gone"}, "status"), ({"content": None}, "body"), ({"valid_from": "2020-01-01"}, "valid_from")],
)
def test_a_wrong_change_of_an_attribute_is_refused_by_name(api: Api, changes: dict[str, Any], field: str) -> None:
    made = ok(api.post(f"/aspects/{aspect(api)['id']}/attributes", {"content": "x"}), 201)
    errors = problem(api.client.patch(f"/attributes/{made['id']}", json=changes), 422, "invalid-request")["errors"]
    assert len(errors) == 1
    assert field in errors[0]["field"] or field == "body"


def test_an_absent_thing_is_not_found(api: Api) -> None:
    problem(api.get("/entities/nobody/aspects"), 404, "not-found")
    problem(api.post("/entities/nobody/aspects", {"name": "x"}), 404, "not-found")
    problem(api.post(f"/aspects/{uuid4()}/attributes", {"content": "x"}), 404, "not-found")
    problem(api.client.patch(f"/attributes/{uuid4()}", json={}), 404, "not-found")
    made = aspect(api)
    missing = {"content": "x", "memory_id": str(uuid4())}
    problem(api.post(f"/aspects/{made['id']}/attributes", missing), 404, "not-found")


@pytest.mark.parametrize("ref", ["Zeus", "the thunderer", "a/b"])
def test_an_entity_is_changed_pinned_and_deleted_by_any_of_its_names(api: Api, ref: str) -> None:
    ok(api.post("/entities", {"name": "Zeus", "aliases": ["The Thunderer", "a/b"]}), 201)
    path = f"/entities/{quote(ref, safe='')}"
    assert ok(api.client.patch(path, json={"description": "angry"}))["description"] == "angry"
    assert ok(api.post(f"{path}/pin"))["pinned"]
    assert not ok(api.post(f"{path}/unpin"))["pinned"]
    assert ok(api.client.delete(path))["name"] == "Zeus"
    for reply in (api.client.patch(path, json={}), api.post(f"{path}/pin"), api.client.delete(path)):
        problem(reply, 404, "not-found")


def test_a_walk_of_no_step_is_the_entity_alone_and_one_name_needs_no_list(api: Api) -> None:
    ok(api.post("/edges", {"source": "Alice", "type": "knows", "target": "Bob"}), 201)
    alone = ok(api.post("/graph/traverse", {"start": "alice", "max_hops": 0}))
    assert ([entity["name"] for entity in alone["entities"]], alone["edges"], alone["reason"]) == (["Alice"], [], [])
    assert len(ok(api.post("/graph/traverse", {"start": "Alice"}))["edges"]) == 1
    problem(api.post("/graph/traverse", {"start": ""}), 422, "invalid-request")


def test_a_walk_from_nobody_names_the_nearest(api: Api) -> None:
    ok(api.post("/edges", {"source": "Alice Jones", "type": "knows", "target": "Bob"}), 201)
    body = problem(api.post("/graph/traverse", {"start": ["Alise Jones"]}), 404, "not-found")
    assert body["detail"] == "entity 'Alise Jones' does not exist; the nearest is 'Alice Jones'"
    assert "nearest" not in problem(api.post("/graph/traverse", {"start": ["Qqqq"]}), 404, "not-found")["detail"]


def test_confidence_has_six_digits(api: Api) -> None:
    old = "2026-11-01T07:00:00Z"
    edge = ok(api.post("/edges", {"source": "a", "type": "t", "target": "b", "confidence": 0.7, "observed_at": old}), 201)
    asked = {"as_of": "2026-11-20T07:00:00Z"}
    found = [
        ok(api.get("/edges", **asked))["items"][0],
        ok(api.get(f"/edges/{edge['id']}", **asked)),
        ok(api.post("/graph/traverse", {"start": "a", **asked}))["edges"][0],
        ok(api.post("/graph/context", {"text": "about aaa", **asked, "touch": False}))["edges"],
        ok(api.get("/knowledge/constellation", **asked))["edges"][0],
    ]
    assert [row["confidence"] for row in found if row] == [0.578871] * 4


def test_types_of_edges_are_listed_with_rates_and_counts(api: Api) -> None:
    for target, seen in (("b", "2020-01-01T00:00:00Z"), ("c", now())):
        ok(api.post("/edges", {"source": "a", "type": "uses", "target": target, "observed_at": seen}), 201)
    ok(api.client.put("/edge-types/knows", json={"decay_rate": 0.5, "single_valued": True}))
    rows = ok(api.get("/edge-types"))["items"]
    assert [(row["type"], row["decay_rate"], row["single_valued"], row["edges"], row["faded"]) for row in rows] == [
        ("knows", 0.5, True, 0, 0),
        ("uses", 0.01, False, 2, 1),
    ]
    first = ok(api.get("/edge-types", limit=1))
    assert [row["type"] for row in ok(api.get("/edge-types", limit=1, cursor=first["next_cursor"]))["items"]] == ["uses"]


def test_a_type_need_not_be_used_yet_whatever_is_asked_of_it(api: Api) -> None:
    assert ok(api.post("/edges/decay", {"type": "new"})) == {"edges": 0, "faded": 0, "revived": 0, "faded_now": 0}
    assert ok(api.client.put("/edge-types/new", json={"decay_rate": 1}))["decay_rate"] == 1
    assert problem(api.client.put("/edge-types/new", json={"existing": True}), 422, "invalid-request")


def test_a_type_of_entities_has_one_form_too(api: Api) -> None:
    made = ok(api.post("/entities", {"name": "Zeus", "type": "Greek God"}), 201)
    assert made["type"] == "greek_god"
    for said in ("greek_god", "Greek-God"):
        assert [row["name"] for row in ok(api.get("/entities", type=said))["items"]] == ["Zeus"]
    assert ok(api.client.patch("/entities/Zeus", json={"type": "Top God"}))["type"] == "top_god"


@pytest.mark.parametrize("said", ["Works On", "works-on", " WORKS  on_"])
def test_a_type_of_edges_has_one_form_however_it_is_written(api: Api, said: str) -> None:
    made = [ok(api.post("/edges", {"source": "a", "type": kind, "target": "b"}), 201) for kind in ("works_on", said)]
    assert (made[1]["type"], made[1]["id"]) == ("works_on", made[0]["id"])
    assert len(ok(api.get("/edges", type=said))["items"]) == 1
    assert len(ok(api.post("/graph/traverse", {"start": "a", "edge_types": [said]}))["edges"]) == 1
    path = f"/edge-types/{quote(said, safe='')}"
    assert ok(api.client.put(path, json={"decay_rate": 0}))["type"] == "works_on"
    assert ok(api.get(path))["decay_rate"] == 0
    ok(api.post("/edges/decay", {"type": said}))
    assert [row["type"] for row in ok(api.get("/edge-types"))["items"]] == ["works_on"]


def test_a_name_that_another_entity_has_is_refused_in_a_sentence(api: Api) -> None:
    for name in ("Ada", "Bob"):
        ok(api.post("/entities", {"name": name}), 201)
    body = problem(api.client.patch("/entities/Bob", json={"name": "ada"}), 409, "conflict")
    assert body["detail"] == "name: another entity has this name"


def names(reply: Any) -> list[str]:
    """Names of the entities of a reply."""
    return [entity["name"] for entity in ok(reply)["entities"]]


def ends(reply: Any, rows: str) -> list[tuple[str, str]]:
    """Sources and targets of the edges of a reply."""
    return [(edge["source"], edge["target"]) for edge in ok(reply)[rows]]


def contents(api: Api, entity: str) -> list[str]:
    """Contents of the memories that mention an entity."""
    return sorted(row["content"] for row in ok(api.get("/memories", entity=entity))["items"])


RENAMED: dict[str, tuple[Any, Any]] = {
    "it is asked for": (lambda api: ok(api.get("/entities/facebook"))["name"], "Meta"),
    "it is in a question": (lambda api: names(api.post("/recall", {"query": "What of Facebook?", "arms": ["graph"]})), ["Meta"]),
    "memories are recalled by it": (lambda api: api.found("What of Facebook?", arms=["graph"]), ["Ann likes it"]),
    "it filters a recall": (lambda api: api.found("Ann", filters={"entity": "Facebook"}), ["Ann likes it"]),
    "it filters memories": (lambda api: contents(api, "facebook"), ["Ann likes it"]),
    "it is in a text": (lambda api: names(api.post("/entities/match", {"text": "the Facebook app"})), ["Meta"]),
    "it is searched": (lambda api: names(api.post("/entities/search", {"query": "facebook", "mode": "name"})), ["Meta"]),
    "it is in a message": (lambda api: names(api.post("/graph/context", {"text": "the Facebook app"})), ["Meta"]),
    "it is walked from": (lambda api: ends(api.post("/graph/traverse", {"start": ["Facebook"]}), "edges"), [("Meta", "WhatsApp")]),
    "its edges are listed": (lambda api: ends(api.get("/edges", entity="Facebook"), "items"), [("Meta", "WhatsApp")]),
    "an edge is written": (lambda api: ok(api.post("/edges", {"source": "Facebook", "type": "t", "target": "x"}), 201)["source"], "Meta"),
    "a memory is written": (lambda api: [api.write("Bob, too", entities=[{"name": "Facebook"}])["content"], contents(api, "Meta")], ["Bob, too", ["Ann likes it", "Bob, too"]]),
    "its history is read": (lambda api: ok(api.get("/entities/Facebook/history"))["items"][-1]["detail"], {"name": "Meta", "aliases": ["Facebook"]}),
}  # fmt: skip


@pytest.mark.parametrize("when", RENAMED)
def test_the_old_name_of_a_renamed_entity_leads_to_it_wherever_names_are_taken(api: Api, when: str) -> None:
    api.write("Ann likes it", entities=[{"name": "Facebook"}])
    ok(api.post("/edges", {"source": "Facebook", "type": "owns", "target": "WhatsApp"}), 201)
    changed = ok(api.client.patch("/entities/Facebook", json={"name": "Meta"}))
    assert (changed["name"], changed["aliases"]) == ("Meta", ["Facebook"])
    ask, answer = RENAMED[when]
    assert ask(api) == answer


def test_an_old_name_leads_nowhere_once_aliases_are_stated_without_it(api: Api) -> None:
    ok(api.post("/entities", {"name": "Facebook"}), 201)
    assert ok(api.client.patch("/entities/Facebook", json={"name": "Meta", "aliases": ["M"]}))["aliases"] == ["M", "Facebook"]
    assert ok(api.client.patch("/entities/Facebook", json={"aliases": ["M"]}))["aliases"] == ["M"]
    problem(api.get("/entities/Facebook"), 404, "not-found")


def test_a_new_name_for_an_entity_with_a_hundred_aliases_is_refused_in_a_sentence(api: Api) -> None:
    ok(api.post("/entities", {"name": "full", "aliases": [f"alias {n}" for n in range(100)]}), 201)
    body = problem(api.client.patch("/entities/full", json={"name": "fuller"}), 422, "invalid-request")
    assert body["detail"] == "'fuller' would have 101 aliases, with its old name; an entity has at most 100"
    assert [error["field"] for error in body["errors"]] == ["name"]
    assert body["hint"] == "State fewer aliases in the same change."


def test_an_edge_is_corrected_and_the_operation_undone(api: Api) -> None:
    made = ok(api.post("/edges", {**EDGE, "confidence": 0.3}), 201)
    assert ok(api.post("/edges", EDGE), 201)["confidence"] == 0.3  # no session: it only counts
    body = {"confidence": 0.1, "strength": 0.9, "valid_from": "2020-01-01T00:00:00Z", "valid_to": None}
    changed = ok(api.client.patch(f"/edges/{made['id']}", json=body))
    assert (changed["confidence"], changed["strength"], changed["valid_from"][:4], changed["valid_to"]) == (0.1, 0.9, "2020", None)
    assert [e["corrects"] for e in ok(api.get(f"/edges/{made['id']}"))["evidence"]] == [True, False, False]
    operation = ok(api.get("/operations", limit=1))["items"][0]["id"]
    ok(api.post(f"/operations/{operation}/undo", {}))
    (edge,) = ok(api.get("/edges"))["items"]
    assert (edge["confidence"], edge["strength"], edge["valid_from"]) == (0.3, made["strength"], made["valid_from"])
    for wrong in (
        {},
        {"confidence": None},
        {"target": "x"},
        {"valid_to": "2019-01-01T00:00:00Z", "valid_from": "2020-01-01T00:00:00Z"},
    ):
        problem(api.client.patch(f"/edges/{edge['id']}", json=wrong), 422, "invalid-request")
    problem(api.client.patch(f"/edges/{uuid4()}", json={"confidence": 0.1}), 404, "not-found")


@pytest.mark.parametrize(
    ("faded", "targets"),
    [(None, ["b"]), ("without", ["b"]), ("with", ["b", "c"]), ("only", ["c"]), ("true", ["b", "c"]), ("false", ["b"])],
)
def test_a_list_of_edges_leaves_faded_ones_out_or_has_them_or_only_them(api: Api, faded: str | None, targets: list[str]) -> None:
    ok(api.post("/edges", {"source": "a", "type": "t", "target": "b"}), 201)
    ok(api.post("/edges", {"source": "a", "type": "t", "target": "c", "observed_at": "2010-01-01T00:00:00Z"}), 201)
    for asked in ({}, {"entity": "a"}, {"type": "t"}):
        items = ok(api.get("/edges", **asked, **({} if faded is None else {"faded": faded})))["items"]
        assert [edge["target"] for edge in items] == targets


def test_another_choice_of_faded_edges_is_refused_with_the_three(api: Api) -> None:
    body = problem(api.get("/edges", faded="some"), 422, "invalid-request")
    assert all(word in body["detail"] for word in ("without", "with", "only"))
