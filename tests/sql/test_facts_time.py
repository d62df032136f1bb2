"""Facts in two times: with their memories, with the decisions about them, and when they are said again."""

from collections.abc import Callable
from datetime import datetime
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from psycopg.errors import ExclusionViolation, InvalidParameterValue
from psycopg.types.json import Jsonb

from tests.factories import OPERATOR, Row, World, act_as, day, stated
from tests.sql.undoing import operation, undo


def entity(world: World, name: str = "Iris") -> UUID:
    row = world.row("select id from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": name}]))
    world.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=row["id"])
    return row["id"]


def aspect(world: World, of: str = "Iris", name: str = "home", **fields: Any) -> UUID:
    return world.row("select * from loci_api.upsert_aspect(%(ns)s, %(of)s, %(a)s)", of=of, a=Jsonb({"name": name, **fields}))["id"]


def add(world: World, under: UUID, content: str, **fields: Any) -> Row:
    return world.row(
        "select * from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)", id=under, a=Jsonb(stated({"content": content, **fields}))
    )


def change(world: World, id: UUID, **changes: Any) -> Row:
    return world.row("select * from loci_api.update_attribute(%(ns)s, %(id)s, %(c)s)", id=id, c=Jsonb(stated(changes)))


def held(world: World, as_of: datetime | None = None, known_at: datetime | None = None, of: str = "Iris") -> list[str]:
    rows = world.rows(
        "select * from loci.list_aspects(%(ns)s, %(of)s, %(as_of)s, %(known_at)s)", of=of, as_of=as_of, known_at=known_at
    )
    return sorted(item["content"] for row in rows for item in row["attributes"] + row["constraints"])


def walked(world: World, as_of: datetime | None) -> list[str]:
    row = world.row("select * from loci.walk(%(ns)s, 'Iris', null, null, null, %(as_of)s, null, true)", as_of=as_of)
    return sorted(item["content"] for item in row["attributes"] + row["constraints"])


def pictured(world: World, as_of: datetime | None) -> list[str]:
    row = world.row("select * from loci.constellation(%(ns)s, p_as_of => %(as_of)s)", as_of=as_of)
    return sorted(t["content"] for e in row["entities"] for a in e["aspects"] for t in a["attributes"])


def decisions(world: World, status: str | None = None) -> list[Row]:
    return world.rows("select * from loci.list_supersessions(%(ns)s, %(status)s)", status=status)


def decide(world: World, verb: str, id: UUID) -> Row:
    calls = {name: f"select * from loci_api.{name}_supersession(%(ns)s, %(id)s)" for name in ("apply", "undo")}
    return world.row(calls[verb], id=id)  # type: ignore[arg-type]


def sound(world: World) -> bool:
    return world.rows("select * from loci.verify(%(ns)s) where broken > 0") == []


def forgotten(world: World, memory: UUID) -> None:
    world.forget(memory)


def corrected(world: World, memory: UUID) -> None:
    world.remember({"content": "Iris said something else", "corrects": memory})


def emptied(world: World, memory: UUID) -> None:
    world.change(memory, valid_to=day(0))


@pytest.mark.row("S8")
@pytest.mark.parametrize("gone", [forgotten, corrected, emptied])
def test_facts_of_a_forgotten_memory_are_hidden_at_every_moment(world: World, gone: Callable[[World, UUID], None]) -> None:
    entity(world)
    memory = world.write("Iris told me that she has asthma", valid_from=day(0))["id"]
    under = aspect(world)
    add(world, under, "Iris has asthma", valid_from=day(0), memory_id=memory)
    add(world, under, "never mention it", kind="constraint", valid_from=day(0), memory_id=memory)
    before, both = world.now(), ["Iris has asthma", "never mention it"]
    assert [held(world, day(9)), walked(world, day(9)), pictured(world, None)] == [both] * 3
    gone(world, memory)
    for moment in (None, day(9), day(0)):
        assert [held(world, moment), walked(world, moment), pictured(world, moment)] == [[], [], []]
    assert held(world, day(9), before) == both
    rows = world.rows(
        "select current from loci.attributes where namespace = %(ns)s union all select true from loci.constraints where namespace = %(ns)s"
    )
    assert rows == [{"current": False}] * 2
    assert sound(world)


