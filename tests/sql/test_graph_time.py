"""The graph at two times: as of a moment, as known at another."""

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from psycopg.errors import InvalidParameterValue, NoDataFound
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day
from tests.sql.test_graph import observe


def walk(world: World, as_of: datetime | None = None, known_at: datetime | None = None, start: str = "a") -> list[Row]:
    return world.rows(
        "select * from loci.traverse(%(ns)s, array[%(start)s], p_as_of => %(as_of)s, p_known_at => %(known_at)s)",
        start=start,
        as_of=as_of,
        known_at=known_at,
    )


def listed(world: World, as_of: datetime | None = None, known_at: datetime | None = None, faded: bool = False) -> list[Row]:
    return world.rows(
        "select * from loci.edges_as_of(%(ns)s, %(as_of)s, %(known_at)s, %(faded)s)",
        as_of=as_of or world.now(),
        known_at=known_at,
        faded=faded,
    )


def neighbours(world: World, as_of: datetime | None = None, known_at: datetime | None = None) -> list[Row]:
    return world.rows(
        "select * from loci.neighbors(%(ns)s, 'a', p_as_of => %(as_of)s, p_known_at => %(known_at)s)",
        as_of=as_of,
        known_at=known_at,
    )


WAYS = pytest.mark.parametrize("look", [walk, listed, neighbours])
Look = Callable[..., list[Row]]


def entity(world: World, ref: str, **moments: Any) -> Row:
    return world.row(
        "select * from loci.get_entity(%(ns)s, %(ref)s, %(as_of)s, %(known_at)s)",
        **{"ref": ref, "as_of": None, "known_at": None} | moments,
    )


# Edges, one promise each


@WAYS
def test_an_observation_recorded_later_does_not_raise_an_earlier_confidence(world: World, look: Look) -> None:
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(0), "session_id": "s1", "confidence": 0.5})
    known_at = world.now()
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(10), "session_id": "s2"})
    assert look(world, day(20), known_at)[0]["confidence"] == pytest.approx(0.5 * math.exp(-0.2))
    assert look(world, day(20))[0]["confidence"] == pytest.approx(math.exp(-0.1))


@pytest.mark.row("S8")
@WAYS
def test_an_edge_deleted_later_is_there_at_an_earlier_known_at(world: World, look: Look) -> None:
    before = world.now()
    (made,) = observe(world, {"source": "a", "type": "t", "target": "b"})
    known_at = world.now()
    world.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=made["id"])
    assert [row["id"] for row in look(world, None, known_at)] == [made["id"]]
    assert look(world) == []
    assert look(world, None, before) == []


@WAYS
def test_an_edge_that_was_closed_later_is_open_at_an_earlier_known_at(world: World, look: Look) -> None:
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(0)})
    known_at = world.now()
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(5), "valid_to": day(10)})
    assert len(look(world, day(20), known_at)) == 1
    assert look(world, day(20)) == []
    assert len(look(world, day(7))) == 1


@WAYS
def test_a_back_dated_observation_lengthens_the_past_only_once_it_is_known(world: World, look: Look) -> None:
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(50)})
    known_at = world.now()
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(10), "confidence": 0.4, "session_id": "s"})
    assert look(world, day(20), known_at) == []
    assert look(world, day(20))[0]["confidence"] == pytest.approx(0.4 * math.exp(-0.1))


@pytest.mark.row("G2")
def test_a_list_of_a_past_moment_counts_the_evidence_of_then(world: World) -> None:
    for number in (0, 10, 20):
        observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(number), "session_id": f"s{number}"})
    (row,) = listed(world, day(15))
    assert (row["observations"], row["first_observed_at"], row["last_observed_at"]) == (2, day(0), day(10))


def test_a_faded_edge_of_a_past_moment_is_shown_when_asked_for(world: World) -> None:
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(0), "session_id": "s1"})
    known_at = world.now()
    observe(world, {"source": "a", "type": "t", "target": "b", "observed_at": day(400), "session_id": "s2"})
    assert listed(world, day(401), known_at) == []
    assert [row["faded"] for row in listed(world, day(401), known_at, faded=True)] == [True]
    assert [row["faded"] for row in listed(world, day(401))] == [False]


