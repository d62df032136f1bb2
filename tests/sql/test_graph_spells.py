"""Edges in two times: spells in which they hold, observations that say so, and what each moment makes of both."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day
from tests.sql.test_graph import observe
from tests.sql.test_graph_single_valued import at as homes
from tests.sql.test_graph_single_valued import declare, lives
from tests.sql.undoing import operation, undo

KIEL = {"source": "Pia", "type": "lived_in", "target": "Kiel"}
ACME = {"source": "Pia", "type": "works_at", "target": "Acme"}


def at(world: World, moment: datetime | None = None, known_at: datetime | None = None) -> list[tuple[str, float]]:
    rows = world.rows("select * from loci.edges_as_of(%(ns)s, %(m)s, %(k)s)", m=moment or world.now(), k=known_at)
    return [(row["target"], round(row["confidence"], 6)) for row in rows]


def spells(world: World, believed: bool = True) -> list[tuple[datetime, datetime | None]]:
    rows = world.rows(
        """select valid_from, valid_to from loci.edge_spells where namespace = %(ns)s and (superseded_at is null) = %(b)s
           order by valid_from, recorded_at""",
        b=believed,
    )
    return [(row["valid_from"], row["valid_to"]) for row in rows]


def edge(world: World, id: Any, **given: Any) -> Row:
    return world.row(
        "select * from loci.get_edge(%(ns)s, %(id)s, %(as_of)s, %(known_at)s)", id=id, **{"as_of": None, "known_at": None} | given
    )


# What is told of the past


@pytest.mark.row("G2")
def test_an_edge_told_later_holds_at_its_time_without_decay(world: World) -> None:
    observe(world, {**KIEL, "valid_from": day(0), "valid_to": day(730), "confidence": 0.7})
    assert [at(world, day(n)) for n in (-1, 0, 365, 730)] == [[], [("Kiel", 0.7)], [("Kiel", 0.7)], []]
    assert at(world) == []


@pytest.mark.row("G8")
def test_before_it_was_first_observed_an_edge_is_what_was_stated_and_after_that_it_decays(world: World) -> None:
    observe(world, {**ACME, "valid_from": day(0), "observed_at": day(120), "confidence": 0.8})
    assert at(world, day(60)) == [("Acme", 0.8)]
    (later,) = at(world, day(150))
    assert later[1] == pytest.approx(0.8 * 0.7408, abs=1e-4)


def test_an_edge_that_was_never_sure_is_faded_at_every_moment(world: World) -> None:
    observe(world, {**KIEL, "valid_from": day(0), "valid_to": day(730), "confidence": 0.05})
    assert at(world, day(365)) == []


@pytest.mark.row("G2")
def test_twice_in_one_place_are_two_spells(world: World) -> None:
    observe(world, {**ACME, "valid_from": day(0), "valid_to": day(365)})
    known_at = world.now()
    observe(world, {**ACME, "valid_from": day(1800)})
    assert spells(world) == [(day(0), day(365)), (day(1800), None)]
    assert [len(at(world, day(n))) for n in (100, 365, 1000, 1800, 2000)] == [1, 0, 0, 1, 1]
    assert at(world, day(2000), known_at) == []


def test_a_later_spell_is_not_faded_by_what_was_said_of_an_earlier_one(world: World) -> None:
    observe(world, {**ACME, "valid_from": day(0), "valid_to": day(365), "observed_at": day(10)})
    observe(world, {**ACME, "valid_from": day(1800), "observed_at": day(2100)})
    assert at(world, day(1900)) == [("Acme", 1.0)]


def test_seen_again_after_its_end_it_begins_anew_and_the_gap_stays(world: World) -> None:
    observe(world, {**ACME, "observed_at": day(0), "valid_to": day(10)})
    observe(world, {**ACME, "observed_at": day(50)})
    assert spells(world) == [(day(0), day(10)), (day(50), None)]


@pytest.mark.parametrize("swapped", [False, True])
def test_an_end_that_was_stated_later_ends_the_spell_in_whatever_order_it_is_told(world: World, swapped: bool) -> None:
    told = [{**ACME, "observed_at": day(0)}, {**ACME, "valid_from": day(0), "observed_at": day(20), "valid_to": day(10)}]
    for item in reversed(told) if swapped else told:
        observe(world, item)
    assert spells(world) == [(day(0), day(10))]


def test_a_spell_that_is_believed_no_longer_is_there_with_the_time_in_which_it_was(world: World) -> None:
    observe(world, {**ACME, "observed_at": day(0)})
    observe(world, {**ACME, "observed_at": day(5), "valid_to": day(10)})
    assert (spells(world), spells(world, believed=False)) == ([(day(0), day(10))], [(day(0), None)])


def test_an_end_alone_of_an_unknown_edge_is_refused_by_name(world: World) -> None:
    with pytest.raises(errors.InvalidParameterValue) as raised:
        observe(world, KIEL, {**ACME, "valid_to": day(0)})
    assert raised.value.diag.column_name == "edges[1].valid_from"


@pytest.mark.parametrize(
    "moments", [{"valid_from": "infinity"}, {"valid_to": "-infinity"}, {"valid_from": day(2), "valid_to": day(1)}]
)
def test_a_time_that_is_none_is_refused_by_name(world: World, moments: Row) -> None:
    with pytest.raises(errors.InvalidParameterValue) as raised:
        observe(world, {**ACME, **moments})
    assert raised.value.diag.column_name in {"edges[0].valid_from", "edges[0].valid_to"}


# Edges of memories


@pytest.mark.row("G2")
def test_a_fact_about_1980_that_is_told_today_was_observed_today(world: World) -> None:
    carried = {"source": "Carl", "type": "born_in", "target": "Ulm"}
    world.write("Carl was born in Ulm", valid_from=day(-14610), edges=[carried])
    assert at(world, day(-14000)) == [("Ulm", 1.0)]
    assert at(world) == [("Ulm", pytest.approx(1.0, abs=1e-4))]  # it fades since


def test_an_episode_was_observed_when_it_happened_unless_the_edge_says_otherwise(world: World) -> None:
    carried = {"source": "Carl", "type": "sang", "target": "Songs"}
    world.write(
        "Carl sang", layer=3, valid_from=day(0), edges=[carried, {**carried, "target": "Hymns", "observed_at": day(30).isoformat()}]
    )
    rows = world.rows("select target, last_observed_at, valid_from from loci.edges_as_of(%(ns)s, %(m)s)", m=day(40))
    assert [tuple(row.values()) for row in rows] == [("Songs", day(0), day(0)), ("Hymns", day(30), day(0))]


def test_an_edge_of_a_memory_ends_when_the_memory_does(world: World) -> None:
    world.write("Pia lived in Kiel", valid_from=day(0), valid_to=day(730), edges=[KIEL])
    assert spells(world) == [(day(0), day(730))]


# Evidence


@pytest.mark.row("G9")
def test_merged_evidence_counts_like_evidence_of_one(world: World) -> None:
    for source in ("one", "other", "both"):
        for session, confidence in (("a", 1.0), ("b", 0.6)):
            name = source if source == "both" else {"a": "one", "b": "other"}[session]
            if source in (name, "both"):
                item = {"source": name, "type": "plays", "target": "Go", "session_id": session, "confidence": confidence}
                observe(world, {**item, "observed_at": day(0)})
    world.rows("select * from loci_api.merge_entities(%(ns)s, 'other', 'one')")
    rows = world.rows("select source, confidence, observations from loci.edges_as_of(%(ns)s, %(m)s) order by 1", m=day(0))
    assert [tuple(row.values()) for row in rows] == [("both", 1.0, 2), ("other", 1.0, 2)]


@pytest.mark.row("G2")
def test_figures_of_a_moment_are_those_of_what_had_been_seen_by_then(world: World) -> None:
    for number in range(4):
        observe(world, {**ACME, "observed_at": day(number), "session_id": "s"})
    rows = [
        world.row("select observations, last_observed_at from loci.edges_as_of(%(ns)s, %(m)s)", m=day(n + 0.5)) for n in range(4)
    ]
    assert [tuple(row.values()) for row in rows] == [(n + 1, day(n)) for n in range(4)]


def test_an_older_observation_that_is_told_second_counts_where_it_belongs(world: World) -> None:
    observe(world, {**ACME, "observed_at": day(100), "session_id": "new", "confidence": 0.5})
    known_at = world.now()
    observe(world, {**ACME, "observed_at": day(50), "session_id": "old", "confidence": 0.9})
    assert at(world, day(50)) == [("Acme", 0.9)]
    assert at(world, day(100)) == [("Acme", 1.0)]
    assert at(world, day(100), known_at) == [("Acme", 0.5)]


def test_a_later_setting_does_not_change_what_observations_did(world: World) -> None:
    for number, mode in ((0, "initial"), (10, "initial"), (20, "full")):
        world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"reinforcement": mode}}))
        observe(world, {**ACME, "observed_at": day(number), "confidence": 0.5})
    assert [at(world, day(n))[0][1] for n in (0, 10, 20)] == [0.5, 0.5, 1.0]


# One edge with all that it rests on


def test_an_edge_is_shown_with_its_spells_and_its_evidence(world: World) -> None:
    memory = world.write("Pia works at Acme again")["id"]
    (made,) = observe(
        world, {**ACME, "valid_from": day(0), "valid_to": day(10), "observed_at": day(5), "session_id": "s", "confidence": 0.6}
    )
    known_at = world.now()
    observe(world, {**ACME, "memory_id": memory, "observed_at": day(30), "confidence": 0.5})
    row = edge(world, made["id"], as_of=day(30))
    assert (row["valid_from"], row["valid_to"], row["confidence"], row["observations"]) == (day(30), None, 1.0, 2)
    assert [
        (datetime.fromisoformat(s["valid_from"]), s["valid_to"] and datetime.fromisoformat(s["valid_to"])) for s in row["spells"]
    ] == [
        (day(0), day(10)),
        (day(30), None),
    ]
    assert [(e["confidence"], e["restored"], e["session_id"], e["memory_id"]) for e in row["evidence"]] == [
        (0.5, True, None, str(memory)),
        (0.6, False, "s", None),
    ]
    then = edge(world, made["id"], as_of=day(30), known_at=known_at)
    assert (len(then["spells"]), len(then["evidence"]), then["valid_to"]) == (1, 1, day(10))
    with pytest.raises(errors.NoDataFound):
        edge(world, made["id"], known_at=known_at - timedelta(days=1))


# One target at a time


@pytest.mark.row("S7")
def test_rome_oslo_and_rome_again(world: World) -> None:
    declare(world)
    for place, number in (("Rome", 0), ("Oslo", 100), ("Rome", 200)):
        observe(world, lives(place, number))
    assert [homes(world, day(n)) for n in (50, 150, 250)] == [["Rome"], ["Oslo"], ["Rome"]]


def test_an_interlude_that_ends_gives_way_to_what_went_on_before(world: World) -> None:
    declare(world)
    observe(world, lives("Rome", 0))
    observe(world, lives("Oslo", 100, valid_to=day(120)))
    assert [homes(world, day(n)) for n in (50, 110, 130)] == [["Rome"], ["Oslo"], ["Rome"]]


@pytest.mark.row("S7")
def test_the_reply_names_what_ended_and_a_decision_stands_for_it(world: World) -> None:
    declare(world)
    (rome,) = observe(world, lives("Rome", 0))
    (oslo,) = observe(world, lives("Oslo", 100))
    assert rome["superseded"] == []
    (ended,) = oslo["superseded"]
    assert (ended["id"], ended["target"], datetime.fromisoformat(ended["valid_to"])) == (str(rome["id"]), "Rome", day(100))
    (decision,) = world.rows("select * from loci.list_supersessions(%(ns)s, 'applied', 'single_valued', 'Alice')")
    assert (str(decision["id"]), decision["entity"]) == (ended["supersession_id"], "Alice")
    assert (decision["older"], decision["newer"], decision["ended_at"]) == ("lives_in Rome", "lives_in Oslo", day(100))
    assert world.row("select older, newer from loci.supersessions where namespace = %(ns)s") == {
        "older": "lives_in Rome",
        "newer": "lives_in Oslo",
    }


def decide(world: World, status: str) -> None:
    """Of the first decision."""
    calls: dict[str, Any] = {
        "undone": "select status from loci_api.undo_supersession(%(ns)s, %(id)s)",
        "applied": "select status from loci_api.apply_supersession(%(ns)s, %(id)s)",
    }
    first = world.rows("select id from loci.list_supersessions(%(ns)s)")[-1]["id"]
    assert world.value(calls[status], id=first) == status


@pytest.mark.row("S7")
def test_undone_both_hold_until_a_third_comes_and_accepted_again_they_do_not(world: World) -> None:
    declare(world)
    observe(world, lives("Rome", 0))
    observe(world, lives("Oslo", 100))
    decide(world, "undone")
    assert homes(world, day(150)) == ["Rome", "Oslo"]
    observe(world, lives("Oslo", 160), lives("Rome", 170))
    assert homes(world, day(180)) == ["Rome", "Oslo"]
    decide(world, "applied")
    assert [homes(world, day(n)) for n in (150, 180)] == [["Oslo"], ["Rome"]]
    decide(world, "undone")
    observe(world, lives("Kiel", 200))
    assert homes(world, day(210)) == ["Kiel"]


def test_undoing_what_was_undone_by_hand_and_the_observation_itself(world: World) -> None:
    declare(world)
    observe(world, lives("Rome", 0))
    _, told = operation(world, lambda: observe(world, lives("Oslo", 100)))
    _, apart = operation(world, lambda: decide(world, "undone"))
    undo(world, apart)
    assert homes(world, day(150)) == ["Oslo"]
    back = undo(world, told)["operation_id"]
    assert homes(world, day(150)) == ["Rome"]
    assert world.value("select status from loci.list_supersessions(%(ns)s)") == "dismissed"
    undo(world, back)
    assert homes(world, day(150)) == ["Oslo"]
    assert world.value("select status from loci.list_supersessions(%(ns)s)") == "applied"


def test_a_deleted_edge_ends_nothing_any_more(world: World) -> None:
    declare(world)
    observe(world, lives("Rome", 0))
    (oslo,) = observe(world, lives("Oslo", 100))
    known_at = world.now()
    world.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=oslo["id"])
    assert (homes(world, day(150)), homes(world, day(150), known_at)) == (["Rome"], ["Oslo"])


def test_an_erased_memory_ends_nothing_and_no_belief_tells_of_it(world: World) -> None:
    declare(world)
    world.write("Alice lives in Rome", entities=[{"name": "Alice"}])
    observe(world, lives("Rome", 0))
    memory = world.write(
        "Alice moved to Oslo", valid_from=day(100), edges=[{"source": "Alice", "type": "lives_in", "target": "Oslo"}]
    )
    assert homes(world, day(150)) == ["Oslo"]
    world.erase(memory["id"])
    assert homes(world, day(150)) == ["Rome"]
    assert spells(world) == [(day(0), None)]


def test_rivals_that_a_merge_brings_together_take_turns_and_part_again(world: World) -> None:
    declare(world)
    observe(world, lives("Rome", 0), {**lives("Oslo", 100), "source": "Alicia"})
    made = world.row("select * from loci_api.merge_entities(%(ns)s, 'Alice', 'Alicia')")["merge_id"]
    assert [homes(world, day(n)) for n in (50, 150)] == [["Rome"], ["Oslo"]]
    world.rows("select * from loci_api.undo_merge(%(ns)s, %(id)s)", id=made)
    assert homes(world, day(150)) == ["Rome"]


def test_a_merge_keeps_what_holds_beside_each_other_and_notes_nothing_twice(world: World) -> None:
    declare(world)
    for place, number in (("Rome", 0), ("Oslo", 100), ("Kiel", 200)):
        observe(world, lives(place, number))
    decide(world, "undone")
    before = [homes(world, day(n)) for n in (50, 150, 250)]
    assert before == [["Rome"], ["Rome", "Oslo"], ["Kiel"]]
    decisions = "select status, older, newer from loci.list_supersessions(%(ns)s)"
    stood = world.rows(decisions)
    world.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Alicia"}]\')')
    made = world.row("select * from loci_api.merge_entities(%(ns)s, 'Alicia', 'Alice')")["merge_id"]
    assert [homes(world, day(n)) for n in (50, 150, 250)] == before
    assert world.rows(decisions) == stood
    world.rows("select * from loci_api.undo_merge(%(ns)s, %(id)s)", id=made)
    assert [homes(world, day(n)) for n in (50, 150, 250)] == before
    assert world.rows(decisions) == stood


# Walks


def test_a_path_says_which_way_each_step_points(world: World) -> None:
    observe(world, {"source": "Bob", "type": "manages", "target": "Carl"}, {"source": "Bob", "type": "knows", "target": "Dan"})
    rows = world.rows("select path from loci.traverse(%(ns)s, array['Carl'], p_paths => true) order by ordinal")
    assert [row["path"] for row in rows] == [["Carl", "<--manages--", "Bob"], ["Carl", "<--manages--", "Bob", "--knows-->", "Dan"]]


def test_all_bounds_that_cut_a_walk_are_named_in_the_order_in_which_they_did(world: World) -> None:
    world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"fan_out": 2}}))
    observe(world, *({"source": "a", "type": "t", "target": f"b{n}"} for n in range(4)))
    observe(world, *({"source": "b0", "type": "t", "target": f"c{n}"} for n in range(2)))
    rows = world.rows("select truncated from loci.traverse(%(ns)s, array['a'], p_limit => 3)")
    assert {tuple(row["truncated"]) for row in rows} == {("fan_out", "limit")}