def test_a_fact_ends_with_the_version_of_its_memory_and_lasts_longer_where_that_does(world: World) -> None:
    entity(world)
    memory = world.write("Iris works nights", lineage="shift", valid_from=day(0), valid_to=day(5))["id"]
    add(world, aspect(world), "works nights", valid_from=day(0), memory_id=memory)
    assert [held(world, day(moment)) for moment in (4, 6)] == [["works nights"], []]
    world.change(memory, valid_to=day(8))
    assert [held(world, day(moment)) for moment in (4, 6, 8)] == [["works nights"], ["works nights"], []]
    world.write("Iris works days", lineage="shift", valid_from=day(2))
    assert [held(world, day(moment)) for moment in (1, 2, 6)] == [["works nights"], [], []]
    assert sound(world)


def test_a_fact_pauses_while_its_memory_is_interrupted(world: World) -> None:
    entity(world)
    memory = world.write("Iris works nights", lineage="shift", valid_from=day(0))["id"]
    add(world, aspect(world), "works nights", valid_from=day(0), memory_id=memory)
    world.write("Iris is on leave", lineage="shift", valid_from=day(3), valid_to=day(6))
    assert [held(world, day(moment)) for moment in (2, 3, 5, 6, 9)] == [
        ["works nights"],
        [],
        [],
        ["works nights"],
        ["works nights"],
    ]
    assert sound(world)


CITIES = [("lives in Pest", 0), ("lives in Eger", 10), ("lives in Vac", 20)]
ALONE = [["lives in Pest"], ["lives in Eger", "lives in Pest"], ["lives in Eger", "lives in Pest", "lives in Vac"]]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_undoing_every_decision_in_any_order_lets_each_fact_hold_by_itself(world: World, order: tuple[int, ...]) -> None:
    for undone in permutations(range(3)):
        name = f"Person {undone}"
        entity(world, name)
        under = aspect(world, name, single_valued=True)
        for place in order:
            add(world, under, CITIES[place][0], valid_from=day(CITIES[place][1]))
        assert [held(world, day(10 * place + 5), of=name) for place in range(3)] == [[city] for city, _ in CITIES]
        made = [row["id"] for row in decisions(world) if row["entity"] == name]
        for place in undone:
            if place < len(made):
                decide(world, "undo", made[place])
        assert [held(world, day(10 * place + 5), of=name) for place in range(3)] == ALONE
        assert sound(world)


def deleted(world: World, winner: Row, memory: UUID, made: UUID) -> None:
    change(world, winner["id"], status="deleted")


def unwritten(world: World, winner: Row, memory: UUID, made: UUID) -> None:
    undo(world, made)


def withdrawn(world: World, winner: Row, memory: UUID, made: UUID) -> None:
    world.forget(memory)


def put_right(world: World, winner: Row, memory: UUID, made: UUID) -> None:
    world.remember({"content": "that was an error", "corrects": memory})


def erased(world: World, winner: Row, memory: UUID, made: UUID) -> None:
    world.erase(memory)


@pytest.mark.row("S8")
@pytest.mark.parametrize("work", [deleted, unwritten, withdrawn, put_right, erased])
@pytest.mark.parametrize("backwards", [False, True])
def test_a_superseded_fact_comes_back_when_its_winner_goes(world: World, work: Callable[..., None], backwards: bool) -> None:
    entity(world)
    under, facts = aspect(world, single_valued=True), {}
    for city, since in [CITIES[1], CITIES[0]] if backwards else CITIES[:2]:
        memory = world.write(f"note on {city}", valid_from=day(since))["id"]
        row, made = operation(
            world, lambda city=city, since=since, memory=memory: add(world, under, city, valid_from=day(since), memory_id=memory)
        )
        facts[city] = row, memory, made
    assert held(world, day(15)) == ["lives in Eger"]
    work(world, *facts["lives in Eger"])
    assert [held(world, moment) for moment in (day(5), day(15), None)] == [["lives in Pest"]] * 3
    assert decisions(world, "applied") == []
    assert sound(world)


