"""What waits for the worker is one question, asked again and again: it says which work has something to do, and nothing else."""

from uuid import uuid4

import pytest
from psycopg import errors

from tests.factories import World, act_as


def waits(world: World) -> set[str]:
    row = world.row("select feed, names, vectors from loci_api.waiting_work()")
    return {work for work, there in row.items() if there}


def moved(world: World) -> None:
    world.rows("select loci_api.sequence_changes()")


def embedded(world: World) -> None:
    """Take what waits for the active model off its queues, as the worker does when it has stored the vectors."""
    world.as_owner(
        """with active as (select id from loci_data.embedding_models where active),
                memories as (delete from loci_data.embedding_queue q using active a where q.model_id = a.id returning q.model_id),
                entities as (delete from loci_data.entity_queue q using active a where q.model_id = a.id returning q.model_id)
           select (select count(*) from memories) + (select count(*) from entities)"""
    )


def test_each_work_has_something_to_do_until_it_is_done(owned: World) -> None:
    owned.rows("select loci_api.register_model('any', 3)")
    moved(owned)
    assert waits(owned) == set()
    owned.write("Alice lives in Oslo")
    assert waits(owned) == {"feed", "names", "vectors"}
    moved(owned)
    assert waits(owned) == {"names", "vectors"}
    owned.rows("select * from loci_api.claim_memories_to_name(10)")
    assert waits(owned) == {"vectors"}
    embedded(owned)
    assert waits(owned) == set()


def test_an_entity_waits_for_its_vector_as_a_memory_does(owned: World) -> None:
    owned.rows("select loci_api.register_model('any', 3)")
    owned.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Alice"}]\')')
    assert "vectors" in waits(owned)


def test_work_for_no_model_or_one_being_filled_is_not_in_the_queue(owned: World) -> None:
    owned.write("Alice lives in Oslo")
    assert "vectors" not in waits(owned)
    owned.rows("select loci_api.register_model('any', 3)")
    embedded(owned)
    owned.rows("select loci_api.begin_reembedding('new', 4, null, true, false)")
    owned.write("Bob lives in Bergen")
    embedded(owned)
    assert "vectors" not in waits(owned)


def test_it_is_for_the_operator_alone(world: World) -> None:
    act_as(world.connection, uuid4())
    with pytest.raises(errors.InsufficientPrivilege, match="look for work"):
        waits(world)
