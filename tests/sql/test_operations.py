"""The operations log: each call that changes something is one operation, with all its changes and nothing else."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege, InvalidParameterValue, NoDataFound
from psycopg.types.json import Jsonb

from tests.factories import OPERATOR, Row, World, act_as, grant, stated
from tests.sql.details import DETAILS
from tests.sql.test_graph import observe
from tests.sql.test_graph_merge import aspect, entities, get, merge, split, undo

Counts = dict[str, int]


def operate(world: World, call: Callable[[World], Any], action: str = "test", via: str = "rest", id: UUID | None = None) -> UUID:
    """Do something as an operation of its own; its id."""
    made: UUID = id or world.value("select loci_api.uuid7()")
    origin = {"action": action, "via": via, "operation_id": str(made), "request_id": "r"}
    world.rows("select agent_id from loci_api.begin_request(null, %(ns)s, 'admin', %(origin)s)", origin=Jsonb(origin))
    call(world)
    world.rows("select set_config('loci.operation', '', true), set_config('loci.origin', '', true)")
    return made


def counts(world: World, id: UUID) -> Counts:
    """Counts of an operation; none, if there is no such operation."""
    found = [row for row in listed(world, limit=1000) if row["id"] == id]
    return found[0]["changes"] if found else {}


def listed(world: World, limit: int = 50, cursor: str | None = None, **filters: Any) -> list[Row]:
    given = {"action": None, "agent": None, "via": None, "subject": None, "since": None, "until": None, **filters}
    return world.rows(
        """select * from loci.list_operations(%(ns)s, %(limit)s, %(cursor)s, %(action)s, %(agent)s, %(via)s, %(subject)s,
                                              %(since)s, %(until)s)""",
        limit=limit,
        cursor=cursor,
        **given,
    )


def changes(world: World, id: UUID, limit: int = 100, after: int = 0) -> list[Row]:
    world.rows("select * from loci_api.sequence_changes()")
    return world.rows("select * from loci.operation_changes(%(ns)s, %(id)s, %(limit)s, %(after)s)", id=id, limit=limit, after=after)


def nothing(_: World) -> None:
    """No preparation."""


def setting(world: World, **settings: Any) -> None:
    world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": settings}))


def memory(world: World, content: str = "tea") -> UUID:
    found: UUID = world.value("select id from loci_data.memories where namespace_id = %(ns_id)s and content = %(c)s", c=content)
    return found


def say(world: World, *contents: str) -> None:
    world.rows("select * from loci_api.add_turns(%(ns)s, 's', %(t)s)", t=Jsonb([{"role": "user", "content": c} for c in contents]))


def attribute(world: World, content: str, **fields: Any) -> Row:
    under = world.value("""select id from loci_api.upsert_aspect(%(ns)s, 'Alice', '{"name": "Diet"}')""")
    return world.row(
        "select * from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)", id=under, a=Jsonb(stated({"content": content, **fields}))
    )


def edge(world: World) -> UUID:
    return observe(world, {"source": "Alice", "type": "knows", "target": "Bob"})[0]["id"]


def names(world: World, name: str) -> None:
    """What the worker does with a name that two memories have."""
    ids = [world.write(f"{name} was {word}")["id"] for word in ("here", "there")]
    world.rows("select set_config('loci.operation', '', true)")
    world.rows(
        "select loci_api.store_found_names(array[%(ns_id)s, %(ns_id)s], %(ids)s, array[%(name)s, %(name)s])", ids=ids, name=name
    )


# Each call, and what it changes

CALLS: dict[str, tuple[Callable[[World], Any], Callable[[World], Any], Counts]] = {
    "a memory": (nothing, lambda w: w.write("tea"), {"memory.created": 1}),
    "a batch": (nothing, lambda w: w.remember({"content": "a"}, {"content": "b"}), {"memory.created": 2}),
    "a version": (
        lambda w: w.write("tea", lineage="drink"),
        lambda w: w.write("coffee", lineage="drink"),
        {"memory.created": 1, "memory.changed": 1},
    ),
    "a correction": (
        lambda w: w.write("tea", lineage="drink"),
        lambda w: w.write("coffee", lineage="drink", corrects=memory(w)),
        {"memory.created": 1, "memory.changed": 1},
    ),
    "a memory with a graph": (
        nothing,
        lambda w: w.write(
            "Alice knows Bob", entities=[{"name": "Alice"}], edges=[{"source": "Alice", "type": "knows", "target": "Bob"}]
        ),
        {"memory.created": 1, "entity.created": 2, "edge.created": 1},
    ),
    "a memory under another": (
        lambda w: w.write("tea"),
        lambda w: w.write("green tea", parent_id=memory(w)),
        {"memory.created": 1, "placement.created": 1},
    ),
    "a description": (lambda w: w.write("tea"), lambda w: w.change(memory(w), tags=["x"]), {"memory.changed": 1}),
    "a move": (
        lambda w: (w.write("tea"), w.write("drinks"), w.write("hot", parent_id=w.write("old")["id"])),
        lambda w: w.change(memory(w, "hot"), parent_id=str(memory(w, "drinks"))),
        {"placement.created": 2, "placement.changed": 1},  # where it stands, and until when it stood where it did
    ),
    "forgetting": (lambda w: w.write("tea"), lambda w: w.forget(memory(w)), {"memory.changed": 1}),
    "restoring": (
        lambda w: w.forget(w.write("tea")["id"]),
        lambda w: w.forget(memory(w), forget=False),
        {"memory.changed": 1},
    ),
    "a link": (
        lambda w: (w.write("tea"), w.write("cup")),
        lambda w: w.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'x')", a=memory(w), b=memory(w, "cup")),
        {"link.created": 1},
    ),
    "the end of a link": (
        lambda w: w.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'x')", a=w.write("tea")["id"], b=w.write("cup")["id"]),
        lambda w: w.rows("select * from loci_api.unlink_memories(%(ns)s, %(a)s, %(b)s, 'x')", a=memory(w), b=memory(w, "cup")),
        {"link.changed": 1},
    ),
    "an erasure": (
        lambda w: (
            w.write("tea", entities=[{"name": "Alice"}], edges=[{"source": "Alice", "type": "likes", "literal": "tea"}]),
            w.write("green", parent_id=memory(w)),
            w.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'x')", a=memory(w), b=memory(w, "green")),
            attribute(w, "drinks tea", memory_id=memory(w)),
        ),
        lambda w: w.erase(memory(w)),
        {"memory.erased": 1, "placement.erased": 1, "link.erased": 1, "entity.erased": 1, "edge.erased": 1,
         "aspect.erased": 1, "attribute.erased": 1},
    ),
    "an erasure of what a fact rests on": (
        lambda w: (entities(w, {"name": "Alice"}), attribute(w, "drinks tea", memory_id=w.write("tea")["id"])),
        lambda w: w.erase(memory(w)),
        {"memory.erased": 1, "attribute.erased": 1},
    ),
    "an entity": (nothing, lambda w: entities(w, {"name": "Alice"}), {"entity.created": 1}),
    "a new alias": (
        lambda w: entities(w, {"name": "Alice"}),
        lambda w: entities(w, {"name": "Alice", "aliases": ["Al"]}),
        {"entity.changed": 1},
    ),
    "a new description": (
        lambda w: entities(w, {"name": "Alice"}),
        lambda w: w.rows("""select * from loci_api.update_entity(%(ns)s, %(id)s, '{"description": "x"}')""", id=get(w, "Alice")["id"]),
        {"entity.changed": 1},
    ),
    "a pin": (
        lambda w: entities(w, {"name": "Alice"}),
        lambda w: w.rows("select * from loci_api.pin_entity(%(ns)s, %(id)s, true)", id=get(w, "Alice")["id"]),
        {"entity.changed": 1},
    ),
    "an edge": (nothing, edge, {"entity.created": 2, "edge.created": 1}),
    "an edge that is taken back": (
        edge,
        lambda w: w.rows("select * from loci_api.delete_edge(%(ns)s, %(id)s)", id=edge_id(w)),
        {"edge.changed": 1},
    ),
    "an aspect with a fact": (
        lambda w: entities(w, {"name": "Alice"}),
        lambda w: attribute(w, "drinks tea"),
        {"aspect.created": 1, "attribute.created": 1},
    ),
    "a fact that supersedes another": (
        lambda w: (entities(w, {"name": "Alice"}), attribute(w, "Alice likes tea")),
        lambda w: attribute(w, "Alice no longer likes tea"),
        {"attribute.created": 1, "attribute.changed": 1, "supersession.created": 1},
    ),
    "a fact that is withdrawn": (
        lambda w: (entities(w, {"name": "Alice"}), attribute(w, "drinks tea")),
        lambda w: w.rows(
            """select * from loci_api.update_attribute(%(ns)s, (select id from loci_data.attributes where namespace_id = %(ns_id)s),
                                                   '{"status": "deleted"}')"""
        ),
        {"attribute.changed": 1},
    ),
    "a merge": (
        lambda w: (observe(w, {"source": "Rob", "type": "knows", "target": "Eve"}), entities(w, {"name": "Bob"})),
        lambda w: merge(w, "Bob", "Rob"),
        {"merge.created": 1, "entity.changed": 2, "edge.created": 1, "edge.changed": 1},
    ),
    "a merge that is undone": (
        lambda w: (entities(w, {"name": "Bob"}, {"name": "Rob"}), merge(w, "Bob", "Rob")),
        lambda w: undo(w, w.value("select id from loci.list_merges(%(ns)s)")),
        {"merge.changed": 1, "entity.changed": 2},
    ),
    "a split": (
        lambda w: (entities(w, {"name": "Bob"}), aspect(w, "Bob", "Diet", "tea")),
        lambda w: split(w, "Bob", name="Robert", aspect_ids=[str(w.value("select id from loci_data.aspects where namespace_id = %(ns_id)s"))]),
        {"merge.created": 1, "entity.created": 1, "aspect.changed": 1},
    ),
    "a type of edges": (
        nothing,
        lambda w: w.rows("""select * from loci_api.set_edge_type(%(ns)s, 'knows', '{"decay_rate": 0.5}')"""),
        {"edge_type.created": 1},
    ),
    "another rate of decay": (
        lambda w: w.rows("""select * from loci_api.set_edge_type(%(ns)s, 'knows', '{"decay_rate": 0.5}')"""),
        lambda w: w.rows("""select * from loci_api.set_edge_type(%(ns)s, 'knows', '{"decay_rate": 0.1}')"""),
        {"edge_type.changed": 1},
    ),
    "a setting": (nothing, lambda w: setting(w, depth=50), {"namespace.changed": 1}),
    "turns": (nothing, lambda w: say(w, "one", "two"), {"turn.created": 2}),
    "turns that are deleted": (
        lambda w: say(w, "one", "two"),
        lambda w: w.rows("select * from loci_api.delete_turns(%(ns)s, 's')"),
        {"turn.erased": 2},
    ),
    "the end of a session": (
        lambda w: (
            entities(w, {"name": "Alice"}),
            attribute(w, "drinks tea", memory_id=w.write("tea")["id"]),
            w.rows("select * from loci_api.record_injections(%(ns)s, 's', %(ids)s)", ids=[memory(w)]),
            w.rows("select * from loci_api.record_hits(%(ns)s, 's', %(ids)s)", ids=[memory(w)]),
        ),
        lambda w: w.rows("select * from loci_api.end_session(%(ns)s, 's')"),
        {"aspect.changed": 1},
    ),
    "a line of an export": (
        nothing,
        lambda w: w.rows(
            "select * from loci_api.restore_rows(%(ns)s, 'edge_type', %(l)s)",
            l=Jsonb([{"kind": "edge_type", "type": "knows", "decay_rate": 0.5, "single_valued": False, "description": None,
                      "updated_at": "2020-01-01T00:00:00+00:00"}]),
        ),
        {"edge_type.created": 1},
    ),
}  # fmt: skip


def edge_id(world: World) -> UUID:
    found: UUID = world.value("select id from loci_data.edges where namespace_id = %(ns_id)s")
    return found


@pytest.mark.row("X5")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_one_operation_with_exactly_its_changes(world: World, name: str) -> None:
    prepare, call, expected = CALLS[name]
    prepare(world)
    assert counts(world, operate(world, call)) == expected


def test_a_namespace_begins_with_the_operation_that_made_it(world: World) -> None:
    assert [row["changes"] for row in listed(world)] == [{"namespace.created": 1}]


def test_a_name_that_the_worker_finds_is_an_operation_of_the_worker(world: World) -> None:
    made = operate(world, lambda w: names(w, "Blue Harbour"), action="find_names", via="worker")
    assert counts(world, made) == {"memory.created": 2}
    assert listed(world, limit=1)[0]["changes"] == {"entity.created": 1}


# What is none


def save(world: World, key: str = "session/a/plan", ttl: float = 60) -> Row:
    return world.row("select * from loci_api.save_working_memory(%(ns)s, %(k)s, '1', %(ttl)s)", k=key, ttl=ttl)


def refused(world: World, statement: Any) -> None:
    def write() -> None:
        with world.connection.transaction():
            world.write("coffee")
            world.rows(statement, ids=[uuid4()])

    with pytest.raises(NoDataFound):
        write()


NOTHING: dict[str, tuple[Callable[[World], Any], Callable[[World], Any]]] = {
    "a duplicate": (lambda w: w.write("tea"), lambda w: w.write("tea")),
    "an entity seen again": (lambda w: entities(w, {"name": "Alice"}), lambda w: entities(w, {"name": "Alice"})),
    "a touch": (
        lambda w: entities(w, {"name": "Alice"}),
        lambda w: w.rows("select loci_api.touch_entities(%(ns)s, %(ids)s)", ids=[get(w, "Alice")["id"]]),
    ),
    "a reading": (lambda w: w.write("tea"), lambda w: w.visible()),
    "a setting that is so already": (lambda w: setting(w, depth=50), lambda w: setting(w, depth=50)),
    "an injection": (
        lambda w: w.write("tea"),
        lambda w: w.rows("select * from loci_api.record_injections(%(ns)s, 's', %(ids)s)", ids=[memory(w)]),
    ),
    "a batch of decay": (
        lambda w: (edge(w), w.rows("""select * from loci_api.set_edge_type(%(ns)s, 'knows', '{"decay_rate": 0.5}')""")),
        lambda w: w.rows("select * from loci_api.recalculate_decay_batch(%(ns)s, 'knows')"),
    ),
    "an entry of working memory": (nothing, save),
    "an erasure that is refused": (
        lambda w: w.write("tea"),
        lambda w: refused(w, "select loci_api.erase_memories(%(ns)s, %(ids)s)"),
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_change_without_meaning_leaves_no_operation(world: World, name: str) -> None:
    prepare, call = NOTHING[name]
    prepare(world)
    before = len(listed(world, limit=1000))
    operate(world, call)
    assert len(listed(world, limit=1000)) == before


# Working memory


def test_working_memory_is_logged_where_its_namespace_asks_for_it(world: World) -> None:
    setting(world, log_working_memory=True)
    assert counts(world, operate(world, save)) == {"working_memory.created": 1}
    assert counts(world, operate(world, save)) == {"working_memory.changed": 1}
    gone = operate(world, lambda w: w.rows("select * from loci_api.delete_working_memory(%(ns)s, 'session/a/plan')"))
    (change,) = changes(world, gone)
    assert (change["action"], change["before"], change["after"]) == ("erased", {"key": "session/a/plan"}, None)


def test_expiry_in_working_memory_is_no_change(world: World) -> None:
    setting(world, log_working_memory=True)
    save(world, ttl=0.001)
    before = len(listed(world))
    operate(world, lambda w: w.rows("select pg_sleep(0.01), (select count(*) from loci_api.sweep_working_memory())"), via="worker")
    assert world.value("select count(*) from loci_data.working_memory where namespace_id = %(ns_id)s") == 0
    assert len(listed(world)) == before


# What a change says


def test_a_change_says_the_old_and_the_new_value(world: World) -> None:
    world.write("tea", tags=["a"], metadata={"k": None})
    made = operate(world, lambda w: w.change(memory(w), tags=["b"], importance=0.9))
    (change,) = changes(world, made)
    assert (change["kind"], change["action"], change["subject_id"], change["content"]) == (
        "memory",
        "changed",
        memory(world),
        "tea",
    )
    said = {"lineage": str(memory(world)), "version": 1}
    assert change["before"] == {**said, "tags": ["a"], "importance": 0.5}
    assert change["after"] == {**said, "tags": ["b"], "importance": 0.9}


def test_a_new_memory_says_all_but_its_content(world: World) -> None:
    made = operate(world, lambda w: w.write("tea", tags=["a"], metadata={"k": None}, session_id="s"))
    (change,) = changes(world, made)
    assert change["before"] is None
    assert change["after"].keys() == {
        *("lineage", "version", "valid_from", "valid_to", "superseded_at", "status", "source", "session_id"),
        *DETAILS,
    }  # fmt: skip
    assert (change["after"]["metadata"], change["after"]["valid_to"]) == ({"k": None}, None)


def test_erased_texts_are_blank_in_earlier_changes_and_their_neighbours_are_not(world: World) -> None:
    def link(w: World) -> None:
        for target in ("cup", "pot"):
            w.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'x')", a=memory(w), b=memory(w, target))

    written = operate(world, lambda w: w.remember({"content": "tea"}, {"content": "cup"}, {"content": "pot"}))
    linked = operate(world, link)
    pot = str(memory(world, "pot"))
    assert len(changes(world, linked)) == 2
    operate(world, lambda w: w.erase(memory(w, "cup")))
    assert [change["after"] is None for change in changes(world, written)] == [False, True, False]
    assert [change["after"] and change["after"]["target_id"] for change in changes(world, linked)] == [None, pot]


def test_a_change_erased_before_it_had_a_position_is_blank_too(world: World) -> None:
    written = operate(world, lambda w: w.remember({"content": "tea"}, {"content": "cup"}))
    erased = operate(world, lambda w: w.erase(memory(w)))
    assert [change["after"] is None for change in changes(world, written)] == [True, False]
    assert [(c["action"], c["before"], c["after"]) for c in changes(world, erased)] == [("erased", None, None)]


# The list


def write_three(world: World) -> list[UUID]:
    return [operate(world, lambda w, n=n: w.write(f"memory {n}"), action=f"write_{n}") for n in range(3)]


@pytest.mark.row("X5")
def test_an_operation_says_who_did_what_through_what_and_when(world: World) -> None:
    before = world.now()
    made = operate(world, lambda w: w.write("tea"), action="write_memory", via="mcp")
    row = world.row("select * from loci.get_operation(%(ns)s, %(id)s)", id=made)
    said = {key: row[key] for key in ("id", "action", "via", "agent_id", "agent", "key_id", "request_id", "undoes", "undone_by")}
    assert said == {"id": made, "action": "write_memory", "via": "mcp", "agent_id": OPERATOR, "agent": "operator", "key_id": None,
                    "request_id": "r", "undoes": None, "undone_by": None}  # fmt: skip
    assert before <= row["started_at"] <= world.now()


def test_statements_of_one_call_are_one_operation_and_a_savepoint_that_fails_leaves_nothing_in_it(world: World) -> None:
    def several(w: World) -> None:
        w.write("tea")
        refused(w, "select loci_api.erase_memories(%(ns)s, %(ids)s)")
        w.write("coffee")

    assert counts(world, operate(world, several)) == {"memory.created": 2}


def test_sql_that_does_not_say_what_it_is_makes_an_operation_too(world: World) -> None:
    world.rows("select set_config('loci.operation', '', true)")
    world.write("tea")
    world.write("coffee")
    row = listed(world)[0]
    assert (row["action"], row["via"], row["changes"]) == ("unknown", "sql", {"memory.created": 2})


def test_counts_are_whole_before_and_after_changes_have_their_positions(world: World) -> None:
    made = operate(world, lambda w: w.write("tea"))
    assert counts(world, made) == {"memory.created": 1}
    changes(world, made)
    assert counts(world, made) == {"memory.created": 1}
    assert world.value("select changes from loci.operations where namespace = %(ns)s and id = %(id)s", id=made) == {
        "memory.created": 1
    }


def test_a_list_is_paged_newest_first_and_what_is_new_moves_no_page(ordered: World) -> None:
    ids = [row["id"] for row in listed(ordered)]
    assert ids == sorted(ids, reverse=True)
    first = listed(ordered, limit=2)
    ordered.rows("select set_config('loci.operation', '', true)")
    ordered.write("newer")
    second = listed(ordered, cursor=first[-1]["cursor"])
    assert [row["id"] for row in first + second] == ids


@pytest.mark.row("X5")
def test_the_log_is_in_the_order_of_time_whatever_the_ids_are(world: World) -> None:
    made = [operate(world, lambda w, n=n: w.write(f"memory {n}"), id=uuid4()) for n in range(8)]
    first = listed(world, limit=3, action="test")
    rest = listed(world, cursor=first[-1]["cursor"], action="test")
    assert [row["id"] for row in first + rest] == made[::-1]
    assert [row["id"] for row in listed(world, since=first[-1]["started_at"])] == made[:4:-1]
    undone = world.row("select * from loci_api.undo_operation(%(ns)s, %(id)s)", id=first[0]["id"])
    assert undone["undone"] == {"memory": 1}
    assert world.value("select content from loci.current_memories where namespace = %(ns)s order by id desc limit 1") == "memory 6"


@pytest.mark.parametrize(
    "cursor", ["x", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "yesterdayish,7c9e6679-7425-40de-944b-e07fc1f90ae7"]
)
def test_a_cursor_that_no_page_gave_is_refused(world: World, cursor: str) -> None:
    with pytest.raises(InvalidParameterValue, match="next_cursor of a page"), world.connection.transaction():
        listed(world, cursor=cursor)


@pytest.fixture
def ordered(world: World) -> World:
    """A world with operations whose ids the database made."""
    for n in range(5):
        world.rows("select set_config('loci.operation', '', true)")
        world.write(f"memory {n}")
    return world


@pytest.mark.parametrize("sequenced", [False, True])
def test_a_list_is_narrowed_by_action_way_agent_subject_and_time(world: World, sequenced: bool) -> None:
    one, two, three = write_three(world)
    other = operate(world, lambda w: w.write("by the worker"), action="other", via="worker")
    subject = memory(world, "memory 1")
    if sequenced:
        changes(world, one)
    found = {
        name: {row["id"] for row in listed(world, **filters)}
        for name, filters in {
            "action": {"action": "write_1"},
            "via": {"via": "worker"},
            "agent": {"agent": uuid4()},
            "subject": {"subject": subject},
            "both": {"subject": subject, "action": "write_0"},
        }.items()
    }
    assert found == {"action": {two}, "via": {other}, "agent": set(), "subject": {two}, "both": set()}
    began = world.value("select started_at from loci.get_operation(%(ns)s, %(id)s)", id=three)
    assert three in {row["id"] for row in listed(world, since=began)}
    assert two not in {row["id"] for row in listed(world, since=began)}


def test_times_narrow_a_list_of_ids_that_are_ordered_by_time(ordered: World) -> None:
    rows = listed(ordered)
    middle = rows[2]["started_at"]
    assert [row["id"] for row in listed(ordered, since=middle)] == [row["id"] for row in rows[:3]]
    assert [row["id"] for row in listed(ordered, until=middle)] == [row["id"] for row in rows[3:]]


def test_changes_of_an_operation_are_paged_in_order(world: World) -> None:
    made = operate(world, lambda w: w.remember(*({"content": f"memory {n}"} for n in range(5))))
    first = changes(world, made, limit=2)
    rest = changes(world, made, after=first[-1]["position"])
    assert [change["content"] for change in first + rest] == [f"memory {n}" for n in range(5)]


@pytest.mark.parametrize("limit", [0, 1002])
def test_a_page_has_a_size(world: World, limit: int) -> None:
    made = operate(world, lambda w: w.write("tea"))
    for ask in (lambda: listed(world, limit=limit), lambda: changes(world, made, limit=limit)):
        with pytest.raises(InvalidParameterValue), world.connection.transaction():
            ask()


def test_an_unknown_way_or_operation_is_refused(world: World) -> None:
    with pytest.raises(InvalidParameterValue), world.connection.transaction():
        listed(world, via="pigeon")
    for statement in ("select * from loci.get_operation(%(ns)s, %(id)s)", "select * from loci.operation_changes(%(ns)s, %(id)s)"):
        with pytest.raises(NoDataFound), world.connection.transaction():
            world.rows(statement, id=uuid4())


def test_only_readers_of_a_namespace_read_its_log(world: World) -> None:
    act_as(world.connection, uuid4())
    with pytest.raises(InsufficientPrivilege):
        listed(world)


# Grants


def test_a_grant_is_a_change_of_its_namespace(owned: World) -> None:
    owned.connection.execute("reset session authorization")
    agent = grant(owned.connection, owned.name, "reader")
    owned.connection.execute("update loci_data.grants set role = 'writer' where agent_id = %s", [agent])
    owned.connection.execute("delete from loci_data.grants where agent_id = %s", [agent])
    owned.connection.execute("set session authorization loci_app")
    made = listed(owned)[0]["id"]
    rows = [row for row in changes(owned, made) if row["kind"] == "grant"]
    assert [(row["action"], row["subject_id"]) for row in rows] == [(a, agent) for a in ("created", "changed", "erased")]
    assert rows[1]["after"] == {"role": "writer"}


# How long it is kept


def age(world: World, days: float) -> None:
    """Make everything in the log so many days older, past the service."""
    world.connection.execute("reset session authorization")
    by = timedelta(days=days)
    world.connection.execute("update loci_data.changes set changed_at = changed_at - %s where namespace_id = %s", [by, world.id])
    world.connection.execute("update loci_data.operations set started_at = started_at - %s where namespace_id = %s", [by, world.id])
    world.connection.execute("set session authorization loci_app")


def sweep(world: World, limit: int = 1000) -> Row:
    act_as(world.connection, OPERATOR)
    return world.row("select * from loci_api.sweep_operations(%(limit)s)", limit=limit)


def kept(world: World) -> tuple[int, int]:
    return (
        world.value("select count(*) from loci_data.changes where namespace_id = %(ns_id)s"),
        world.value("select count(*) from loci_data.operations where namespace_id = %(ns_id)s"),
    )


def swept_up_to(world: World) -> int:
    """Up to which position the feed of the namespace is gone, as it remembers; its place over all namespaces agrees."""
    world.connection.execute("reset session authorization")
    feed = world.row("select * from loci_data.feeds where namespace_id = %(ns_id)s")
    first = world.row("select min(position) as position, min(place) as place from loci_data.changes where namespace_id = %(ns_id)s")
    assert first["position"] in {None, feed["swept_position"] + 1}
    assert first["place"] is None or first["place"] > feed["swept_place"]
    world.connection.execute("set session authorization loci_app")
    return int(feed["swept_position"])


@pytest.mark.parametrize(("days", "expected"), [(1, (3, 2)), (31, (0, 2)), (366, (0, 0))])
def test_changes_are_kept_for_a_month_and_operations_for_a_year(owned: World, days: float, expected: tuple[int, int]) -> None:
    changes(owned, operate(owned, lambda w: w.remember({"content": "a"}, {"content": "b"})))
    last = owned.value("select max(position) from loci_data.changes where namespace_id = %(ns_id)s")
    age(owned, days)
    sweep(owned)
    assert kept(owned) == expected
    assert swept_up_to(owned) == (last if expected[0] == 0 else 0)


def test_an_operation_is_kept_as_long_as_its_changes_are(owned: World) -> None:
    setting(owned, change_days=1000)
    changes(owned, operate(owned, lambda w: w.write("a")))
    age(owned, 900)
    sweep(owned)
    assert kept(owned) == (3, 2)
    age(owned, 200)
    sweep(owned)
    assert kept(owned) == (0, 0)


def test_a_sweep_is_a_batch_that_goes_on_where_the_last_one_ended(owned: World) -> None:
    changes(owned, operate(owned, lambda w: w.remember(*({"content": f"memory {n}"} for n in range(4)))))
    age(owned, 31)
    swept = []
    for _ in range(3):
        swept.append(sweep(owned, limit=2)["changes"])
        assert swept_up_to(owned) == 5 - kept(owned)[0]
    assert swept == [2, 2, 1]


def test_changes_of_an_operation_are_counted_after_they_are_gone(owned: World) -> None:
    made = operate(owned, lambda w: w.write("a"))
    changes(owned, made)
    owned.connection.execute("reset session authorization")
    owned.connection.execute(
        "update loci_data.changes set changed_at = changed_at - interval '31 days' where namespace_id = %s", [owned.id]
    )
    owned.connection.execute("set session authorization loci_app")
    sweep(owned)
    assert changes(owned, made) == []
    assert counts(owned, made) == {"memory.created": 1}


def test_only_the_operator_sweeps(owned: World, admin: psycopg.Connection[Any]) -> None:
    act_as(owned.connection, uuid4())
    with pytest.raises(InsufficientPrivilege):
        owned.row("select * from loci_api.sweep_operations()")


def test_a_namespace_takes_its_log_and_its_feed_with_it(owned: World) -> None:
    changes(owned, operate(owned, lambda w: w.write("a")))
    operate(owned, lambda w: w.write("b"))
    owned.rows("select loci_api.delete_namespace(%(ns)s)")
    owned.connection.execute("reset session authorization")
    for table in ("operations", "operation_counts", "outbox", "changes"):
        statement = psycopg.sql.SQL("select count(*) as n from {} where namespace_id = %s").format(
            psycopg.sql.Identifier("loci_data", table)
        )
        found = owned.connection.execute(statement, [owned.id]).fetchone()
        assert found == {"n": 0}