@pytest.mark.parametrize("work", [deleted, unwritten, withdrawn, put_right, erased])
def test_a_restored_fact_is_compared_with_later_ones(world: World, work: Callable[..., None]) -> None:
    entity(world)
    under = aspect(world, single_valued=True)
    add(world, under, CITIES[0][0], valid_from=day(0))
    memory = world.write("note", valid_from=day(10))["id"]
    winner, made = operation(world, lambda: add(world, under, CITIES[1][0], valid_from=day(10), memory_id=memory))
    add(world, under, CITIES[2][0], valid_from=day(20))
    work(world, winner, memory, made)
    assert [held(world, day(moment)) for moment in (5, 15, 25)] == [["lives in Pest"], ["lives in Pest"], ["lives in Vac"]]
    assert sound(world)


def test_a_winner_that_comes_back_ends_again_what_it_had_ended(world: World) -> None:
    entity(world)
    under = aspect(world, single_valued=True)
    add(world, under, CITIES[0][0], valid_from=day(0))
    memory = world.write("note", valid_from=day(10))["id"]
    add(world, under, CITIES[1][0], valid_from=day(10), memory_id=memory)
    world.forget(memory)
    assert [row["status"] for row in decisions(world)] == ["dismissed"]
    world.forget(memory, forget=False)
    assert ([row["status"] for row in decisions(world)], held(world)) == (["applied"], ["lives in Eger"])


def test_an_erased_winner_has_never_ended_anything(world: World) -> None:
    entity(world)
    under = aspect(world, single_valued=True)
    add(world, under, CITIES[0][0], valid_from=day(0))
    memory = world.write("note", valid_from=day(10))["id"]
    add(world, under, CITIES[1][0], valid_from=day(10), memory_id=memory)
    between = world.now()
    add(world, under, CITIES[2][0], valid_from=day(20))
    after = world.now()
    world.erase(memory)
    assert [held(world, day(15), known) for known in (between, after, None)] == [["lives in Pest"]] * 3
    assert [held(world, day(25), known) for known in (between, after, None)] == [
        ["lives in Pest"],
        ["lives in Vac"],
        ["lives in Vac"],
    ]


def test_a_back_dated_fact_meets_what_ended_with_its_memory(world: World) -> None:
    entity(world)
    under = aspect(world, single_valued=True)
    memory = world.write("Iris in Pest", lineage="l", valid_from=day(0))["id"]
    add(world, under, "lives in Pest", valid_from=day(0), memory_id=memory)
    world.write("Iris elsewhere", lineage="l", valid_from=day(20))
    add(world, under, "lives in Eger", valid_from=day(10))
    assert [held(world, day(moment)) for moment in (5, 15, 25)] == [["lives in Pest"], ["lives in Eger"], ["lives in Eger"]]


def test_a_fact_on_a_forgotten_memory_is_refused(world: World) -> None:
    entity(world)
    memory = world.write("Iris said so")["id"]
    fact = add(world, aspect(world), "plays chess", memory_id=memory)
    world.forget(memory)
    with pytest.raises(InvalidParameterValue) as raised, world.connection.transaction():
        add(world, aspect(world), "sings", memory_id=memory)
    assert raised.value.diag.column_name == "memory_id"
    with pytest.raises(ExclusionViolation), world.connection.transaction():
        change(world, fact["id"], status="active")


@pytest.mark.parametrize("since", [None, 5])
def test_a_restored_fact_meets_its_denial(world: World, since: int | None) -> None:
    entity(world)
    times = {} if since is None else {"valid_from": day(since)}
    memory = world.write("Iris drives")["id"]
    add(world, aspect(world), "Iris drives a Volvo", memory_id=memory, valid_from=day(0))
    world.forget(memory)
    assert add(world, aspect(world), "Iris no longer drives a Volvo", **times)["superseded"] == []
    world.forget(memory, forget=False)
    assert held(world) == ["Iris no longer drives a Volvo"]
    assert held(world, day(2)) == ["Iris drives a Volvo"]


