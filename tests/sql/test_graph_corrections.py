"""Corrections of edges: confidence, strength and validity, as one operation; what was believed before stays known."""

from typing import Any

import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, stated
from tests.sql.test_graph import observe
from tests.sql.undoing import operation, undo

EDGE = {"source": "Pia", "type": "works_at", "target": "Acme"}
RIVAL = {"source": "Pia", "type": "lives_in"}


def correct(world: World, edge: Any = None, **changes: Any) -> Row:
    edge = edge or world.value("select id from loci_data.edges where namespace_id = %(ns_id)s and superseded_at is null")
    return world.row("select * from loci_api.update_edge(%(ns)s, %(id)s, %(c)s)", id=edge, c=Jsonb(stated(changes)))


def shown(world: World, **asked: Any) -> list[tuple[str, float]]:
    rows = world.rows(
        "select target, confidence from loci.list_edges(%(ns)s, p_faded => true, p_as_of => %(as_of)s, p_known_at => %(known_at)s)",
        **{"as_of": None, "known_at": None, **asked},
    )
    return [(row["target"], round(row["confidence"], 3)) for row in rows]


def spells(world: World, target: str = "Acme") -> list[tuple[Any, Any]]:
    rows = world.rows(
        """select valid_from, valid_to from loci.edge_spells where namespace = %(ns)s and superseded_at is null and target = %(t)s
           order by valid_from""",
        t=target,
    )
    return [(row["valid_from"], row["valid_to"]) for row in rows]


def single(world: World) -> None:
    world.rows("select * from loci_api.set_edge_type(%(ns)s, 'lives_in', '{\"single_valued\": true}')")


def test_confidence_is_lowered_and_raised_and_decays_from_then_on(world: World) -> None:
    observe(world, EDGE)
    assert correct(world, confidence=0.3)["confidence"] == pytest.approx(0.3, abs=1e-4)
    assert correct(world, confidence=0.9)["confidence"] == pytest.approx(0.9, abs=1e-4)
    row = world.row("select * from loci_data.edges where namespace_id = %(ns_id)s")
    assert (row["observations"], row["restored_at"]) == (1, row["last_observed_at"])
    assert world.rows("select from loci.verify(%(ns)s) where broken > 0") == []


def test_a_correction_is_there_at_moments_before_anybody_had_spoken_and_not_in_what_was_known_before(world: World) -> None:
    observe(world, {**EDGE, "valid_from": day(0)})
    known_at = world.now()
    correct(world, confidence=0.3)
    assert shown(world, as_of=day(100)) == [("Acme", 0.3)]
    assert shown(world, as_of=day(100), known_at=known_at) == [("Acme", 1.0)]


def test_a_moment_before_a_correction_shows_the_uncorrected_statement(world: World) -> None:
    observe(world, {**EDGE, "confidence": 0.8, "observed_at": day(0)})
    correct(world, confidence=0.3)
    assert shown(world, as_of=day(0.5)) == [("Acme", 0.796)]
    rows = world.rows("select * from loci.traverse(%(ns)s, array['Pia'], p_as_of => %(at)s)", at=day(0.5))
    assert [round(row["confidence"], 3) for row in rows] == [0.796]


def test_without_a_session_the_same_day_leaves_a_correction_and_a_new_conversation_restores(world: World) -> None:
    observe(world, EDGE)
    correct(world, confidence=0.3)
    assert not observe(world, EDGE)[0]["restored"]
    assert shown(world) == [("Acme", 0.3)]
    assert observe(world, {**EDGE, "session_id": "s"})[0]["restored"]
    assert shown(world) == [("Acme", 1.0)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"valid_from": day(20)}, (day(20), day(50))),
        ({"valid_from": day(5)}, (day(5), day(50))),
        ({"valid_to": day(30)}, (day(10), day(30))),
        ({"valid_to": day(90)}, (day(10), day(90))),
        ({"valid_to": None}, (day(10), None)),
        ({"valid_from": day(60), "valid_to": day(70)}, (day(60), day(70))),
    ],
)
def test_validity_is_moved_in_any_direction(world: World, changes: Row, expected: tuple[Any, Any]) -> None:
    observe(world, {**EDGE, "valid_from": day(10), "valid_to": day(50)})
    row = correct(world, **changes)
    assert (row["valid_from"], row["valid_to"]) == expected
    assert spells(world) == [expected]
    assert row["confidence"] > 0.99


