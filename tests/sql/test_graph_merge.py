"""Entities that are merged, split, and given back: nothing is lost, and every moment keeps its answer."""

from collections import Counter
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import errors
from psycopg.types.json import Jsonb

from tests.factories import World, act_as, day, new_world, stated
from tests.sql.test_graph import observe

Row = dict[str, Any]


def entities(world: World, *items: Row) -> list[UUID]:
    rows = world.rows("select id from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([stated(item) for item in items]))
    return [row["id"] for row in rows]


def get(world: World, ref: str | UUID, **moments: datetime) -> Row:
    return world.row(
        "select * from loci.get_entity(%(ns)s, %(ref)s, %(as_of)s, %(known_at)s)",
        ref=str(ref),
        **{"as_of": None, "known_at": None, **moments},
    )


def merge(world: World, into: str, other: str, reason: str | None = None) -> UUID:
    return world.row("select * from loci_api.merge_entities(%(ns)s, %(a)s, %(b)s, %(r)s)", a=into, b=other, r=reason)["merge_id"]


def undo(world: World, id: UUID) -> Row:
    return world.row("select * from loci_api.undo_merge(%(ns)s, %(id)s)", id=id)


def split(world: World, ref: str, **fields: Any) -> Row:
    return world.row("select * from loci_api.split_entity(%(ns)s, %(ref)s, %(s)s)", ref=ref, s=Jsonb(fields))


def names(world: World, known_at: datetime | None = None) -> list[str]:
    rows = world.rows("select name from loci.list_entities(%(ns)s, null, null, null, 1000, null, null, %(k)s)", k=known_at)
    return sorted(row["name"] for row in rows)


def triples(world: World, known_at: datetime | None = None) -> list[tuple[Any, ...]]:
    rows = world.rows("select * from loci.list_edges(%(ns)s, null, null, true, null, 1000, null, %(k)s)", k=known_at)
    return sorted((row["source"], row["type"], row["target"] or row["literal"], row["observations"]) for row in rows)


STATE: dict[str, Any] = {
    "entities": """select name, type, aliases, description, metadata, round(confidence::numeric, 9), observations, mentions, pinned, pinned_at,
        first_seen_at, last_referenced_at from loci_data.entities where namespace_id = %(ns_id)s and merged_into is null order by name""",
    "names": """select e.name, n.canonical_name, n.is_alias from loci_data.entity_names n join loci_data.entities e
        on e.namespace_id = n.namespace_id and e.id = n.entity_id where n.namespace_id = %(ns_id)s order by 2, 1""",
    "edges": """select s.name as source, e.type, coalesce(t.name, e.literal) as target, e.confidence, e.initial_confidence, e.strength, e.observations,
        e.first_observed_at, e.last_observed_at, e.restored_at, e.fades_at, e.valid_from, e.valid_to, e.spells::text, e.metadata, p.name as aspect,
        array(select (o.memory_id, o.session_id, o.observed_at, o.valid_from, o.valid_to, o.confidence, o.reinforcement, o.recorded_at)::text from loci_data.edge_observations o
              where o.namespace_id = %(ns_id)s and o.edge_id = e.id order by 1) as evidence
        from loci_data.edges e join loci_data.entities s on s.namespace_id = e.namespace_id and s.id = e.source_id
        left join loci_data.entities t on t.namespace_id = e.namespace_id and t.id = e.target_id
        left join loci_data.aspects p on p.namespace_id = e.namespace_id and p.id = e.aspect_id
        where e.namespace_id = %(ns_id)s and e.superseded_at is null order by 1, 2, 3""",
    "mentions": """select e.name, m.memory_id from loci_data.memory_mentions m join loci_data.entities e
        on e.namespace_id = m.namespace_id and e.id = m.entity_id where m.namespace_id = %(ns_id)s and e.merged_into is null order by 1, 2""",
    "aspects": """select e.name as entity, a.name, a.id, array(select t.id from loci_data.attributes t
        where t.namespace_id = %(ns_id)s and t.aspect_id = a.id order by 1) as attributes from loci_data.aspects a join loci_data.entities e
        on e.namespace_id = a.namespace_id and e.id = a.entity_id where a.namespace_id = %(ns_id)s and e.merged_into is null order by 1, 2""",
}


def state(world: World) -> dict[str, list[Row]]:
    """What is believed now, without ids of what is recorded anew."""
    return {name: world.rows(statement) for name, statement in STATE.items()}


def aspect(world: World, entity: str, name: str, *contents: str) -> UUID:
    made = world.value("select id from loci_api.upsert_aspect(%(ns)s, %(e)s, %(a)s)", e=entity, a=Jsonb({"name": name}))
    for content in contents:
        world.rows("select * from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)", id=made, a=Jsonb({"content": content}))
    return made


@pytest.fixture
def pair(world: World) -> World:
    """Two spellings of one name, with something of everything on both."""
    entities(
        world,
        {"name": "Bob", "type": "person", "confidence": 0.6},
        {"name": "Robert", "aliases": ["Rob", "Bobby"], "description": "a baker", "metadata": {"age": 40}, "confidence": 0.8},
    )
    for number, name in enumerate(("Bob", "Robert")):
        world.write(
            f"{name} bakes",
            entities=[{"name": name}],
            edges=[{"source": name, "type": "bakes", "target": "Bread"}],
            valid_from=day(number),
        )
    world.write("Bob is Robert", entities=[{"name": "Bob"}, {"name": "Robert"}])
    observe(
        world,
        {"source": "Robert", "type": "knows", "target": "Ann", "session_id": "s1", "confidence": 0.7, "observed_at": day(2)},
        {"source": "Bob", "type": "knows", "target": "Ann", "session_id": "s2", "observed_at": day(3), "metadata": {"x": 1}},
        {"source": "Ann", "type": "likes", "target": "Robert", "strength": 0.9},
        {"source": "Bob", "type": "is", "target": "Robert"},
        {"source": "Robert", "type": "age", "literal": "40"},
        {"source": "Robert", "type": "trusts", "target": "Robert"},
    )
    aspect(world, "Bob", "Taste", "likes rye")
    aspect(world, "Robert", "taste", "likes oats")
    aspect(world, "Robert", "Work", "has a shop")
    return world


# What a merge does


@pytest.mark.row("G12")
@pytest.mark.parametrize("ref", ["Robert", "robert ", "Rob", "Bobby", "id"])
def test_every_name_of_a_merged_entity_and_its_id_lead_to_the_kept_one(pair: World, ref: str) -> None:
    merged = get(pair, "Robert")["id"]
    merge(pair, "Bob", "Robert")
    assert get(pair, merged if ref == "id" else ref)["name"] == "Bob"


def test_the_kept_entity_has_the_statements_of_both(pair: World) -> None:
    before = get(pair, "Bob"), get(pair, "Robert")
    merge(pair, "Bob", "Robert")
    found = get(pair, "Bob")
    assert found["aliases"] == ["Robert", "Rob", "Bobby"]
    assert (found["type"], found["description"], found["metadata"]) == ("person", "a baker", {"age": 40})
    assert found["confidence"] == max(row["confidence"] for row in before)
    assert found["observations"] == sum(row["observations"] for row in before)
    assert found["mentions"] == 3


def test_a_merged_entity_is_in_no_list_view_text_count_or_search(pair: World) -> None:
    merge(pair, "Bob", "Robert")
    assert names(pair) == ["Ann", "Bob", "Bread"]
    assert pair.value("select entities from loci.namespace_stats where namespace = %(ns)s") == 3
    assert pair.value("select entities from loci.list_namespaces(%(ns)s)") == 3
    assert pair.rows("select name from loci.entities where namespace = %(ns)s and name = 'Robert'") == []
    assert [row["name"] for row in pair.rows("select * from loci.match_entities(%(ns)s, 'Robert and Rob')")] == ["Bob"]
    assert [row["name"] for row in pair.rows("select * from loci.search_entities(%(ns)s, 'Robert')")][:1] == ["Bob"]
    assert {row["entity"] for row in pair.rows("select * from loci.aspects where namespace = %(ns)s")} == {"Bob"}


@pytest.mark.row("G12")
def test_edges_move_with_their_evidence_and_those_that_meet_become_one(pair: World) -> None:
    merge(pair, "Bob", "Robert")
    assert triples(pair) == [
        ("Ann", "likes", "Bob", 1),
        ("Bob", "age", "40", 1),
        ("Bob", "bakes", "Bread", 2),
        ("Bob", "knows", "Ann", 2),
        ("Bob", "trusts", "Bob", 1),
    ]


def test_an_edge_between_the_two_is_closed_and_comes_back(pair: World) -> None:
    made = merge(pair, "Bob", "Robert")
    assert ("Bob", "is", "Bob", 1) not in triples(pair)
    undo(pair, made)
    assert ("Bob", "is", "Robert", 1) in triples(pair)


def test_a_memory_that_said_it_of_both_is_evidence_once(world: World) -> None:
    world.write("both", edges=[{"source": "A", "type": "t", "target": "X"}, {"source": "B", "type": "t", "target": "X"}])
    made = merge(world, "A", "B")
    assert triples(world) == [("A", "t", "X", 1)]
    undo(world, made)
    assert triples(world) == [("A", "t", "X", 1), ("B", "t", "X", 1)]


def test_a_walk_from_a_merged_name_finds_the_edges_of_both(pair: World) -> None:
    merge(pair, "Bob", "Robert")
    assert {row["type"] for row in walked(pair, "Rob")} == {"likes", "age", "bakes", "knows", "trusts"}


def test_aspects_move_and_those_of_one_name_are_joined(pair: World) -> None:
    merge(pair, "Bob", "Robert")
    rows = pair.rows("select * from loci.list_aspects(%(ns)s, 'Robert')")
    assert {row["name"]: sorted(a["content"] for a in row["attributes"]) for row in rows} == {
        "Taste": ["likes oats", "likes rye"],
        "Work": ["has a shop"],
    }


def test_memories_of_both_are_found_by_either_name(pair: World) -> None:
    merge(pair, "Bob", "Robert")
    assert sorted(pair.visible(entity="Robert")) == ["Bob bakes", "Bob is Robert", "Robert bakes"]


@pytest.mark.parametrize(("pinned", "result"), [([], False), (["Bob"], True), (["Robert"], True), (["Bob", "Robert"], True)])
def test_a_merge_keeps_pins_and_its_undo_restores_them(pair: World, pinned: list[str], result: bool) -> None:
    for name in pinned:
        pair.rows("select loci_api.pin_entity(%(ns)s, %(id)s, true)", id=get(pair, name)["id"])
    made = merge(pair, "Bob", "Robert")
    assert get(pair, "Bob")["pinned"] is result
    undo(pair, made)
    assert [name for name in ("Bob", "Robert") if get(pair, name)["pinned"]] == pinned


@pytest.mark.row("S2")
def test_pinned_entities_stand_first_then_the_most_mentioned(world: World) -> None:
    entities(world, {"name": "Quiet"}, {"name": "Loud"}, {"name": "Held"})
    world.write("x", entities=[{"name": "Loud"}])
    world.rows("select loci_api.pin_entity(%(ns)s, %(id)s, true)", id=get(world, "Held")["id"])
    assert [row["name"] for row in world.rows("select * from loci.list_entities(%(ns)s)")] == ["Held", "Loud", "Quiet"]


@pytest.mark.row("G6")
def test_a_touch_of_a_merged_id_touches_the_kept_entity(pair: World) -> None:
    merged = get(pair, "Robert")["id"]
    merge(pair, "Bob", "Robert")
    assert pair.value("select loci_api.touch_entities(%(ns)s, %(ids)s)", ids=[merged, uuid4()]) == 1
    assert get(pair, "Bob")["last_referenced_at"] is not None


def test_a_merged_id_is_changed_pinned_and_written_to_as_the_kept_entity(pair: World) -> None:
    merged = get(pair, "Robert")["id"]
    merge(pair, "Bob", "Robert")
    assert pair.row('select * from loci_api.update_entity(%(ns)s, %(id)s, \'{"description": "new"}\')', id=merged)["name"] == "Bob"
    assert pair.row("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=merged)["name"] == "Bob"
    observe(pair, {"source": str(merged), "type": "owns", "target": "Shop"})
    assert ("Bob", "owns", "Shop", 1) in triples(pair)


def test_writing_a_merged_name_again_adds_to_the_kept_entity(pair: World) -> None:
    merge(pair, "Bob", "Robert")
    pair.write("Robert sings", entities=[{"name": "Robert"}], edges=[{"source": "robert", "type": "sings", "target": "Songs"}])
    assert ("Bob", "sings", "Songs", 1) in triples(pair)
    assert names(pair) == ["Ann", "Bob", "Bread", "Songs"]


def test_chains_of_merges_are_followed(world: World) -> None:
    first, *_ = entities(world, *({"name": name} for name in ("one", "two", "three")))
    merge(world, "two", "one")
    merge(world, "three", "two")
    assert {get(world, ref)["name"] for ref in ("one", "two", first)} == {"three"}


@pytest.mark.parametrize(
    ("into", "other", "error"), [("Bob", "bob", "one entity"), ("Bob", "Nobody", "does not exist"), ("Nobody", "Bob", "not exist")]
)
def test_a_merge_of_nothing_is_refused(pair: World, into: str, other: str, error: str) -> None:
    with pytest.raises((errors.UniqueViolation, errors.NoDataFound), match=error):
        merge(pair, into, other)


def test_a_merge_that_is_there_is_not_made_twice(pair: World) -> None:
    merge(pair, "Bob", "Robert")
    with pytest.raises(errors.UniqueViolation, match="one entity already"):
        merge(pair, "Bob", "Robert")


def test_a_merge_with_too_many_names_is_refused_whole(world: World) -> None:
    for name in ("A", "B"):
        entities(world, {"name": name, "aliases": [f"{name} {n}" for n in range(60)]})
    before = state(world)
    with pytest.raises(errors.InvalidParameterValue, match="at most 100"), world.connection.transaction():
        merge(world, "A", "B")
    assert state(world) == before


@pytest.mark.parametrize("role", ["reader", None])
def test_only_a_writer_merges_splits_and_undoes(pair: World, role: str | None) -> None:
    made = merge(pair, "Bob", "Robert")
    act_as(pair.connection, UUID(int=77))
    for call in (lambda: merge(pair, "Bob", "Ann"), lambda: undo(pair, made), lambda: split(pair, "Bob", name="x")):
        with pytest.raises(errors.InsufficientPrivilege), pair.connection.transaction():
            call()


# Two times


def test_before_the_merge_both_are_known_as_they_were(pair: World) -> None:
    before, edges, known_at = state(pair), triples(pair), pair.now()
    robert = get(pair, "Robert")
    made = merge(pair, "Bob", "Robert")
    merged_at = pair.now()
    undo(pair, made)
    for moment in (known_at,):
        assert names(pair, moment) == [row["name"] for row in before["entities"]]
        assert triples(pair, moment) == edges
        assert get(pair, "Robert", known_at=moment)["name"] == "Robert"
        assert get(pair, robert["id"], known_at=moment)["aliases"] == ["Rob", "Bobby"]
        assert get(pair, "Bob", known_at=moment)["aliases"] == []
    assert names(pair, merged_at) == ["Ann", "Bob", "Bread"]
    assert ("Bob", "knows", "Ann", 2) in triples(pair, merged_at)
    assert get(pair, robert["id"], known_at=merged_at)["name"] == "Bob"
    assert triples(pair) == edges


def walked(world: World, start: str, known_at: datetime | None = None) -> list[Row]:
    return world.rows(
        "select * from loci.traverse(%(ns)s, array[%(s)s], null, 'both', 1, 100, 0, 0, null, false, %(k)s)", s=start, k=known_at
    )


def test_a_walk_as_known_before_the_merge_starts_at_the_entity_of_then(pair: World) -> None:
    known_at = pair.now()
    merge(pair, "Bob", "Robert")
    found = {(row["source"], row["type"], row["target"]) for row in walked(pair, "Robert", known_at)}
    assert found == {(*row[:2], row[2] if row[1] != "age" else None) for row in triples(pair, known_at) if "Robert" in row}


def test_the_timeline_of_the_kept_entity_tells_of_the_merge_and_each_observation_once(pair: World) -> None:
    made = merge(pair, "Bob", "Robert", "same baker")
    undo(pair, made)
    merge(pair, "Bob", "Robert")
    rows = pair.rows("select * from loci.entity_timeline(%(ns)s, 'Bob', 1000)")
    assert [row["event"] for row in rows if row["event"] in ("merged", "parted")] == ["merged", "parted", "merged"]
    assert next(row["detail"]["reason"] for row in rows if row["event"] == "merged") == "same baker"
    assert Counter(row["detail"]["type"] for row in rows if row["event"] == "observed") == Counter(
        {"bakes": 2, "knows": 2, "likes": 1, "age": 1, "trusts": 1}
    )
    assert [row for row in rows if row["event"] == "deleted"] == []


# Undo


@pytest.mark.row("G12")
def test_undoing_restores_the_state_before(pair: World) -> None:
    before = state(pair)
    undo(pair, merge(pair, "Bob", "Robert"))
    assert state(pair) == before


def test_merging_again_after_undoing_is_the_merge(pair: World) -> None:
    undone = merge(pair, "Bob", "Robert")
    first = state(pair)
    undo(pair, undone)
    again = merge(pair, "Bob", "Robert")
    assert again != undone
    assert state(pair) == first
    with pytest.raises(errors.UniqueViolation, match="undone already"):
        undo(pair, undone)


def test_later_writes_to_the_kept_entity_stay_with_it(pair: World) -> None:
    made = merge(pair, "Bob", "Robert")
    observe(
        pair,
        {"source": "Robert", "type": "knows", "target": "Ann", "session_id": "s9"},
        {"source": "Rob", "type": "age", "literal": "40"},
    )
    pair.write("Robert moved", entities=[{"name": "Robert", "description": "moved"}])
    undo(pair, made)
    assert triples(pair) == [
        ("Ann", "likes", "Robert", 1),
        ("Bob", "age", "40", 1),
        ("Bob", "bakes", "Bread", 1),
        ("Bob", "is", "Robert", 1),
        ("Bob", "knows", "Ann", 2),
        ("Robert", "age", "40", 1),
        ("Robert", "bakes", "Bread", 1),
        ("Robert", "knows", "Ann", 1),
        ("Robert", "trusts", "Robert", 1),
    ]
    assert "Robert moved" in pair.visible(entity="Bob")
    assert get(pair, "Bob")["description"] == "moved"
    assert get(pair, "Robert")["description"] == "a baker"


def test_an_edge_that_was_taken_back_meanwhile_stays_taken_back(pair: World) -> None:
    made = merge(pair, "Bob", "Robert")
    edge = pair.value("select id from loci.edges where namespace = %(ns)s and type = 'age'")
    pair.rows("select loci_api.delete_edge(%(ns)s, %(id)s)", id=edge)
    undo(pair, made)
    assert not any(row[1] == "age" for row in triples(pair))


@pytest.mark.parametrize("content", ["Bob bakes", "Robert bakes", "Bob is Robert"])
def test_undoing_after_something_was_erased_brings_none_of_it_back(pair: World, content: str) -> None:
    made = merge(pair, "Bob", "Robert")
    memory = pair.value("select id from loci_data.memories where namespace_id = %(ns_id)s and content = %(c)s", c=content)
    pair.erase(memory)
    undo(pair, made)
    assert (
        pair.value(
            "select count(*) from loci_data.edge_observations where namespace_id = %(ns_id)s and memory_id = %(m)s", m=memory
        )
        == 0
    )
    assert {name: get(pair, name)["mentions"] for name in ("Bob", "Robert")} == {
        "Bob": 2 - (content != "Robert bakes"),
        "Robert": 2 - (content != "Bob bakes"),
    }


def test_erasing_everything_about_an_entity_takes_what_was_merged_into_it(world: World) -> None:
    memory = world.write("x", entities=[{"name": "A"}, {"name": "B"}], edges=[{"source": "B", "type": "t", "target": "C"}])
    merge(world, "A", "B", "why")
    world.erase(memory["id"])
    for table in ("entities", "edges", "entity_merges", "entity_names", "edge_moves"):
        assert world.value(f"select count(*) from loci_data.{table} where namespace_id = %(ns_id)s") == 0, table  # type: ignore[arg-type]


def test_a_later_merge_of_the_kept_entity_is_undone_first(world: World) -> None:
    entities(world, *({"name": name} for name in ("one", "two", "three")))
    first = merge(world, "two", "one")
    second = merge(world, "three", "two")
    with pytest.raises(errors.UniqueViolation, match=str(second)), world.connection.transaction():
        undo(world, first)
    undo(world, second)
    undo(world, first)
    assert names(world) == ["one", "three", "two"]


def test_a_name_that_was_taken_meanwhile_is_a_conflict(pair: World) -> None:
    made = merge(pair, "Bob", "Robert")
    pair.rows('select * from loci_api.update_entity(%(ns)s, %(id)s, \'{"name": "Robert"}\')', id=get(pair, "Ann")["id"])
    with pytest.raises(errors.UniqueViolation, match="exists by now"):
        undo(pair, made)


NAMES = "ABCDE"
EDGE = st.fixed_dictionaries(
    {
        "source": st.sampled_from(NAMES),
        "type": st.sampled_from(["t", "u"]),
        "target": st.sampled_from(NAMES),
        "session_id": st.sampled_from([None, "s1", "s2"]),
        "confidence": st.sampled_from([0.3, 0.6, 1.0]),
        "observed_at": st.integers(0, 9).map(lambda n: day(n).isoformat()),
    }
)
WRITE = st.one_of(
    st.lists(EDGE, min_size=1, max_size=4).map(lambda edges: ("edges", edges)),
    st.lists(EDGE, min_size=1, max_size=3).map(
        lambda edges: ("memory", [{k: e[k] for k in ("source", "type", "target", "confidence")} for e in edges])
    ),
    st.tuples(st.just("aspect"), st.tuples(st.sampled_from(NAMES), st.sampled_from(["x", "y"]))),
)


def play(world: World, writes: list[Any]) -> None:
    for number, (kind, what) in enumerate(writes):
        if kind == "edges":
            observe(world, *what)
        elif kind == "memory":
            world.write(f"memory {number} {what}", edges=what)
        else:
            aspect(world, what[0], what[1], f"fact {number}")


@pytest.mark.row("G12")
@given(
    writes=st.lists(WRITE, max_size=8),
    merges=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=4),
    order=st.randoms(use_true_random=False),
)
def test_merges_that_are_all_undone_in_any_order_leave_no_trace(
    world: World, writes: list[Any], merges: list[Any], order: Any
) -> None:
    world = new_world(world.connection)
    entities(world, *({"name": name} for name in NAMES))
    play(world, writes)
    before, known_at = state(world), world.now()
    edges_before = triples(world)
    done = []
    for into, other in merges:
        try:
            with world.connection.transaction():
                done.append(merge(world, into, other))
        except errors.UniqueViolation:  # they are one by now
            continue
        assert triples(world, known_at) == edges_before
    for _ in merges:  # the newest can always be undone
        order.shuffle(done)
        for made in list(done):
            try:
                with world.connection.transaction():
                    undo(world, made)
                done.remove(made)
            except errors.UniqueViolation:  # merged again since: that one first
                continue
    assert done == []
    for name, rows in state(world).items():
        assert rows == before[name]
    assert triples(world, known_at) == edges_before


@given(
    writes=st.lists(WRITE, max_size=6),
    later=st.lists(EDGE.map(lambda e: {**e, "session_id": "later"}), max_size=4),
    pair_=st.permutations(NAMES).map(lambda names: (names[0], names[1])),
)
def test_writes_between_a_merge_and_its_undoing_end_where_they_would_have_without_it(
    world: World, writes: list[Any], later: list[Any], pair_: tuple[str, str]
) -> None:
    into, other = pair_
    later = [{**e, **{end: into for end in ("source", "target") if e[end] == other}} for e in later]
    later = [e for e in later if not (e["source"] == e["target"] == into)]
    shown = []
    for merged in (True, False):
        made = new_world(world.connection)
        entities(made, *({"name": name} for name in NAMES))
        play(made, writes)
        merge_id = merge(made, into, other) if merged else None
        if later:
            observe(made, *later)
        if merge_id is not None:
            undo(made, merge_id)
        shown.append(triples(made))
    assert shown[0] == shown[1]


# Split


@pytest.mark.row("G12")
def test_a_split_takes_what_is_named_and_leaves_the_rest(pair: World) -> None:
    merge(pair, "Bob", "Robert")
    edges = [row["id"] for row in pair.rows("select id from loci.edges where namespace = %(ns)s and type in ('age', 'likes')")]
    memory = pair.value("select id from loci_data.memories where namespace_id = %(ns_id)s and content = 'Robert bakes'")
    work = pair.value("select id from loci.aspects where namespace = %(ns)s and name = 'Work'")
    ids = {"edge_ids": [str(e) for e in edges], "memory_ids": [str(memory)], "aspect_ids": [str(work)]}
    made = split(pair, "Bob", name="Rob", type="role", aliases=["Bobby"], **ids)
    assert get(pair, "Bobby")["id"] == made["id"]
    assert (get(pair, "Rob")["type"], get(pair, "Rob")["mentions"], get(pair, "Bob")["mentions"]) == ("role", 1, 2)
    assert get(pair, "Bob")["aliases"] == ["Robert"]
    assert {row for row in triples(pair) if "Rob" in row} == {("Rob", "age", "40", 1), ("Ann", "likes", "Rob", 1)}
    assert [row["name"] for row in pair.rows("select * from loci.list_aspects(%(ns)s, 'Rob')")] == ["Work"]


@pytest.mark.row("G12")
def test_a_split_is_undone_and_that_can_be_undone(pair: World) -> None:
    before = triples(pair)
    edges = [str(row["id"]) for row in pair.rows("select id from loci.edges where namespace = %(ns)s and source = 'Robert'")]
    made = split(pair, "Robert", name="Bobby", edge_ids=edges)
    apart = triples(pair)
    undone = undo(pair, made["merge_id"])
    assert triples(pair) == before
    assert get(pair, "Bobby")["name"] == "Robert"
    undo(pair, undone["merge_id"])
    assert triples(pair) == apart
    with pytest.raises(errors.UniqueViolation):
        undo(pair, made["merge_id"])


@pytest.mark.parametrize("field", ["edge_ids", "memory_ids", "aspect_ids"])
def test_a_split_of_what_the_entity_does_not_have_is_refused(pair: World, field: str) -> None:
    with pytest.raises(errors.NoDataFound, match="no such"):
        split(pair, "Bob", name="new", **{field: [str(uuid4())]})


@pytest.mark.parametrize("name", ["Ann", "bob", "ROBERT"])
def test_a_split_under_a_name_that_is_taken_is_a_conflict(pair: World, name: str) -> None:
    with pytest.raises(errors.UniqueViolation, match="exists"):
        split(pair, "Bob", name=name)


# Duplicates


def duplicates(world: World, dry_run: bool = True) -> list[tuple[str, str]]:
    rows = world.rows("select * from loci_api.merge_duplicate_entities(%(ns)s, %(dry)s)", dry=dry_run)
    return sorted(tuple(sorted((row["kept"], row["merged"]))) for row in rows)  # type: ignore[misc]


SAME = [
    ("Node.js", "nodejs"), ("Jean-Luc", "Jean Luc"), ("José Pérez", "Jose Perez"), ("GPT-4", "gpt 4"), ("Python 3", "python3"),
    ("O’Brien", "OBrien"), ("Acme Inc.", "Acme Inc"), ("snake_case", "Snake Case"), ("Release 1.0", "release-1.0"),
]  # fmt: skip
DIFFERENT = [
    ("GPT-3", "GPT-4"), ("Python 2", "Python 3"), ("version 1.0", "version 10"), ("Release 1 0", "Release 10"), ("C", "C++"), ("C", "C#"), ("C++", "C#"),
    (".NET", "NET"), (".NET Core", "NET Core"), ("Visual C++", "Visual C"), ("R&D Lab", "RD Lab"), ("IT", "I.T"), ("Мой дом", "Мои дом"), ("かき氷の店", "がき氷の店"),
    ("A-1.5", "A-15"), ("Project X+", "Project X"), ("foo@bar", "foobar"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_name_are_merged(world: World, one: str, other: str) -> None:
    entities(world, {"name": one}, {"name": other, "type": "tool"})
    assert duplicates(world) == [tuple(sorted((one, other)))]
    assert len(names(world)) == 2
    assert len(duplicates(world, dry_run=False)) == 1
    assert len(names(world)) == 1
    assert get(world, one)["id"] == get(world, other)["id"]
    assert world.rows("select automatic, undone_at from loci.list_merges(%(ns)s)") == [{"automatic": True, "undone_at": None}]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_names_that_may_differ_in_meaning_are_not_merged(world: World, one: str, other: str) -> None:
    entities(world, {"name": one}, {"name": other})
    assert duplicates(world, dry_run=False) == []


@pytest.mark.parametrize(
    ("types", "left"),
    [(["tool", "tool"], 1), (["tool", "unknown"], 1), (["extracted", "tool"], 1), (["tool", "person"], 2), (["tool", "person", "unknown"], 3),
     (["tool", "tool", "person"], 2)],
)  # fmt: skip
def test_only_types_that_agree_are_merged(world: World, types: list[str], left: int) -> None:
    entities(world, *({"name": name, "type": kind} for name, kind in zip(("Node.js", "Node js", "node-js"), types, strict=False)))
    duplicates(world, dry_run=False)
    assert len(names(world)) == left


def test_two_pinned_entities_are_never_merged_on_their_own(world: World) -> None:
    for name in ("Node.js", "Node js"):
        (made,) = entities(world, {"name": name})
        world.rows("select loci_api.pin_entity(%(ns)s, %(id)s, true)", id=made)
    entities(world, {"name": "node-js"})
    duplicates(world, dry_run=False)
    assert names(world) == ["Node js", "Node.js"]


def test_undone_and_split_entities_are_not_merged_again(world: World) -> None:
    entities(world, {"name": "Node.js"}, {"name": "nodejs"}, {"name": "Jean-Luc", "aliases": ["Jean Luc"]})
    duplicates(world, dry_run=False)
    undo(world, world.value("select id from loci.list_merges(%(ns)s)"))
    split(world, "Jean-Luc", name="Jean Luc")
    assert duplicates(world, dry_run=False) == []


def test_the_most_mentioned_spelling_is_kept(world: World) -> None:
    entities(world, {"name": "nodejs"}, {"name": "Node.js"})
    world.write("x", entities=[{"name": "Node.js"}])
    duplicates(world, dry_run=False)
    assert names(world) == ["Node.js"]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_pages_of_merges_show_each_once_newest_first(world: World, limit: int) -> None:
    entities(world, *({"name": f"n{n}"} for n in range(4)))
    made = [merge(world, "n0", f"n{n}") for n in range(1, 4)]
    seen, cursor = [], None
    while True:
        rows = world.rows("select * from loci.list_merges(%(ns)s, 'n0', %(limit)s, %(cursor)s)", limit=limit, cursor=cursor)
        seen += [row["id"] for row in rows]
        if len(rows) < limit:
            break
        cursor = rows[-1]["cursor"]
    assert seen == made[::-1]


@pytest.mark.parametrize("newest_first", [True, False])
def test_two_edges_that_one_memory_says_and_two_merges_make_one_are_both_given_back(world: World, newest_first: bool) -> None:
    entities(world, *({"name": name} for name in "ABC"))
    observe(world, {"source": "A", "type": "t", "target": "A", "confidence": 0.3, "observed_at": day(0)})
    world.write("both", edges=[{"source": name, "type": "t", "target": name, "confidence": 0.3} for name in "AB"])
    before = state(world)
    merges = [merge(world, "C", "A"), merge(world, "A", "B")]
    for made in reversed(merges) if newest_first else [*merges, merges[0]]:
        try:
            with world.connection.transaction():
                undo(world, made)
        except errors.UniqueViolation:  # what it joined was moved on: that one first
            assert not newest_first
    assert state(world) == before


def test_a_fact_goes_back_also_when_the_aspect_that_took_it_has_gone_back_before(world: World) -> None:
    entities(world, *({"name": name} for name in "ABC"))
    for name in "AC":
        aspect(world, name, "x", f"fact of {name}")
    before = state(world)
    for made in [merge(world, "B", "A"), merge(world, "A", "C")]:  # the first one first
        undo(world, made)
    assert state(world) == before


# What stays when a merge or a split is undone


def undone(world: World, made: Any, **choice: Any) -> Row:
    return world.row("select * from loci_api.undo_merge(%(ns)s, %(id)s, %(c)s)", id=made, c=Jsonb(choice))


@pytest.mark.parametrize("keep", [None, True, False])
@pytest.mark.parametrize("was_alias", [True, False])
def test_undoing_a_split_says_which_names_stay_and_keeps_none_if_asked(world: World, keep: bool | None, was_alias: bool) -> None:
    entities(world, {"name": "Ann", "aliases": ["Annie", *(["Anne B"] if was_alias else [])]})
    split = Jsonb({"name": "Anne B", "aliases": ["Bee"]})
    made = world.value("select merge_id from loci_api.split_entity(%(ns)s, 'Ann', %(s)s)", s=split)
    row = undone(world, made, **({} if keep is None else {"keep_names": keep}))
    left = ["Anne B", "Bee"] if keep is not False else ["Anne B"] if was_alias else []
    assert row["aliases"] == left
    assert get(world, "Ann")["aliases"] == ["Annie", *left]
    assert row["edges"] == []


def test_undoing_a_merge_says_which_edges_were_written_since_and_gives_those_that_are_chosen(world: World) -> None:
    entities(world, {"name": "Ann"}, {"name": "Anne"})
    observe(world, {"source": "Ann", "type": "knows", "target": "Bob"}, {"source": "Anne", "type": "knows", "target": "Cleo"})
    made = merge(world, "Ann", "Anne")
    items = [("Anne", "likes", "tea"), ("Anne", "likes", "rum"), ("Dan", "knows", "Anne")]
    new = observe(world, *({"source": s, "type": t, "target": o} for s, t, o in items))
    row = undone(world, made, edge_ids=[str(new[0]["id"]), str(new[2]["id"])])
    assert [(e["source"], e["type"], e["target"]) for e in row["edges"]] == [("Ann", "likes", "rum")]
    rows = world.rows("select source, target from loci.list_edges(%(ns)s) order by 1, 2")
    assert [(e["source"], e["target"]) for e in rows] == [
        ("Ann", "Bob"),
        ("Ann", "rum"),
        ("Anne", "Cleo"),
        ("Anne", "tea"),
        ("Dan", "Anne"),
    ]
    assert world.rows("select from loci.verify(%(ns)s) where broken > 0") == []


def test_undoing_a_merge_leaves_what_was_written_since_unless_it_is_chosen(world: World) -> None:
    entities(world, {"name": "Ann"}, {"name": "Anne"})
    made = merge(world, "Ann", "Anne")
    (new,) = observe(world, {"source": "Anne", "type": "likes", "target": "tea"})
    assert [edge["id"] for edge in undone(world, made)["edges"]] == [str(new["id"])]
    assert world.value("select source from loci.list_edges(%(ns)s)") == "Ann"


def test_an_edge_that_the_kept_entity_does_not_have_is_refused_and_nothing_is_undone(world: World) -> None:
    entities(world, {"name": "Ann"}, {"name": "Anne"})
    made = merge(world, "Ann", "Anne")
    (other,) = observe(world, {"source": "Bob", "type": "likes", "target": "tea"})
    with pytest.raises(errors.NoDataFound, match="no such edge") as raised, world.connection.transaction():
        undone(world, made, edge_ids=[str(other["id"])])
    assert raised.value.diag.column_name == "edge_ids"
    assert names(world) == ["Ann", "Bob", "tea"]