@pytest.mark.parametrize("kind", ["attribute", "constraint"])
def test_a_fact_that_is_written_twice_is_one_row_that_is_counted_twice(world: World, kind: str) -> None:
    entity(world)
    memory = world.write("Iris said so")["id"]
    for fields in ({}, {"memory_id": memory}, {"valid_from": day(0), "valid_to": day(5)}):
        under = aspect(world, name=str(fields))
        first, second = (add(world, under, "sings", kind=kind, **fields) for _ in range(2))
        assert (first["id"], second["observations"]) == (second["id"], 2)
    under = aspect(world, name="others")
    made = [add(world, under, "sings", kind=kind, **fields)["id"] for fields in ({}, {"memory_id": memory}, {"valid_from": day(0)})]
    assert len(set(made)) == 3


def test_accepting_what_a_third_fact_ended_before_is_a_conflict(world: World) -> None:
    entity(world)
    under = aspect(world, single_valued=True)
    settings = "select loci_api.update_namespace(%(ns)s, %(c)s)"
    world.rows(settings, c=Jsonb({"settings": {"supersession": "propose"}}))
    add(world, under, CITIES[0][0], valid_from=day(0))
    add(world, under, CITIES[2][0], valid_from=day(20))
    (proposed,) = decisions(world, "proposed")
    world.rows(settings, c=Jsonb({"settings": {"supersession": "apply"}}))
    third = add(world, under, CITIES[1][0], valid_from=day(10))
    with pytest.raises(ExclusionViolation, match=str(third["id"])):
        decide(world, "apply", proposed["id"])


def test_the_history_of_an_entity_tells_its_facts(world: World) -> None:
    entity(world)
    under = aspect(world, single_valued=True)
    memory = world.write("note")["id"]
    add(world, under, "lives in Pest", valid_from=day(0))
    before = world.now()
    add(world, under, "lives in Eger", valid_from=day(10))
    hidden = add(world, aspect(world, name="other"), "sings", memory_id=memory)
    gone = add(world, aspect(world, name="other"), "dances", valid_from=day(3))
    change(world, gone["id"], status="deleted")
    world.forget(memory)

    def told(known_at: datetime | None = None) -> list[tuple[str, str]]:
        rows = world.rows("select * from loci.entity_timeline(%(ns)s, 'Iris', p_known_at => %(k)s)", k=known_at)
        return [(row["event"], row["detail"]["content"]) for row in rows if row["kind"] == "fact"]

    assert hidden["content"] not in {content for _, content in told()}
    lived = [event for event in told() if "lives" in event[1]]
    assert sorted(lived) == [("ended", "lives in Pest"), ("stated", "lives in Eger"), ("stated", "lives in Pest")]
    assert ("deleted", "dances") in told()
    assert told(before) == [("stated", "lives in Pest")]


def single_valued(world: World, under: UUID) -> None:
    aspect(world, single_valued=True)


def moved(world: World, under: UUID) -> None:
    entity(world, "Irene")
    add(world, aspect(world, "Irene", single_valued=True), "Iris uses Go", valid_from=day(0))
    world.rows('select * from loci_api.update_namespace(%(ns)s, \'{"settings": {"supersession": "apply"}}\')')
    world.rows("select * from loci_api.merge_entities(%(ns)s, 'Irene', 'Iris')")


def switched_on(world: World, under: UUID) -> None:
    aspect(world, single_valued=True)
    world.rows("select * from loci_api.sweep_aspects()")
    world.rows('select * from loci_api.update_namespace(%(ns)s, \'{"settings": {"supersession": "apply"}}\')')


