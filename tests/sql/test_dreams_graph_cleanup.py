"""What a pass may remove from the graph, guard by guard: each is asked of the rows, whatever a model has said."""

from datetime import timedelta
from typing import Any

import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, new_world
from tests.sql.test_graph_merge import aspect, entities, get, merge, names, triples
from tests.sql.undoing import observe, operation, state, undo


def configure(world: World, **settings: Any) -> None:
    world.connection.execute("select loci_api.update_namespace(%s, %s)", [world.name, Jsonb({"settings": settings})])


def plan(world: World, *going: str, edges: Any = (), reason: str = "low_confidence") -> Row:
    """A plan that takes entities and edges away as they are now; edges by source and type."""
    rows = world.rows(
        "select e.id, s.name as source, e.type, e.updated_at from loci_data.edges e join loci_data.entities s on s.namespace_id = e.namespace_id"
        " and s.id = e.source_id where e.namespace_id = %(ns_id)s and e.superseded_at is null"
    )
    return {
        "entities": [{"id": str(get(world, name)["id"]), "seen": get(world, name)["updated_at"].isoformat()} for name in going],
        "edges": [
            {"id": str(row["id"]), "reason": reason, "seen": row["updated_at"].isoformat()}
            for row in rows
            if (row["source"], row["type"]) in edges
        ],
    }


def clean(world: World, made: Row) -> list[tuple[str, str | None]]:
    """Apply a plan: (kind, guard) of each row."""
    rows = world.rows("select * from loci_api.apply_graph_cleanup(%(ns)s, %(plan)s)", plan=Jsonb(made))
    return [(row["kind"], row["guard"]) for row in rows]


@pytest.fixture
def graph(world: World) -> World:
    """A graph in which everything is old enough, and a pass may remove whatever the other guards let go."""
    configure(world, dream_entity_days=0, dream_removed_share=1)
    entities(world, {"name": "Gadget", "type": "tool"}, {"name": "Widget", "type": "tool"}, {"name": "Alice", "type": "person"})
    observe(world, {"source": "Gadget", "type": "near", "target": "Widget", "confidence": 0.4, "observed_at": day(1)})
    return world


def test_an_entity_goes_with_the_edges_that_go_before_it(graph: World) -> None:
    assert clean(graph, plan(graph, "Gadget", edges=[("Gadget", "near")])) == [("edge", None), ("entity", None)]
    assert names(graph) == ["Alice", "Widget"]
    assert triples(graph) == []


def test_history_keeps_what_a_pass_removed(graph: World) -> None:
    known = graph.now()
    clean(graph, plan(graph, "Gadget", edges=[("Gadget", "near")]))
    assert names(graph, known) == ["Alice", "Gadget", "Widget"]
    assert triples(graph, known) == [("Gadget", "near", "Widget", 1)]


def test_undoing_a_cleanup_brings_entities_and_edges_back(graph: World) -> None:
    before = state(graph)
    _, made = operation(graph, lambda: clean(graph, plan(graph, "Gadget", "Widget", edges=[("Gadget", "near")])))
    assert names(graph) == ["Alice"]
    undo(graph, made)
    assert state(graph) == before


# Guards of entities


@pytest.mark.row("L5")
def test_people_stay(graph: World) -> None:
    assert clean(graph, plan(graph, "Alice")) == [("entity", "person")]