@pytest.mark.parametrize("moment", ["as_of", "known_at"])
@pytest.mark.parametrize("function", ["traverse", "list_edges"])
def test_a_moment_must_be_finite(world: World, function: str, moment: str) -> None:
    observe(world, {"source": "a", "type": "t", "target": "b"})
    calls: dict[str, Any] = {
        "traverse": "select * from loci.traverse(%(ns)s, array['a'], p_as_of => %(as_of)s, p_known_at => %(known_at)s)",
        "list_edges": "select * from loci.list_edges(%(ns)s, p_as_of => %(as_of)s, p_known_at => %(known_at)s)",
    }
    with pytest.raises(InvalidParameterValue) as raised:
        world.rows(calls[function], **{"as_of": None, "known_at": None, moment: "infinity"})
    assert raised.value.diag.column_name == moment


def test_the_graph_arm_walks_edges_as_they_were_known(world: World) -> None:
    world.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Zeus"}, {"name": "Hera"}]\')')
    memory = world.write("queen of the gods", entities=[{"name": "Hera"}])["id"]
    known_at = world.now()
    observe(world, {"source": "Zeus", "type": "loves", "target": "Hera"})
    assert arm(world, known_at) == []
    assert arm(world, None) == [memory]


def arm(world: World, known_at: datetime | None) -> list[Any]:
    rows = world.rows("select id from loci_api.recall_graph_arm(%(ns)s, 'Zeus', p_known_at => %(known_at)s)", known_at=known_at)
    return [row["id"] for row in rows]


# Entities


def test_an_entity_is_seen_from_what_the_earliest_thing_said_of_it_dates_from(world: World) -> None:
    world.write("x", valid_from=day(50), entities=[{"name": "Zeus"}])
    assert entity(world, "Zeus")["first_seen_at"] == day(50)
    observe(world, {"source": "Zeus", "type": "t", "target": "Hera", "observed_at": day(20)})
    assert [entity(world, name)["first_seen_at"] for name in ("Zeus", "Hera")] == [day(20)] * 2
    with pytest.raises(NoDataFound):
        entity(world, "Zeus", as_of=day(19))


def test_an_edge_between_ids_lowers_first_seen_at_too(world: World) -> None:
    world.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "a"}, {"name": "b"}]\')')
    a, b = (str(entity(world, name)["id"]) for name in "ab")
    observe(world, {"source": a, "type": "t", "target": b, "observed_at": day(3)})
    assert [entity(world, name)["first_seen_at"] for name in "ab"] == [day(3)] * 2


@pytest.mark.row("G1")
def test_an_entity_is_what_was_believed_of_it_then(world: World) -> None:
    world.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Zeus", "type": "unknown"}]\')')
    made, known_at = entity(world, "Zeus"), world.now()
    changes = {"name": "Jupiter", "type": "god", "aliases": ["Jove"], "description": "thunder", "metadata": {"k": 1}}
    world.rows("select * from loci_api.update_entity(%(ns)s, %(id)s, %(c)s)", id=made["id"], c=Jsonb(changes))
    world.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=made["id"])
    then, now = entity(world, "Zeus", known_at=known_at), entity(world, "jove")
    assert [then[key] for key in ("name", "type", "aliases", "description", "metadata", "pinned")] == [
        "Zeus",
        "unknown",
        [],
        None,
        {},
        False,
    ]
    assert [now[key] for key in ("name", "type", "pinned")] == ["Jupiter", "god", True]


def test_an_alias_of_then_means_the_entity_that_had_it(world: World) -> None:
    """Given up since, or taken over by another; a name of then wins over it, and what was no name then is that of now."""

    def write(*items: dict[str, Any]) -> None:
        world.rows("select * from loci_api.upsert_entities(%(ns)s, %(items)s)", items=Jsonb(items))

    def change(ref: str, **changes: Any) -> None:
        entity_id = entity(world, ref)["id"]
        world.rows("select * from loci_api.update_entity(%(ns)s, %(id)s, %(c)s)", id=entity_id, c=Jsonb(changes))

    write({"name": "Max"}, {"name": "Zeus"}, {"name": "Hera", "aliases": ["Queen"]})
    change("Zeus", aliases=["The Boss", "Max"])
    observe(world, {"source": "Zeus", "type": "rules", "target": "Olympus"})
    known_at = world.now()
    change("Zeus", aliases=[])
    write({"name": "Hades", "aliases": ["The Boss"]})
    change("Hera", aliases=["the boss", "Juno"])
    meant = {ref: entity(world, ref, known_at=known_at)["name"] for ref in ("the  boss", "max", "queen", "juno")}
    assert meant == {"the  boss": "Zeus", "max": "Max", "queen": "Hera", "juno": "Hera"}
    assert [row["target"] for row in walk(world, known_at=known_at, start="The Boss")] == ["Olympus"]
    assert entity(world, "the boss")["name"] in {"Hades", "Hera"}


