"""A second embedding model: which may be one, what waits for it, what it finds, and when it takes no part."""

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import errors

from tests.factories import World, act_as, grant

FIRST, APPLE, PEAR = [1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]
Row = dict[str, Any]


@pytest.fixture
def second(world: World) -> World:
    """A world with ten memories that have a vector of the first model and of a second one."""
    world.rows("select loci_api.register_model('first', 3)")
    for number in range(10):
        world.write(f"note {number}", embedding=FIRST)
    begin(world)
    embed(world)
    return world


def begin(world: World, name: str = "second", *, replace: bool = False) -> int:
    number = int(world.value("select loci_api.prepare_second_model(%(n)s, 4, null, %(r)s)", n=name, r=replace))
    assert world.value("select loci_api.begin_second_model(%(m)s::smallint, %(r)s)", m=number, r=replace)
    after: int | None = None
    while (after := world.value("select loci_api.queue_reembedding(%(m)s::smallint, %(a)s)", m=number, a=after)) is not None:
        pass
    return number


def number(world: World, state: str = "second") -> int:
    return int(world.value("select id from loci.embedding_models where state = %(state)s", state=state))


def claim(world: World) -> list[Row]:
    return world.rows("select * from loci_api.claim_memories_to_embed(1000, %(m)s::smallint)", m=number(world))


def embed(world: World, vector: list[float] = APPLE) -> int:
    """Do the worker's part for the second model; how many memories got a vector."""
    claimed = claim(world)
    return (
        world.value(
            "select loci_api.store_memory_vectors(%(m)s::smallint, %(n)s, %(ids)s, %(texts)s, %(v)s::text[]::halfvec[])",
            m=number(world),
            n=[row["namespace_id"] for row in claimed],
            ids=[row["memory_id"] for row in claimed],
            texts=[row["text"] for row in claimed],
            v=[str(vector)] * len(claimed),
        )
        if claimed
        else 0
    )


def ask(world: World, vector: list[float] = PEAR, **options: Any) -> Row | None:
    rows = world.rows(
        "select * from loci_api.recall_second_arm(%(ns)s, %(m)s::smallint, %(v)s::real[])",
        m=options.get("model") or number(world),
        v=vector,
    )
    return rows[0] if rows else None


def states(world: World) -> dict[str, str]:
    return {row["name"]: row["state"] for row in world.rows("select name, state from loci.embedding_models")}


def waiting(world: World) -> int:
    queued = "select count(*) from loci_data.embedding_queue where namespace_id = %(ns_id)s and model_id = %(m)s"
    return int(world.value(queued, m=number(world)))


def vectors(world: World, memory: UUID) -> set[int]:
    rows = world.rows(
        "select model_id from loci_data.memory_vectors where namespace_id = %(ns_id)s and memory_id = %(id)s", id=memory
    )
    return {row["model_id"] for row in rows}


def test_a_second_model_stands_beside_the_first(second: World) -> None:
    assert states(second) == {"first": "active", "second": "second"}


def test_the_nearest_by_the_second_model_come_first(second: World) -> None:
    pear = second.write("pear", embedding=FIRST)
    embed(second, PEAR)
    found = ask(second)
    assert found is not None
    documents = second.value("select doc_id from loci_data.memories where namespace_id = %(ns_id)s and id = %(id)s", id=pear["id"])
    assert (found["ids"][0], len(found["ids"]), found["missing"]) == (documents, 11, [])
    assert found["scores"][0] == pytest.approx(1)


def test_a_written_or_changed_memory_waits_for_both_models(second: World) -> None:
    pear = second.write("pear", entities=[{"name": "Orchard"}])
    assert waiting(second) == 1
    embed(second)
    second.change(pear["id"], tags=["fruit"])
    assert waiting(second) == 1
    assert second.value("select count(*) from loci_data.entity_queue where model_id = %(m)s", m=number(second)) == 0


def test_one_that_waits_is_named_and_the_model_takes_part(second: World) -> None:
    pear = second.write("pear", embedding=FIRST)
    found = ask(second)
    documents = second.value("select doc_id from loci_data.memories where namespace_id = %(ns_id)s and id = %(id)s", id=pear["id"])
    assert found is not None
    assert (found["missing"], len(found["ids"])) == ([documents], 10)


def test_one_that_was_refused_is_named_too(second: World) -> None:
    pear = second.write("pear", embedding=FIRST)
    second.rows("select loci_api.refuse_embedding(%(ns_id)s, %(id)s, %(m)s::smallint, 'too long')", id=pear["id"], m=number(second))
    found = ask(second)
    assert found is not None
    assert len(found["missing"]) == 1


def test_a_namespace_of_which_a_tenth_waits_is_left_to_the_first_model(second: World) -> None:
    second.write("pear", embedding=FIRST)
    second.write("plum", embedding=FIRST)
    assert ask(second) is None
    embed(second)
    assert ask(second) is not None