def test_an_edge_that_was_never_true_holds_at_no_moment(world: World) -> None:
    observe(world, {**EDGE, "valid_from": day(10)})
    edge = world.value("select id from loci.list_edges(%(ns)s)")
    correct(world, valid_to=day(10))
    assert shown(world) == shown(world, as_of=day(20)) == []
    with pytest.raises(errors.InvalidParameterValue, match="is never valid"):
        correct(world, edge, valid_to=None)


def test_only_the_last_spell_is_corrected(world: World) -> None:
    observe(world, {**EDGE, "valid_from": day(0), "valid_to": day(10)}, {**EDGE, "valid_from": day(50), "valid_to": day(60)})
    correct(world, valid_from=day(40))
    correct(world, valid_to=day(55))
    assert spells(world) == [(day(0), day(10)), (day(40), day(55))]


@pytest.mark.parametrize("start", [30, 60])
def test_a_single_valued_edge_gives_way_and_comes_back(world: World, start: int) -> None:
    single(world)
    observe(world, {**RIVAL, "target": "Rome", "valid_from": day(0)})
    observe(world, {**RIVAL, "target": "Oslo", "valid_from": day(50)})
    correct(world, world.value("select id from loci.list_edges(%(ns)s)"), valid_from=day(start))
    assert spells(world, "Rome") == [(day(0), day(start))]
    assert spells(world, "Oslo") == [(day(start), None)]
    rows = world.rows("select status, ended_at from loci.list_supersessions(%(ns)s) order by created_at")
    assert [(row["status"], row["ended_at"]) for row in rows if row["status"] == "applied"] == [("applied", day(start))]


def test_it_is_one_operation_and_undoing_it_gives_back_all_that_it_changed(world: World) -> None:
    observe(world, {**EDGE, "strength": 0.4, "valid_from": day(10), "valid_to": day(50)})
    before = world.row(
        "select strength, valid_from, valid_to, observations from loci.list_edges(%(ns)s, p_as_of => %(d)s)", d=day(20)
    )
    known = lambda: (spells(world), shown(world, as_of=day(20)))  # noqa: E731
    was = known()
    _, made = operation(
        world, lambda: correct(world, _edge(world), confidence=0.2, strength=0.9, valid_from=day(15), valid_to=None)
    )
    assert known() != was
    undo(world, made)
    assert known() == was
    after = world.row(
        "select strength, valid_from, valid_to, observations from loci.list_edges(%(ns)s, p_as_of => %(d)s)", d=day(20)
    )
    assert after == before


def _edge(world: World) -> Any:
    return world.value("select id from loci.list_edges(%(ns)s, p_as_of => %(d)s)", d=day(20))


def test_a_correction_alone_shows_nothing(world: World) -> None:
    note = world.write("Pia works at Acme", edges=[EDGE])["id"]
    correct(world, confidence=0.5, valid_from=day(0))
    world.forget(note)
    assert shown(world) == shown(world, as_of=day(1)) == []
    world.forget(note, forget=False)
    assert shown(world, as_of=day(1)) == [("Acme", 0.5)]
    world.erase(note)
    assert world.rows("select from loci_data.edges where namespace_id = %(ns_id)s") == []


def test_evidence_and_the_timeline_tell_a_correction_from_an_observation(world: World) -> None:
    observe(world, EDGE)
    edge = correct(world, confidence=0.5)["id"]
    correct(world, edge, valid_from=day(0))
    row = world.row("select evidence from loci.get_edge(%(ns)s, %(id)s)", id=edge)
    assert [(e["corrects"], e["confidence"], e["restored"]) for e in row["evidence"]] == [
        (True, None, False),
        (True, 0.5, False),
        (False, 1.0, False),
    ]
    events = world.rows("select event from loci.entity_timeline(%(ns)s, 'Pia') where kind = 'edge' order by at, id")
    assert [row["event"] for row in events] == ["observed", "corrected", "corrected"]


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({}, "confidence", "at least one"),
        ({"confidence": 1.5}, "confidence", "a number from 0 to 1; it is 1.5"),
        ({"confidence": "high"}, "confidence", "a number from 0 to 1"),
        ({"strength": -1}, "strength", "a number from 0 to 1"),
        ({"valid_from": None}, "valid_from", "a finite time"),
        ({"valid_to": "infinity"}, "valid_to", "a finite time"),
        ({"valid_to": day(-1)}, "valid_to", "must not be before valid_from"),
        ({"valid_from": day(900), "valid_to": day(800)}, "valid_to", "must not be before valid_from"),
        ({"target": "Zeta"}, "target", "left out: confidence, strength, valid_from and valid_to can be corrected"),
    ],
)
def test_an_invalid_correction_is_refused_by_name_and_changes_nothing(world: World, changes: Row, field: str, said: str) -> None:
    observe(world, {**EDGE, "valid_from": day(0)})
    with pytest.raises(errors.InvalidParameterValue, match=said) as raised, world.connection.transaction():
        correct(world, **changes)
    assert raised.value.diag.column_name == field
    assert world.value("select count(*) from loci_data.edge_observations where namespace_id = %(ns_id)s") == 1