def test_a_list_of_entities_shows_those_that_were_known_and_seen(world: World) -> None:
    world.write("x", valid_from=day(50), entities=[{"name": "Zeus"}])
    known_at = world.now()
    world.write("y", valid_from=day(10), entities=[{"name": "Hera"}])
    assert names(world) == ["Hera", "Zeus"]
    assert names(world, known_at=known_at) == ["Zeus"]
    assert names(world, as_of=day(20)) == ["Hera"]
    assert names(world, as_of=day(20), known_at=known_at) == []


def names(world: World, **moments: Any) -> list[str]:
    rows = world.rows(
        "select name from loci.list_entities(%(ns)s, p_as_of => %(as_of)s, p_known_at => %(known_at)s)",
        **{"as_of": None, "known_at": None} | moments,
    )
    return sorted(row["name"] for row in rows)


def test_counting_an_entity_again_keeps_no_belief(world: World) -> None:
    for number in range(3):
        world.write(f"memory {number}", entities=[{"name": "Zeus"}])
    assert world.value("select count(*) from loci_data.entity_beliefs where namespace_id = %(ns_id)s") == 0


# Timeline


def timeline(world: World, ref: str, limit: int = 100, cursor: str | None = None) -> list[Row]:
    return world.rows(
        "select * from loci.entity_timeline(%(ns)s, %(ref)s, %(limit)s, %(cursor)s)", ref=ref, limit=limit, cursor=cursor
    )


def told(world: World) -> None:
    world.write("Zeus is angry", valid_from=day(10), lineage="mood", entities=[{"name": "Zeus", "type": "god"}])
    observe(world, {"source": "Zeus", "type": "loves", "target": "Hera", "observed_at": day(20), "valid_to": day(30)})
    id_ = entity(world, "Zeus")["id"]
    world.rows("select * from loci_api.update_entity(%(ns)s, %(id)s, %(c)s)", id=id_, c=Jsonb({"description": "thunder"}))


def test_a_timeline_tells_in_order_what_happened_around_an_entity(world: World) -> None:
    told(world)
    rows = timeline(world, "zeus")
    assert [(row["kind"], row["event"]) for row in rows] == [
        ("entity", "created"),
        ("memory", "version"),
        ("edge", "observed"),
        ("edge", "ended"),
        ("entity", "changed"),
    ]
    assert [row["at"] for row in rows[:4]] == [day(10), day(10), day(20), day(30)]
    assert (rows[2]["detail"]["source"], rows[2]["detail"]["target"]) == ("Zeus", "Hera")
    assert rows[1]["detail"]["content"] == "Zeus is angry"
    assert rows[4]["detail"] == {"description": "thunder"}


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_of_a_timeline_visit_each_event_once(world: World, limit: int) -> None:
    told(world)
    visited: list[Row] = []
    while page := timeline(world, "Zeus", limit, visited[-1]["cursor"] if visited else None):
        visited += page
    assert visited == timeline(world, "Zeus")


@pytest.mark.parametrize(
    "cursor", ["x", "1", "[]", "a,b,c", "{}", "{1}", "2026-01-01,2026-01-01", '"', "2026-01-01,2026-01-01,null"]
)
def test_a_wrong_cursor_of_a_timeline_is_refused(world: World, cursor: str) -> None:
    told(world)
    with pytest.raises(InvalidParameterValue) as raised:
        timeline(world, "Zeus", cursor=cursor)
    assert raised.value.diag.column_name == "cursor"


# Names at two times


@pytest.fixture
def renamed(world: World) -> World:
    """Bob, seen since the tenth day, who was called Robert (alias Rob) first; and Rob & Co., merged into Acme since."""
    world.write("Robert is here", valid_from=day(10), layer=3, entities=[{"name": "Robert", "type": "person", "aliases": ["Rob"]}])
    world.write("A firm", valid_from=day(10), layer=3, entities=[{"name": "Rob & Co."}, {"name": "Acme"}])
    return world


