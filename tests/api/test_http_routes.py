"""What each route does when it is asked rightly, by the documented names of its fields."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from tests.services import Api, Service, ok, problem, serve

MEMORY = {
    "content": "Alice lives in Oslo.",
    "lineage": "alice-city",
    "category": "people/alice",
    "tags": ["home"],
    "layer": 1,
    "importance": 0.7,
    "confidence": 0.6,
    "metadata": {"a": [1, None]},
    "source": "Bob",
    "session_id": "s1",
    "valid_from": "2020-01-01T00:00:00Z",
    "valid_to": "2030-01-01T00:00:00Z",
}
HISTORY_FIELDS = {"version", "content", "valid_from", "valid_to", "recorded_at", "superseded_at"}


# Memories


@pytest.mark.row("M1")
@pytest.mark.parametrize("field", MEMORY)
def test_a_written_memory_is_read_back_as_it_was_written(api: Api, field: str) -> None:
    written = ok(api.post("/memories", MEMORY), 201)
    assert written[field] == MEMORY[field]
    assert ok(api.get(f"/memories/{written['id']}"))[field] == MEMORY[field]


@pytest.mark.row("M4")
def test_a_write_says_what_became_of_it(api: Api) -> None:
    first = api.write("Oslo", lineage="city")
    assert (first["version"], first["superseded"], first["duplicate"]) == (1, None, False)
    second = api.write("Paris", lineage="city")
    assert (second["version"], second["superseded"], second["duplicate"]) == (2, first["id"], False)
    third = api.write("Paris", lineage="city")
    assert (third["id"], third["superseded"], third["duplicate"]) == (second["id"], None, True)


@pytest.mark.row("M4")
def test_a_write_of_what_is_known_reinforces_updates_or_is_refused(api: Api) -> None:
    first = api.write("x", tags=["a"])
    assert (first["ignored"], first["cut_short"]) == (None, None)
    again = ok(api.post("/memories", {"content": "x", "tags": ["b"]}), 201)
    assert (again["id"], again["tags"], again["ignored"]) == (first["id"], ["a"], ["tags"])
    updated = ok(api.post("/memories", {"content": "x", "tags": ["b"], "on_duplicate": "update"}), 201)
    assert (updated["id"], updated["tags"], updated["ignored"], updated["observations"]) == (first["id"], ["b"], [], 3)
    refused = problem(api.post("/memories", {"content": "x", "on_duplicate": "refuse"}), 409, "conflict")
    assert first["id"] in refused["detail"]
    batch = [{"content": "x", "tags": ["c"]}, {"content": "x", "on_duplicate": "refuse"}, {"content": "y"}]
    results = ok(api.post("/memories/batch", {"items": batch}))["items"]
    assert (results[0]["ignored"], results[1]["problem"]["status"], results[2]["duplicate"]) == (["tags"], 409, False)
    wrong = problem(api.post("/memories", {"content": "x", "on_duplicate": "merge"}), 422, "invalid-request")
    assert wrong["errors"][0]["field"] == "on_duplicate"


@pytest.mark.row("M2")
def test_a_stated_span_ends_where_the_next_version_begins_and_the_reply_says_so(api: Api) -> None:
    month = "2024-0{}-01T00:00:00Z".format
    api.write("A", lineage="l", valid_from=month(1))
    b = api.write("B", lineage="l", valid_from=month(5))
    api.write("C", lineage="l", valid_from=month(7))
    across = {"lineage": "l", "valid_from": month(3), "valid_to": month(9)}
    written = api.write("X", **across)
    (result,) = ok(api.post("/memories/batch", {"items": [{"content": "Y", **across}]}))["items"]
    assert (written["valid_to"], written["cut_short"]) == (month(5), result["cut_short"])
    assert (result["cut_short"]["stated"][:10], result["cut_short"]["kept"][:10]) == ("2024-09-01", "2024-05-01")
    assert result["cut_short"]["by"] == b["id"]
    inside = api.write("Z", lineage="l", valid_from=month(3), valid_to=month(4))
    assert (inside["valid_to"], inside["cut_short"]) == (month(4), None)


@pytest.mark.parametrize("offset", ["+02:00", "-11:30", "Z", ""])
def test_times_keep_their_moment_whatever_their_zone_and_are_in_utc_without_one(api: Api, offset: str) -> None:
    written = api.write("x", valid_from=f"2020-06-01T12:00:00{offset}")
    assert written["valid_from"].endswith("Z")
    assert datetime.fromisoformat(written["valid_from"]) == datetime.fromisoformat(f"2020-06-01T12:00:00{offset or 'Z'}")


@pytest.mark.parametrize(
    "path", ["/memories/{id}/history", "/memories/city/history", "/entities/city/history", "/entities/{id}/history"]
)
def test_a_history_lists_every_version_oldest_first(api: Api, path: str) -> None:
    api.write("Oslo", lineage="city")
    last = api.write("Paris", lineage="city")
    items = ok(api.get(path.format(id=last["id"])))["items"]
    assert [(item["version"], item["content"]) for item in items] == [(1, "Oslo"), (2, "Paris")]
    assert set(items[0]) >= HISTORY_FIELDS
    assert items[0]["valid_to"] == items[1]["valid_from"]


@pytest.mark.parametrize("path", ["/memories/nothing/history", "/entities/nothing/history"])
def test_a_history_of_nothing_is_not_found(api: Api, path: str) -> None:
    problem(api.get(path), 404, "not-found")


def test_a_listing_shows_what_is_current_newest_first(api: Api) -> None:
    api.write("a")
    api.write("Oslo", lineage="city")
    api.write("Paris", lineage="city")
    assert [item["content"] for item in ok(api.get("/memories"))["items"]] == ["Paris", "a"]
    assert len(ok(api.get("/memories", all_versions=True))["items"]) == 3


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"category": "people"}, ["b", "a"]),
    ({"category": "people/alice"}, ["a"]),
    ({"tag": ["x", "y"]}, ["c", "a"]),
    ({"layer": [3]}, ["c"]),
    ({"session_id": "s"}, ["b"]),
    ({"source": "Bob"}, ["b"]),
    ({"entity": "Zeus"}, ["c"]),
    ({"as_of": "2020-01-01T00:00:00Z"}, ["a"]),
    ({"known_at": "2020-01-01T00:00:00Z"}, []),
]


@pytest.mark.parametrize(("params", "found"), FILTERS, ids=str)
def test_a_listing_is_filtered(api: Api, params: dict[str, Any], found: list[str]) -> None:
    api.write("a", category="people/alice", tags=["x"], valid_from="2019-01-01T00:00:00Z")
    api.write("b", category="people/bob", session_id="s", source="Bob")
    api.write("c", tags=["y"], layer=3, entities=[{"name": "Zeus"}])
    assert [item["content"] for item in ok(api.get("/memories", **params))["items"]] == found


def test_a_memory_changes_what_is_said_about_it(api: Api) -> None:
    written = api.write("x")
    changes = {"category": "a/b", "tags": ["t"], "layer": 0, "importance": 0.1, "confidence": 0.2, "metadata": {"k": 1}}
    changed = ok(api.client.patch(f"/memories/{written['id']}", json=changes))
    assert {key: changed[key] for key in changes} == changes
    assert changed["version"] == 1


def test_a_forgotten_memory_is_not_found_until_it_is_restored(api: Api) -> None:
    written = api.write("purple elephants")
    for before in (False, True):
        forgotten = ok(api.client.delete(f"/memories/{written['id']}"))
        assert (forgotten["status"], forgotten["already_forgotten"]) == ("forgotten", before)
    assert api.found("purple elephants") == []
    assert ok(api.get(f"/memories/{written['id']}"))["status"] == "forgotten"
    assert ok(api.post(f"/memories/{written['id']}/restore"))["status"] == "active"
    assert api.found("purple elephants") == ["purple elephants"]


def test_a_forgotten_version_whose_place_is_taken_is_a_conflict(api: Api) -> None:
    old = api.write("Oslo", lineage="city", valid_from="2024-01-01T00:00:00Z")
    api.client.delete(f"/memories/{old['id']}")
    api.write("Paris", lineage="city", valid_from="2023-01-01T00:00:00Z")
    body = problem(api.post(f"/memories/{old['id']}/restore"), 409, "conflict")
    assert [error["field"] for error in body["errors"]] == ["id"]
    assert "another version of this lineage is" in body["detail"]


def test_the_hierarchy_is_read_in_both_directions(api: Api) -> None:
    top = api.write("top")["id"]
    leaf = api.write("leaf", parent_id=api.write("middle", parent_id=top)["id"])["id"]
    down, up = ok(api.get(f"/memories/{top}/subtree")), ok(api.get(f"/memories/{leaf}/ancestors"))
    assert [(item["depth"], item["content"]) for item in down["items"]] == [(1, "middle"), (2, "leaf")]
    assert [(item["depth"], item["content"]) for item in up["items"]] == [(1, "middle"), (2, "top")]


def test_memories_are_linked(api: Api) -> None:
    a, b = api.write("a")["id"], api.write("b")["id"]
    made = ok(api.post(f"/memories/{a}/links", {"target_id": b, "type": "supports", "strength": 0.9}), 201)
    assert (made["source_id"], made["target_id"], made["type"], made["strength"]) == (a, b, "supports", 0.9)
    assert ok(api.get(f"/memories/{b}/links"))["items"] == [made]


@pytest.mark.parametrize(("target", "status", "slug"), [("itself", 422, "invalid-request"), ("nothing", 404, "not-found")])
def test_a_link_that_leads_nowhere_is_refused(api: Api, target: str, status: int, slug: str) -> None:
    a = api.write("a")["id"]
    body = problem(api.post(f"/memories/{a}/links", {"target_id": a if target == "itself" else str(uuid4())}), status, slug)
    assert body["errors"][0]["field"] == "target_id"


@pytest.mark.row("M7")
def test_categories_are_a_tree_with_counts(api: Api) -> None:
    api.write("x", category="a/b")
    api.write("y", category="a")
    assert ok(api.get("/categories"))["items"] == [
        {"category": "a", "memories": 1, "total": 2},
        {"category": "a/b", "memories": 1, "total": 1},
    ]
    assert [row["category"] for row in ok(api.get("/categories", under="a/b"))["items"]] == ["a/b"]


def test_a_page_is_stable_while_memories_are_added(api: Api) -> None:
    ok(api.post("/memories/batch", {"items": [{"content": f"m{n}"} for n in range(4)]}))
    first = ok(api.get("/memories", limit=2))
    api.write("newer")
    second = ok(api.get("/memories", limit=2, cursor=first["next_cursor"]))
    assert [item["content"] for item in first["items"] + second["items"]] == ["m3", "m2", "m1", "m0"]


# Recall: see test_recall.py for its arms: see test_recall.py. Words alone:


@pytest.mark.parametrize("path", ["/recall", "/memory/recall"])
def test_recall_answers_with_the_documented_fields(api: Api, path: str) -> None:
    api.write("Alice lives in Oslo.", lineage="city")
    answer = ok(api.post(path, {"query": "Where does Alice live?"}))
    assert set(answer) >= {"results", "constraints", "entities", "took_ms"}
    assert set(answer["results"][0]) >= {
        "id",
        "lineage",
        "content",
        "category",
        "tags",
        "metadata",
        "source",
        "valid_from",
        "score",
    }


def test_a_search_by_words_is_a_get(api: Api) -> None:
    api.write("Alice lives in Oslo.")
    api.write("Bob plays chess.")
    assert [row["content"] for row in ok(api.get("/memory/search", q="oslo"))["results"]] == ["Alice lives in Oslo."]


# Namespaces


def test_a_namespace_shows_its_settings_and_sizes(api: Api) -> None:
    api.write("x", entities=[{"name": "Zeus"}], edges=[{"source": "Zeus", "type": "likes", "target": "Hera"}])
    row = ok(api.get(f"/namespaces/{api.namespace}"))
    assert (row["name"], row["memories"], row["entities"], row["edges"]) == (api.namespace, 1, 2, 1)
    assert {"rrf_k", "weights", "decay_rate"} <= set(row["settings"])
    assert isinstance(row["pending_embeddings"], int)


@pytest.mark.row("G13")
def test_settings_are_merged_and_null_takes_one_back(api: Api) -> None:
    path = f"/namespaces/{api.namespace}"
    standard = ok(api.get(path))["settings"]
    changed = ok(api.client.patch(path, json={"description": "mine", "settings": {"rrf_k": 60, "weights": {"graph": 0}}}))
    assert (changed["description"], changed["settings"]["rrf_k"], changed["settings"]["weights"]["graph"]) == (
        "mine",
        60,
        0,
    )
    assert changed["settings"]["weights"]["lexical"] == standard["weights"]["lexical"]
    assert ok(api.client.patch(path, json={"settings": {"rrf_k": None, "weights": None}}))["settings"] == standard


def test_a_name_is_taken_once(api: Api) -> None:
    body = problem(api.post("/namespaces", {"name": api.namespace}), 409, "conflict")
    assert body["errors"][0]["field"] == "name"


def test_a_deleted_namespace_leaves_no_row_anywhere(api: Api) -> None:
    top = api.write(
        "apple", lineage="l", entities=[{"name": "Zeus"}], edges=[{"source": "Zeus", "type": "likes", "target": "Hera"}]
    )
    api.write("pear", lineage="l", parent_id=api.write("root")["id"])
    api.post(f"/memories/{top['id']}/links", {"target_id": api.write("other")["id"]})
    api.post("/memories", {"content": "kept"}, headers={"Idempotency-Key": "k"})
    api.post("/keys", {"role": "reader"})
    with api.service.database.admin() as admin:
        number = admin.execute("select id from loci_data.namespaces where name = %s", [api.namespace]).fetchone()
        assert number is not None
        assert api.client.delete(f"/namespaces/{api.namespace}").status_code == 204
        tables = admin.execute(
            """select c.oid::regclass::text from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'namespace_id'
               where c.relnamespace = 'loci_data'::regnamespace and c.relkind in ('r', 'p')"""
        ).fetchall()
        left = [
            name for (name,) in tables if admin.execute(f"select from {name} where namespace_id = {number[0]} limit 1").fetchone()
        ]
    assert left == []
    problem(api.get("/memories"), 404, "not-found")


# The graph


@pytest.mark.row("G1")
def test_an_entity_is_written_read_changed_and_pinned(api: Api) -> None:
    made = ok(
        api.post(
            "/entities",
            {"name": "Azure DevOps", "type": "tool", "aliases": ["ADO"], "description": "a tool", "metadata": {"k": 1}},
        ),
        201,
    )
    assert (made["name"], made["type"], made["aliases"], made["created"]) == ("Azure DevOps", "tool", ["ADO"], True)
    shown = [ok(api.get(f"/entities/{ref}")) for ref in (made["id"], "azure  devops", "ado")]
    assert {row["id"] for row in shown} == {made["id"]}
    assert ok(api.client.patch(f"/entities/{made['id']}", json={"description": "another"}))["description"] == "another"
    assert ok(api.post(f"/entities/{made['id']}/pin"))["pinned"] is True
    assert ok(api.post(f"/entities/{made['id']}/unpin"))["pinned"] is False


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("extracted", "person", "person"),
        ("person", "extracted", "person"),
        ("unknown", "extracted", "extracted"),
        ("person", "tool", "person"),
    ],
)
def test_a_vaguer_type_gives_way_and_never_the_reverse(api: Api, first: str, second: str, kept: str) -> None:
    api.post("/entities", {"name": "Zeus", "type": first})
    again = ok(api.post("/entities", {"name": " ZEUS ", "type": second}), 201)
    assert (again["type"], again["created"]) == (kept, False)


def test_pages_of_entities_visit_each_once_pinned_first(api: Api) -> None:
    ids = [ok(api.post("/entities", {"name": f"entity {n}"}), 201)["id"] for n in range(5)]
    api.post(f"/entities/{ids[3]}/pin")
    seen, cursor = [], None
    while True:
        page = ok(api.get("/entities", limit=2, **({"cursor": cursor} if cursor else {})))
        seen += [item["id"] for item in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen[0] == ids[3]
    assert sorted(seen) == sorted(ids)


MATCHES = [
    ("Alice met Bob", ["Alice"]),
    ("the Malice of men", []),
    ("ALICE!", ["Alice"]),
    ("we use azure devops daily", ["Azure DevOps"]),
    ("azure and devops", []),
    ("written in C++, mostly", ["C++"]),
    ("Ali", []),
    ("(alice)", ["Alice"]),
    ("", []),
]


@pytest.mark.row("G5")
@pytest.mark.parametrize(("text", "found"), MATCHES)
def test_known_entities_are_found_in_a_text_as_whole_words(api: Api, text: str, found: list[str]) -> None:
    assert [api.post("/entities", {"name": name}).status_code for name in ("Alice", "Azure DevOps", "C++", "Al")] == [201] * 4
    response = api.post("/entities/match", {"text": text})
    if not text:
        problem(response, 422, "invalid-request")
    else:
        assert [row["name"] for row in ok(response)["entities"]] == found


@pytest.mark.row("G6")
def test_touched_entities_know_when_they_were_referenced(api: Api) -> None:
    made = ok(api.post("/entities", {"name": "Zeus"}), 201)
    assert made["last_referenced_at"] is None
    assert ok(api.post("/entities/touch", {"ids": [made["id"], str(uuid4())]})) == {"touched": 1}
    assert ok(api.get(f"/entities/{made['id']}"))["last_referenced_at"] is not None


def test_an_edge_is_observed_listed_and_taken_back(api: Api) -> None:
    made = ok(api.post("/edges", {"source": "Alice", "type": "works_on", "target": "Loci", "confidence": 0.9}), 201)
    assert (made["source"], made["type"], made["target"], made["created"]) == ("Alice", "works_on", "Loci", True)
    (listed,) = ok(api.get("/edges"))["items"]
    assert (listed["id"], listed["source"], listed["target"]) == (made["id"], "Alice", "Loci")
    assert listed["confidence"] == pytest.approx(0.9, abs=1e-3)
    ok(api.client.delete(f"/edges/{made['id']}"))
    assert ok(api.get("/edges"))["items"] == []
    problem(api.client.delete(f"/edges/{uuid4()}"), 404, "not-found")


@pytest.mark.row("G9")
@pytest.mark.parametrize(("sessions", "confidence"), [(["a", "b"], 1.0), (["a", "a"], 0.5)])
def test_a_new_conversation_restores_confidence_and_the_same_one_only_counts(
    api: Api, sessions: list[str], confidence: float
) -> None:
    assert [
        api.post("/edges", {"source": "a", "type": "t", "target": "b", "confidence": 0.5, "session_id": s}).status_code
        for s in sessions
    ] == [201, 201]
    (edge,) = ok(api.get("/edges"))["items"]
    assert edge["confidence"] == pytest.approx(confidence, abs=1e-3)
    assert edge["observations"] == 2


def test_confidence_decays_and_a_faded_edge_is_left_out_but_shown_when_asked_for(api: Api) -> None:
    then = (datetime.now(UTC) - timedelta(days=100)).isoformat()
    long_ago = (datetime.now(UTC) - timedelta(days=300)).isoformat()
    api.post("/edges", {"source": "a", "type": "t", "target": "b", "observed_at": then})
    api.post("/edges", {"source": "a", "type": "t", "target": "c", "observed_at": long_ago})
    (alive,) = ok(api.get("/edges"))["items"]
    shown = ok(api.get("/edges", faded=True))["items"]
    assert [(edge["target"], edge["faded"]) for edge in shown] == [("b", False), ("c", True)]
    assert alive["confidence"] == pytest.approx(0.3679, abs=1e-3)
    assert [edge["target"] for edge in ok(api.post("/graph/traverse", {"start": ["a"]}))["edges"]] == ["b"]
    assert len(ok(api.post("/graph/traverse", {"start": ["a"], "min_confidence": 0}))["edges"]) == 2


def test_a_change_of_a_types_rate_says_how_many_edges_faded_and_came_back(api: Api) -> None:
    then = (datetime.now(UTC) - timedelta(days=10)).isoformat()
    api.post("/edges", {"source": "a", "type": "t", "target": "b", "observed_at": then})
    fast = ok(api.client.put("/edge-types/t", json={"decay_rate": 1.0}))
    assert (fast["decay_rate"], fast["faded"]) == (1.0, 1)
    assert ok(api.get("/edges"))["items"] == []
    assert ok(api.client.put("/edge-types/t", json={"decay_rate": None}))["revived"] == 1
    assert ok(api.get("/edge-types/t"))["type"] == "t"


def test_a_batch_of_edges_is_all_or_nothing(api: Api) -> None:
    rows = ok(
        api.post(
            "/edges/batch",
            {
                "items": [{"source": "a", "type": "t", "target": f"b{n}"} for n in range(3)]
                + [{"source": "a", "type": "t", "literal": "42"}]
            },
        )
    )
    assert [row.get("target", row.get("literal")) for row in rows["items"]] == ["b0", "b1", "b2", "42"]
    before = api.size()
    problem(
        api.post(
            "/edges/batch",
            {
                "items": [
                    {"source": "a", "type": "t", "target": "x"},
                    {"source": "a", "type": "t", "target": str(uuid4())},
                ]
            },
        ),
        404,
        "not-found",
    )
    assert api.size() == before


def test_a_walk_goes_breadth_first_and_says_hop_names_and_ids(api: Api) -> None:
    api.post(
        "/edges/batch",
        {
            "items": [
                {"source": "Alice", "type": "works_on", "target": "Loci"},
                {"source": "Loci", "type": "uses", "target": "Postgres"},
                {"source": "Postgres", "type": "made_by", "target": "People"},
                {"source": "Alice", "type": "age", "literal": "42"},
            ]
        },
    )
    walk = ok(api.post("/graph/traverse", {"start": ["alice"], "paths": True}))
    assert {(e["source"], e["type"], e["target"] or e["literal"], e["hop"]) for e in walk["edges"]} == {
        ("Alice", "works_on", "Loci", 1),
        ("Alice", "age", "42", 1),
        ("Loci", "uses", "Postgres", 2),
    }
    assert [e["hop"] for e in walk["edges"]] == [1, 1, 2]
    assert set(walk["edges"][0]) >= {"id", "source_id", "target_id", "confidence", "path"}
    assert (walk["truncated"], walk["reason"]) == (False, [])
    assert {e["name"] for e in walk["entities"]} == {"Alice", "Loci", "Postgres"}


WALKS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["b", "c", "z"]),
    ({"direction": "out"}, ["b", "c"]),
    ({"direction": "in"}, ["z"]),
    ({"max_hops": 1}, ["b", "z"]),
    ({"edge_types": ["t"]}, ["b"]),
    ({"min_strength": 0.6}, ["b"]),
    ({"min_confidence": 0.6}, ["b", "c"]),
    ({"max_hops": 20}, ["b", "c", "z"]),
]


@pytest.mark.row("G7")
@pytest.mark.parametrize(("options", "reached"), WALKS, ids=str)
def test_a_walk_keeps_to_its_bounds(api: Api, options: dict[str, Any], reached: list[str]) -> None:
    api.post(
        "/edges/batch",
        {
            "items": [
                {"source": "a", "type": "t", "target": "b", "strength": 0.9},
                {"source": "b", "type": "u", "target": "c"},
                {"source": "z", "type": "u", "target": "a", "confidence": 0.5},
                {"source": "c", "type": "u", "target": "a"},
            ][:3]
        },
    )
    walk = ok(api.post("/graph/traverse", {"start": ["a"], **options}))
    assert sorted({name for e in walk["edges"] for name in (e["source"], e["target"])} - {"a"}) == reached


@pytest.mark.row("G7")
def test_a_walk_through_a_cycle_returns_each_edge_once(api: Api) -> None:
    api.post("/edges/batch", {"items": [{"source": a, "type": "t", "target": b} for a, b in ("ab", "bc", "ca", "aa")]})
    walk = ok(api.post("/graph/traverse", {"start": ["a"], "max_hops": 10}))
    assert sorted(e["source"] + e["target"] for e in walk["edges"]) == ["aa", "ab", "bc", "ca"]


@pytest.mark.row("G7")
def test_a_walk_that_is_cut_short_says_why(api: Api) -> None:
    api.post("/edges/batch", {"items": [{"source": "hub", "type": "t", "target": f"n{n}"} for n in range(20)]})
    walk = ok(api.post("/graph/traverse", {"start": ["hub"], "limit": 5}))
    assert (len(walk["edges"]), walk["truncated"]) == (5, True)
    assert "limit" in walk["reason"]


def test_a_walk_from_nothing_is_not_found(api: Api) -> None:
    problem(api.post("/graph/traverse", {"start": ["nobody"]}), 404, "not-found")


def test_a_memory_brings_its_entities_and_edges_along(api: Api) -> None:
    written = api.write(
        "Alice works on Loci.",
        entities=[{"name": "Alice", "type": "person"}],
        edges=[{"source": "Alice", "type": "works_on", "target": "Loci"}],
    )
    assert ok(api.get("/entities/alice"))["mentions"] == 1
    assert [e["type"] for e in ok(api.get("/edges"))["items"]] == ["works_on"]
    assert [m["id"] for m in ok(api.get("/memories", entity="Loci"))["items"]] == [written["id"]]


# Health and documents


def test_the_process_says_that_it_lives(api: Api) -> None:
    assert ok(api.client.get("http://loci/healthz")) == {"status": "ok"}


def test_the_service_is_ready_when_role_schema_and_indexes_are(api: Api) -> None:
    body = ok(api.client.get("http://loci/readyz"))
    assert body["status"] == "ready"
    assert {(check["name"], check["ok"]) for check in body["checks"]} == {
        ("role", True),
        ("migrations", True),
        ("indexes", True),
        ("background", True),
    }


def test_the_service_is_not_ready_over_another_revision(start_service: Any) -> None:
    service = start_service()
    with service.database.admin() as admin, service.client() as client:
        admin.execute("update public.loci_version set version_num = '0000'")
        response = client.get("http://loci/readyz")
    assert response.status_code == 503
    assert [check["name"] for check in response.json()["checks"] if not check["ok"]] == ["migrations"]


@pytest.mark.parametrize("metric", ["loci_requests_total", "loci_request_seconds_bucket", "loci_pool_connections"])
def test_metrics_count_requests_by_route(api: Api, metric: str) -> None:
    api.get("/memories")
    text = api.client.get("http://loci/metrics").text
    assert metric in text
    assert '/memories"' in text


@pytest.fixture(scope="module")
def listed(service: Service) -> dict[str, Any]:
    """Routes that the document of the service lists."""
    with service.client() as client:
        return dict(ok(client.get("http://loci/openapi.json"))["paths"])


@pytest.mark.row("REST")
def test_the_document_lists_every_route_with_its_problems(listed: dict[str, Any]) -> None:
    documented = {(path, method): operation for path, operations in listed.items() for method, operation in operations.items()}
    of_the_api = {key: operation for key, operation in documented.items() if key[0].startswith("/api/v1")}
    assert len(of_the_api) > 30
    wanting = [
        key
        for key, operation in of_the_api.items()
        if not {"401", "403", "422", "503"} <= set(operation["responses"])
        or "application/problem+json" not in operation["responses"]["403"]["content"]
        or not operation.get("description", operation.get("summary"))
    ]
    assert wanting == []


@pytest.mark.parametrize(
    "path",
    [
        "/namespaces",
        "/namespaces/{name}",
        "/keys",
        "/keys/{id}",
        "/memories",
        "/memories/batch",
        "/memories/{id}",
        "/memories/{id}/history",
        "/memories/{id}/subtree",
        "/memories/{id}/ancestors",
        "/memories/{id}/links",
        "/memories/{id}/restore",
        "/categories",
        "/recall",
        "/memory/search",
        "/entities",
        "/entities/{ref}/pin",
        "/entities/{ref}/unpin",
        "/entities/match",
        "/entities/touch",
        "/entities/{ref}/history",
        "/entities/{ref}/aspects",
        "/aspects/{id}/attributes",
        "/attributes/{id}",
        "/edges",
        "/edges/batch",
        "/edges/decay",
        "/edges/{id}",
        "/edge-types/{type}",
        "/graph/traverse",
        "/working-memory",
        "/working-memory/search",
        "/working-memory/{key}",
        "/conversations/{session}/turns",
    ],
)
def test_a_promised_route_is_there(listed: dict[str, Any], path: str) -> None:
    assert f"/api/v1{path}" in listed


@pytest.mark.row("X1")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_service_refuses_a_role_that_bypasses_row_level_security(service_database: Any) -> None:
    with pytest.raises(RuntimeError), serve(replace(service_database, app_url=service_database.admin_url)):
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_service_refuses_to_listen_to_others_without_keys(server: Any) -> None:
    database = server.clone("open")
    with pytest.raises(RuntimeError), serve(database, host="0.0.0.0"):
        pass
    server.drop(database)


def test_the_databases_role_is_the_restricted_one(service_database: Any) -> None:
    with psycopg.connect(service_database.app_url) as connection:
        row = connection.execute("select session_user").fetchone()
    assert row == ("loci_app",)


@pytest.mark.parametrize("category", [" ", "a/ /b", "a/\t", " /a"])
def test_a_category_with_a_blank_segment_is_refused_wherever_it_is_stated(api: Api, category: str) -> None:
    for body in ({"content": "x", "category": category}, {"content": "x", "corrects": None, "category": category}):
        assert "category" in problem(api.post("/memories", body), 422, "invalid-request")["detail"]
    kept = api.write("tea", category="a b/c")
    problem(api.client.patch(f"/memories/{kept['id']}", json={"category": category}), 422, "invalid-request")
    with pytest.raises(psycopg.errors.CheckViolation), api.service.database.admin() as admin:
        admin.execute("update loci_data.memories set category = %s where id = %s", [category, kept["id"]])


@pytest.mark.parametrize("key", [" ", "agent/x/ ", "agent/ /x"])
def test_a_key_of_working_memory_with_a_blank_segment_is_refused(api: Api, key: str) -> None:
    body = problem(api.client.put(f"/working-memory/{quote(key)}", json={"value": 1}), 422, "invalid-request")
    assert "blank" in body["detail"]