def test_an_edge_that_was_taken_back_is_not_corrected(world: World) -> None:
    observe(world, EDGE)
    edge = world.value("select id from loci.list_edges(%(ns)s)")
    world.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=edge)
    with pytest.raises(errors.NoDataFound):
        correct(world, edge, confidence=0.5)


# Ends that say nothing


@pytest.mark.parametrize("known", [{"valid_from": day(50)}, {"valid_from": day(50), "valid_to": day(60)}, {"observed_at": day(50)}])
@pytest.mark.parametrize("end", [10, 50])
def test_an_end_before_every_spell_of_an_edge_is_refused_and_changes_nothing(world: World, known: Row, end: int) -> None:
    observe(world, {**EDGE, **known})
    with (
        pytest.raises(errors.InvalidParameterValue, match=r"edges\[0\].valid_from is needed: it ended") as raised,
        world.connection.transaction(),
    ):
        observe(world, {**EDGE, "valid_to": day(end)})
    assert raised.value.diag.column_name == "edges[0].valid_from"
    assert world.value("select count(*) from loci_data.edge_observations where namespace_id = %(ns_id)s") == 1


def test_an_end_in_a_spell_or_after_one_is_taken_and_so_is_one_whose_beginning_is_told_with_it(world: World) -> None:
    observe(world, {**EDGE, "valid_from": day(50)})
    observe(world, {**EDGE, "valid_from": day(0), "valid_to": day(10)}, {**EDGE, "valid_to": day(5)})
    observe(world, {**EDGE, "valid_to": day(60)})
    assert spells(world) == [(day(0), day(5)), (day(50), day(60))]


# Memories that end


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"valid_from": day(5)}, (day(5), day(50))),
        ({"valid_from": day(20)}, (day(20), day(50))),
        ({"valid_to": None}, (day(10), None)),
        ({"valid_to": day(30)}, (day(10), day(30))),
        ({"valid_to": day(90)}, (day(10), day(90))),
    ],
)
@pytest.mark.parametrize("first", ["end", "correction"])
def test_a_corrected_edge_ends_where_somebody_says_so_or_else_with_its_memory(
    world: World, changes: Row, expected: tuple[Any, Any], first: str
) -> None:
    world.write("Pia works at Acme", lineage="job", valid_from=day(10), edges=[EDGE])
    edge = world.value("select id from loci.list_edges(%(ns)s)")
    if first == "correction":
        correct(world, edge, **changes)
    world.write("Pia works nowhere", lineage="job", valid_from=day(50))
    if first == "end":
        correct(world, edge, **changes)
    assert spells(world) == [expected]
    assert world.rows("select from loci.verify(%(ns)s) where broken > 0") == []


def test_an_edge_whose_beginning_was_corrected_follows_its_memory_to_a_later_end(world: World) -> None:
    note = world.write("Pia works at Acme", valid_from=day(10), valid_to=day(50), edges=[EDGE])["id"]
    correct(world, _edge(world), valid_from=day(5))
    world.change(note, valid_to=day(70))
    assert spells(world) == [(day(5), day(70))]
    world.change(note, valid_to=None)
    assert spells(world) == [(day(5), None)]


def test_an_edge_whose_beginning_was_corrected_pauses_with_its_memory(world: World) -> None:
    world.write("Pia works at Acme", lineage="job", valid_from=day(10), edges=[EDGE])
    correct(world, _edge(world), valid_from=day(5))
    world.write("Pia travels", lineage="job", valid_from=day(30), valid_to=day(40))
    assert spells(world) == [(day(5), day(30)), (day(40), None)]


@pytest.mark.parametrize("changes", [{"valid_from": day(5)}, {"valid_to": None}])
def test_a_correction_shows_nothing_once_the_memory_that_it_rests_on_was_never_true(world: World, changes: Row) -> None:
    note = world.write("Pia works at Acme", valid_from=day(10), edges=[EDGE])["id"]
    correct(world, _edge(world), **changes)
    world.remember({"content": "Pia works nowhere", "corrects": note})
    assert spells(world) == []