def change_names(world: World) -> datetime:
    """Rename, give the old names up, merge; the moment before."""
    before = world.now()
    update: Any = "select * from loci_api.update_entity(%(ns)s, %(id)s, %(c)s)"
    for changes in ({"name": "Bob", "type": "agent"}, {"aliases": []}):
        world.rows(update, id=entity(world, "Rob")["id"], c=Jsonb(changes))
    world.rows("select * from loci_api.merge_entities(%(ns)s, 'Acme', 'Rob & Co.')")
    return before


def matched(world: World, text: str, **moments: Any) -> list[tuple[str, str, int]]:
    rows = world.rows(
        "select name, matched, position from loci.match_entities(%(ns)s, %(text)s, %(as_of)s, %(known_at)s)",
        **{"text": text, "as_of": None, "known_at": None} | moments,
    )
    return [(row["name"], row["matched"], row["position"]) for row in rows]


TEXT = "Ask  ROB & Co., Robert or Bob; no Robertson"


def test_a_text_names_what_was_called_so_then(renamed: World) -> None:
    then = matched(renamed, TEXT)
    before = change_names(renamed)
    assert then == [("Rob & Co.", "ROB & Co.", 6), ("Robert", "ROB", 6)]
    assert matched(renamed, TEXT, known_at=before) == then
    assert matched(renamed, TEXT) == [("Acme", "ROB & Co.", 6), ("Bob", "Bob", 27)]
    assert matched(renamed, TEXT, known_at=day(0)) == matched(renamed, TEXT, as_of=day(9)) == []
    assert matched(renamed, TEXT, as_of=day(10)) == matched(renamed, TEXT)
    assert matched(renamed, TEXT, as_of=day(9), known_at=before) == []


def test_a_search_finds_by_the_names_and_types_of_then(renamed: World) -> None:
    def first(query: str, type: str | None = None, **moments: Any) -> list[str]:
        rows = renamed.rows(
            """select name from loci.search_entities(%(ns)s, %(q)s, p_type => %(type)s, p_as_of => %(as_of)s,
               p_known_at => %(known_at)s) where by_name > 0.6""",
            **{"q": query, "type": type, "as_of": None, "known_at": None} | moments,
        )
        return [row["name"] for row in rows]

    before = change_names(renamed)
    assert first("Robert") == []
    assert first("Robert", known_at=before) == first("Robert", "person", known_at=before) == ["Robert"]
    assert first("Robert", "agent", known_at=before) == first("Bob", known_at=before) == []
    assert first("Bob", as_of=day(10)) == ["Bob"]
    assert first("Bob", as_of=day(9)) == []


def test_a_timeline_ends_at_a_moment_and_tells_what_was_recorded_by_another(world: World) -> None:
    told(world)
    known_at = world.now()
    world.write("Zeus is calm", valid_from=day(25), lineage="mood", entities=[{"name": "Zeus"}])
    observe(world, {"source": "Zeus", "type": "loves", "target": "Hera", "observed_at": day(21), "valid_to": day(28)})

    def events(**moments: Any) -> list[tuple[str, str, datetime]]:
        rows = world.rows(
            "select * from loci.entity_timeline(%(ns)s, 'Zeus', 100, null, %(as_of)s, %(known_at)s)",
            **{"as_of": None, "known_at": None} | moments,
        )
        return [(row["kind"], row["event"], row["at"]) for row in rows]

    then = [
        ("entity", "created", day(10)),
        ("memory", "version", day(10)),
        ("edge", "observed", day(20)),
        ("edge", "ended", day(30)),
    ]
    assert events(known_at=known_at)[:4] == then
    assert len(events(known_at=known_at)) == 5
    assert events(known_at=known_at, as_of=day(20)) == then[:3]
    assert [at for _, event, at in events() if event == "ended"] == [day(28)]
    angry = "select detail from loci.entity_timeline(%(ns)s, 'Zeus', 9, null, null, %(known_at)s) where kind = 'memory'"
    assert world.row(angry, known_at=known_at)["detail"]["valid_to"] is None
    with pytest.raises(NoDataFound):
        events(known_at=day(0))