@pytest.mark.parametrize("work", [single_valued, moved, switched_on])
def test_the_worker_compares_facts_anew_where_something_has_changed_what_was_compared(
    world: World, work: Callable[[World, UUID], None]
) -> None:
    entity(world)
    under = aspect(world)
    mode = "off" if work is switched_on else "apply"
    world.rows("select * from loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"supersession": mode}}))
    add(world, under, "Iris uses Rust", valid_from=day(1))
    add(world, under, "Iris uses Python", valid_from=day(2))
    act_as(world.connection, OPERATOR)
    work(world, under)
    superseded = 0
    while (row := world.row("select * from loci_api.sweep_aspects()"))["aspect_id"] is not None:
        superseded += len(row["superseded"])
    assert superseded > 0
    assert world.rows("select from loci_data.aspects_to_sweep where namespace_id = %(ns_id)s") == []
    assert sound(world)


def resting(world: World) -> None:
    entity(world)
    add(world, aspect(world), "sings", memory_id=world.write("note")["id"])


def superseding(world: World) -> None:
    entity(world)
    for city, since in CITIES:
        add(world, aspect(world, single_valued=True), city, valid_from=day(since), memory_id=world.write(city)["id"])


def with_a_forgotten_memory(world: World) -> None:
    superseding(world)
    world.forget(world.value("select id from loci_data.memories where namespace_id = %(ns_id)s limit 1"))


def with_edges_of_an_aspect(world: World) -> None:
    entity(world)
    world.write("note", edges=[{"source": "Iris", "type": "knows", "target": "Ben", "aspect": "friends"}])


@pytest.mark.parametrize("fill", [resting, superseding, with_a_forgotten_memory, with_edges_of_an_aspect])
def test_a_namespace_is_deleted_whatever_rests_on_what(world: World, fill: Callable[[World], None]) -> None:
    fill(world)
    world.rows("select loci_api.delete_namespace(%(ns)s)")
    assert world.rows("select from loci_data.attributes where namespace_id = %(ns_id)s") == []


WRONG = [
    "update loci_data.attributes set status = 'superseded', valid_to = valid_from where namespace_id = %(ns_id)s and content = 'sings'",
    "update loci_data.supersessions set status = 'undone' where namespace_id = %(ns_id)s",
    "update loci_data.attributes set taken_back_at = now(), status = 'deleted' where namespace_id = %(ns_id)s and content = 'lives in Eger'",
    "update loci_data.attributes set own_to = valid_from where namespace_id = %(ns_id)s and content = 'sings'",
]


@pytest.mark.row("S8")
@pytest.mark.parametrize("wrong", WRONG)
def test_verify_tells_facts_that_are_not_what_was_said_of_them(owned: World, wrong: str) -> None:
    entity(owned)
    for city, since in CITIES[:2]:
        add(owned, aspect(owned, single_valued=True), city, valid_from=day(since))
    add(owned, aspect(owned, name="other"), "sings")
    assert sound(owned)
    owned.connection.execute("reset session authorization")
    owned.connection.execute(wrong, {"ns_id": owned.id})  # type: ignore[arg-type]
    owned.connection.execute("set session authorization loci_app")
    assert owned.rows("select name from loci.verify(%(ns)s) where broken > 0")[0]["name"] == "facts"


def test_the_view_of_mentions_says_how_sure_they_are(world: World) -> None:
    world.write("Iris sings", entities=[{"name": "Iris"}])
    assert world.rows("select confidence from loci.mentions where namespace = %(ns)s") == [{"confidence": 1.0}]


def test_one_function_says_of_any_row_when_it_holds(world: World) -> None:
    ends = [world.write(f"note {n}", valid_from=day(0), valid_to=day(10))["id"] for n in range(2)]
    world.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'about', 0.5)", a=ends[0], b=ends[1])
    world.write("Iris knows Ben", valid_from=day(0), valid_to=day(10), edges=[{"source": "Iris", "type": "knows", "target": "Ben"}])
    add(world, aspect(world), "sings", valid_from=day(0), valid_to=day(10))
    before = world.now()
    for table in ("memories", "memory_links", "edges", "attributes"):
        statement: Any = (
            f"select bool_and(loci.holds_at(r, %(at)s, %(known)s)) as holds from loci_data.{table} r where namespace_id = %(ns_id)s"
        )
        assert [
            world.value(statement, at=at, known=known)
            for at, known in [(day(5), None), (day(5), before), (day(10), None), (day(-1), before)]
        ] == [True, True, False, False]
    for memory in world.rows("select id from loci_data.memories where namespace_id = %(ns_id)s"):
        world.forget(memory["id"])
    for table in ("memories", "memory_links", "edges"):
        statement = (
            f"select bool_or(loci.holds_at(r, %(at)s, %(known)s)) as holds from loci_data.{table} r where namespace_id = %(ns_id)s"
        )
        assert [world.value(statement, at=day(5), known=known) for known in (None, before)] == [False, True]