def test_it_takes_no_part_before_all_that_was_there_is_queued(world: World) -> None:
    world.rows("select loci_api.register_model('first', 3)")
    world.write("apple", embedding=FIRST)
    model = world.value("select loci_api.prepare_second_model('second', 4)")
    assert world.value("select loci_api.begin_second_model(%(m)s::smallint)", m=model)
    assert ask(world) is None


@pytest.mark.parametrize("model", ["active", None])
def test_another_model_is_never_asked_as_the_second(second: World, model: str | None) -> None:
    assert ask(second, model=number(second, model) if model else 30_000) is None


def test_erasing_leaves_no_vector_of_either_model(second: World) -> None:
    pear = second.write("pear", embedding=FIRST)
    embed(second)
    assert vectors(second, pear["id"]) == {number(second), number(second, "active")}
    second.rows("select loci_api.erase_memories(%(ns)s, array[%(id)s::uuid])", id=pear["id"])
    assert vectors(second, pear["id"]) == set()
    assert waiting(second) == 0


def test_an_erased_memory_waits_no_more(second: World) -> None:
    pear = second.write("pear", embedding=FIRST)
    second.rows("select loci_api.erase_memories(%(ns)s, array[%(id)s::uuid])", id=pear["id"])
    assert waiting(second) == 0


def test_there_is_one_second_model_at_most(owned: World) -> None:
    with pytest.raises(errors.UniqueViolation):
        owned.as_owner("insert into loci_data.embedding_models (name, dimensions, second) values ('a', 3, true), ('b', 3, true)")


@pytest.mark.parametrize("parts", ["true, false, true", "false, true, true", "true, true, false"])
def test_a_model_has_one_part(parts: str, owned: World) -> None:
    with pytest.raises(errors.CheckViolation):
        owned.as_owner(
            """insert into loci_data.embedding_models (name, dimensions, active, filling, second)
               select 'a', 3, p[1]::boolean, p[2]::boolean, p[3]::boolean from string_to_array(%(parts)s, ', ') p""",
            parts=parts,
        )


def test_the_first_model_cannot_be_the_second(second: World) -> None:
    assert second.value("select loci_api.prepare_second_model('first', 3)") is None


def test_there_is_no_second_model_without_a_first(world: World) -> None:
    assert world.value("select loci_api.prepare_second_model('second', 4)") is None


def test_another_second_model_stays_unless_it_is_to_be_replaced(second: World) -> None:
    assert second.value("select loci_api.prepare_second_model('third', 4)") is None
    begin(second, "third", replace=True)
    assert states(second) == {"first": "active", "second": "retired", "third": "second"}
    assert waiting(second) == 10


def test_a_second_model_that_has_made_no_vector_gives_way(world: World) -> None:
    world.rows("select loci_api.register_model('first', 3)")
    begin(world)
    begin(world, "third")
    assert states(world)["third"] == "second"


def test_to_begin_again_changes_nothing(second: World) -> None:
    begin(second)
    assert (states(second)["second"], waiting(second)) == ("second", 0)


def test_one_that_was_retired_is_not_asked_and_its_vectors_are_dropped(second: World) -> None:
    model = number(second)
    assert second.value("select loci_api.retire_second_model()") == "second"
    assert second.value("select loci_api.retire_second_model()") is None
    assert ask(second, model=model) is None
    pear = second.write("pear", embedding=FIRST)
    assert second.value("select count(*) from loci_data.embedding_queue where memory_id = %(id)s", id=pear["id"]) == 0
    dropped = second.row("select * from loci_api.delete_retired_vectors(%(m)s::smallint, 'memory_vectors')", m=model)
    assert dropped["dropped"] == 10


def test_the_vectors_of_a_second_model_are_not_dropped(second: World) -> None:
    with pytest.raises(errors.InvalidParameterValue, match="in use"):
        second.rows("select * from loci_api.delete_retired_vectors(%(m)s::smallint, 'memory_vectors')", m=number(second))


def test_a_second_model_may_take_the_place_of_the_first(second: World) -> None:
    model = second.value("select loci_api.begin_reembedding('second', 4)")
    assert states(second) == {"first": "active", "second": "filling"}
    after: int | None = None
    while (after := second.value("select loci_api.queue_reembedding(%(m)s::smallint, %(a)s)", m=model, a=after)) is not None:
        pass
    assert second.value("select loci_api.finish_reembedding(%(m)s::smallint)", m=model) == 0
    assert states(second) == {"first": "retired", "second": "active"}


@pytest.fixture
def stranger(admin: psycopg.Connection[Row]) -> UUID:
    """An agent of another namespace."""
    return grant(admin, "default", "admin")


def test_an_agent_finds_and_sees_only_what_it_may_read(stranger: UUID, second: World) -> None:
    act_as(second.connection, stranger)
    with pytest.raises(errors.InsufficientPrivilege), second.connection.transaction():
        ask(second)
    assert second.value("select count(*) from loci_data.memory_vectors") == 0
    with pytest.raises(errors.InsufficientPrivilege), second.connection.transaction():
        second.rows("select loci_api.retire_second_model()")