def test_a_pinned_entity_stays(graph: World) -> None:
    entities(graph, {"name": "Lonely", "type": "tool"})
    graph.row("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=get(graph, "Lonely")["id"])
    assert clean(graph, plan(graph, "Lonely")) == [("entity", "pinned")]


@pytest.mark.row("L5")
def test_an_entity_that_was_ever_referenced_stays(graph: World) -> None:
    (lonely,) = entities(graph, {"name": "Lonely", "type": "tool"})
    graph.value("select loci_api.touch_entities(%(ns)s, %(ids)s)", ids=[lonely])
    assert clean(graph, plan(graph, "Lonely")) == [("entity", "referenced")]


def test_an_entity_that_a_current_memory_mentions_stays(graph: World) -> None:
    graph.write("Lonely is a tool", entities=[{"name": "Lonely", "type": "tool"}])
    assert clean(graph, plan(graph, "Lonely")) == [("entity", "mentioned")]


def test_entities_of_forgotten_memories_stay_for_when_they_come_back(graph: World) -> None:
    made = graph.write("Lonely is a tool", entities=[{"name": "Lonely", "type": "tool"}])
    going = plan(graph, "Lonely")
    graph.forget(made["id"])
    assert "Lonely" not in [row["name"] for row in graph.rows("select name from loci_api.stale_entities(%(ns)s, 100)")]
    assert clean(graph, going) == [("entity", "gone")]
    graph.forget(made["id"], False)
    assert get(graph, "Lonely")["mentions"] == 1


def test_an_entity_with_facts_stays(graph: World) -> None:
    entities(graph, {"name": "Lonely", "type": "tool"})
    aspect(graph, "Lonely", "Use", "cuts wood")
    assert clean(graph, plan(graph, "Lonely")) == [("entity", "mentioned")]


def test_a_young_entity_stays(graph: World) -> None:
    entities(graph, {"name": "Lonely", "type": "tool"})
    configure(graph, dream_entity_days=30)
    assert clean(graph, plan(graph, "Lonely")) == [("entity", "young")]


def test_an_entity_with_an_edge_left_stays(graph: World) -> None:
    assert clean(graph, plan(graph, "Widget")) == [("entity", "connected")]
    assert clean(graph, plan(graph, "Gadget")) == [("entity", "connected")]


def test_an_entity_that_changed_since_it_was_shown_stays(graph: World) -> None:
    entities(graph, {"name": "Lonely", "type": "tool"})
    made = plan(graph, "Lonely")
    entities(graph, {"name": "Lonely", "description": "a saw"})
    assert clean(graph, made) == [("entity", "changed")]


def test_an_entity_that_was_merged_since_it_was_shown_is_left_alone(graph: World) -> None:
    entities(graph, {"name": "Lonely", "type": "tool"})
    made = plan(graph, "Lonely")
    merge(graph, "Alice", "Lonely")
    assert clean(graph, made) == [("entity", "gone")]
    assert "Alice" in names(graph)


# Guards of edges


@pytest.mark.row("L5")
@pytest.mark.parametrize(("confidence", "guard"), [(0.7, "confident"), (0.69, None)])
def test_an_edge_of_protected_confidence_stays_however_long_ago_it_was_observed(
    graph: World, confidence: float, guard: str | None
) -> None:
    observe(graph, {"source": "Alice", "type": "owns", "target": "Widget", "confidence": confidence, "observed_at": day(0)})
    assert clean(graph, plan(graph, edges=[("Alice", "owns")], reason="outdated")) == [("edge", guard)]


def test_an_entity_with_such_an_edge_stays_too(graph: World) -> None:
    entities(graph, {"name": "Lonely", "type": "tool"})
    observe(graph, {"source": "Lonely", "type": "near", "target": "Widget", "confidence": 0.9})
    assert clean(graph, plan(graph, "Lonely", edges=[("Lonely", "near")])) == [("edge", "confident"), ("entity", "connected")]


def test_an_edge_that_was_observed_since_it_was_shown_stays(graph: World) -> None:
    made = plan(graph, edges=[("Gadget", "near")])
    configure(graph, reinforcement="initial")
    observe(graph, {"source": "Gadget", "type": "near", "target": "Widget"})
    assert clean(graph, made) == [("edge", "changed")]


def test_an_edge_that_is_gone_already_is_left_alone(graph: World) -> None:
    made = plan(graph, edges=[("Gadget", "near")])
    graph.row("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=made["edges"][0]["id"])
    assert clean(graph, made) == [("edge", "gone")]


def test_an_edge_is_redundant_only_beside_another_that_stays(graph: World) -> None:
    assert clean(graph, plan(graph, edges=[("Gadget", "near")], reason="redundant")) == [("edge", "redundant")]
    observe(graph, {"source": "Widget", "type": "close_to", "target": "Gadget", "confidence": 0.5})
    both = plan(graph, edges=[("Gadget", "near"), ("Widget", "close_to")], reason="redundant")
    assert clean(graph, both) == [("edge", "redundant")] * 2
    assert clean(graph, plan(graph, edges=[("Gadget", "near")], reason="redundant")) == [("edge", None)]


def test_an_edge_that_was_observed_lately_is_not_outdated(graph: World) -> None:
    configure(graph, dream_entity_days=30)
    observe(
        graph,
        {"source": "Alice", "type": "owns", "target": "Widget", "confidence": 0.5},
        {"source": "Alice", "type": "owned", "target": "Gadget", "confidence": 0.5, "valid_to": graph.now() - timedelta(days=1),
         "observed_at": graph.now() - timedelta(days=2)},
    )  # fmt: skip
    assert clean(graph, plan(graph, edges=[("Alice", "owns")], reason="outdated")) == [("edge", "recent")]
    assert clean(graph, plan(graph, edges=[("Alice", "owned")], reason="outdated")) == [("edge", None)]


def test_a_reason_that_is_none_is_refused(graph: World) -> None:
    with pytest.raises(errors.InvalidParameterValue, match="'boring'"):
        clean(graph, plan(graph, edges=[("Gadget", "near")], reason="boring"))


# The share, and others


def fan(world: World, edges: int) -> list[str]:
    """A hub with edges, each weaker than the one before it; their types, the weakest first."""
    kinds = [f"near_{n:02}" for n in range(edges)]
    observe(
        world,
        *({"source": "Gadget", "type": kind, "target": f"Place {n}", "confidence": 0.1 + n / 100} for n, kind in enumerate(kinds)),
    )
    return kinds


def left(world: World) -> list[str]:
    return [kind for _, kind, _, _ in triples(world) if kind != "near"]


@pytest.mark.parametrize(
    ("share", "few", "edges", "allowed"),
    [(0.1, 3, 16, 3), (0.1, 0, 29, 3), (0.5, 3, 9, 5), (0.1, 3, 3, 2), (0.1, 9, 5, 3), (0, 3, 9, 0)],
)
def test_up_to_the_share_the_weakest_edges_go_and_small_graphs_lose_a_few(
    graph: World, share: float, few: int, edges: int, allowed: int
) -> None:
    kinds = fan(graph, edges)  # beside the edge that is there
    configure(graph, dream_removed_share=share, dream_removed_few=few)
    assert graph.row("select edges from loci_api.removal_allowances(%(ns)s)") == {"edges": allowed}
    kept = clean(graph, plan(graph, edges=[("Gadget", kind) for kind in kinds]))
    assert [guard for _, guard in kept].count("share") == edges - allowed
    assert sorted(left(graph)) == kinds[allowed:]


def test_up_to_the_share_the_oldest_entities_go_that_nothing_mentions(graph: World) -> None:
    for n in range(6):
        entities(graph, {"name": f"Tool {n}", "type": "tool"})
    configure(graph, dream_removed_share=0.1, dream_removed_few=2)
    kept = clean(graph, plan(graph, *(f"Tool {n}" for n in range(6))))
    assert [guard for _, guard in kept].count("share") == len(kept) - 2
    assert [name for name in names(graph) if name.startswith("Tool")] == [f"Tool {n}" for n in range(2, 6)]


def test_guarded_entities_do_not_count_against_the_share(graph: World) -> None:
    configure(graph, dream_removed_share=0.4, dream_removed_few=0)
    entities(graph, {"name": "Lonely", "type": "tool"})
    assert ("entity", "share") not in clean(graph, plan(graph, "Alice", "Gadget", "Lonely"))
    assert "Lonely" not in names(graph)


def test_a_plan_removes_nothing_of_another_namespace(graph: World, connection: Any) -> None:
    entities(graph, {"name": "Lonely", "type": "tool"})
    made = plan(graph, "Lonely", edges=[("Gadget", "near")])
    other = new_world(connection)
    configure(other, dream_entity_days=0, dream_removed_share=1)
    assert clean(other, made) == [("edge", "gone"), ("entity", "gone")]
    assert "Lonely" in names(graph)


# What is offered


def test_a_model_is_shown_only_what_the_guards_would_let_go(graph: World) -> None:
    entities(graph, *({"name": name, "type": "tool"} for name in ("Lonely", "Pinned", "Touched", "Facts", "Strong", "Said")))
    graph.row("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=get(graph, "Pinned")["id"])
    graph.value("select loci_api.touch_entities(%(ns)s, %(ids)s)", ids=[get(graph, "Touched")["id"]])
    aspect(graph, "Facts", "Use", "cuts wood")
    observe(graph, {"source": "Strong", "type": "near", "target": "Alice"})
    graph.write("Said", entities=[{"name": "Said"}])
    rows = graph.rows("select name, edges from loci_api.stale_entities(%(ns)s, 100)")
    assert [(row["name"], row["edges"]) for row in rows] == [("Gadget", 1), ("Widget", 1), ("Lonely", 0)]
    configure(graph, dream_entity_days=30)
    assert graph.rows("select name from loci_api.stale_entities(%(ns)s, 100)") == []


def test_weak_edges_come_with_those_beside_them_and_the_least_confident_first(graph: World) -> None:
    observe(
        graph,
        {"source": "Gadget", "type": "beside", "target": "Widget"},
        {"source": "Alice", "type": "saw", "target": "Zug", "confidence": 0.6},
        {"source": "Alice", "type": "heard", "target": "Zug", "confidence": 0.5, "observed_at": day(0)},
        {"source": "Alice", "type": "age", "literal": "40", "confidence": 0.3},
    )

    def shown(limit: int) -> set[tuple[str, bool]]:
        rows = graph.rows("select type, removable from loci.weak_edges(%(ns)s, '{}', %(limit)s)", limit=limit)
        return {(row["type"], row["removable"]) for row in rows}

    assert shown(100) == {("near", True), ("beside", False), ("saw", True), ("heard", True), ("age", True)}
    assert shown(1) == {("near", True), ("beside", False)}
    assert shown(0) == set()


def test_edges_of_entities_that_may_go_are_shown_first(graph: World) -> None:
    observe(graph, {"source": "Alice", "type": "age", "literal": "40", "confidence": 0.1, "observed_at": day(0)})
    ids = [get(graph, "Widget")["id"]]
    rows = graph.rows("select type from loci.weak_edges(%(ns)s, %(ids)s, 1)", ids=ids)
    assert rows == [{"type": "near"}]
