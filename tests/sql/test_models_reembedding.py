"""A model that is filled behind the active one: what waits for which, when it may take over, and what is left of the other."""

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from tests.factories import OPERATOR, World, act_as

OLD, NEW = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]
Row = dict[str, Any]


@pytest.fixture
def model(world: World) -> World:
    """A world whose active model has made a vector."""
    world.rows("select loci_api.register_model('old', 3)")
    world.write("apple", embedding=OLD)
    return world


@pytest.fixture
def filling(model: World) -> World:
    """The same, with another model that is being filled, and everything of before queued for it."""
    begin(model)
    return model


def begin(world: World, name: str = "new", dimensions: int = 4, *, indexes: bool = True) -> int:
    number: int = world.value("select loci_api.begin_reembedding(%(n)s, %(d)s, null, true, %(i)s)", n=name, d=dimensions, i=indexes)
    after: int | None = None
    while (after := world.value("select loci_api.queue_reembedding(%(m)s::smallint, %(a)s)", m=number, a=after)) is not None:
        pass
    return number


def number(world: World, state: str) -> int:
    return int(world.value("select id from loci.embedding_models where state = %(state)s", state=state))


def waiting(world: World, state: str) -> int:
    queues = """
        select (select count(*) from loci_data.embedding_queue where namespace_id = %(ns_id)s and model_id = %(m)s)
               + (select count(*) from loci_data.entity_queue where namespace_id = %(ns_id)s and model_id = %(m)s)"""
    return int(world.value(queues, m=number(world, state)))


def embed(world: World, state: str = "filling", vector: list[float] = NEW) -> int:
    """Do the worker's part for a model; how many memories and entities got a vector."""
    model_id = number(world, state)
    return store(world, model_id, claim(world, model_id), vector)


def claim(world: World, model_id: int) -> tuple[list[Row], list[Row]]:
    return (
        world.rows("select * from loci_api.claim_memories_to_embed(1000, %(m)s::smallint)", m=model_id),
        world.rows("select * from loci_api.claim_entities_to_embed(1000, %(m)s::smallint)", m=model_id),
    )


def store(world: World, model_id: int, claimed: tuple[list[Row], list[Row]], vector: list[float]) -> int:
    memories, entities = claimed
    done = 0
    if memories:
        done += world.value(
            "select loci_api.store_memory_vectors(%(m)s::smallint, %(n)s, %(ids)s, %(texts)s, %(v)s::text[]::halfvec[])",
            m=model_id,
            n=[row["namespace_id"] for row in memories],
            ids=[row["memory_id"] for row in memories],
            texts=[row["text"] for row in memories],
            v=[str(vector)] * len(memories),
        )
    if entities:
        done += world.value(
            "select loci_api.store_entity_vectors(%(m)s::smallint, %(n)s, %(ids)s, %(texts)s, %(v)s::text[]::halfvec[])",
            m=model_id,
            n=[row["namespace_id"] for row in entities],
            ids=[row["entity_id"] for row in entities],
            texts=[row["text"] for row in entities],
            v=[str(vector)] * len(entities),
        )
    return done


def finish(world: World) -> int:
    return int(world.value("select loci_api.finish_reembedding(%(m)s::smallint)", m=number(world, "filling")))


def similar(world: World, vector: list[float]) -> list[UUID]:
    return [row["id"] for row in world.rows("select id from loci.similar_memories(%(ns)s, %(v)s::real[])", v=vector)]


def arms(world: World, vector: list[float], model_id: int | None) -> Row:
    return world.row(
        "select * from loci_api.recall_arms(%(ns)s, 'apple', %(v)s::real[], '{vector}', p_model_id => %(m)s::smallint)",
        v=vector,
        m=model_id,
    )


def test_a_memory_written_meanwhile_waits_for_both_models(filling: World) -> None:
    filling.write("pear", entities=[{"name": "Orchard"}])
    assert (waiting(filling, "active"), waiting(filling, "filling")) == (2, 3)


def test_a_memory_changed_meanwhile_waits_for_both_models(filling: World) -> None:
    memory = filling.write("pear", entities=[{"name": "Orchard"}])
    embed(filling)
    embed(filling, "active", OLD)
    filling.change(memory["id"], tags=["fruit"])
    orchard = filling.value("select id from loci_data.entities where namespace_id = %(ns_id)s and name = 'Orchard'")
    filling.rows("""select loci_api.update_entity(%(ns)s, %(id)s, '{"description": "trees"}')""", id=orchard)
    assert (waiting(filling, "active"), waiting(filling, "filling")) == (2, 2)


def test_erasing_leaves_nothing_of_either_model(filling: World) -> None:
    embed(filling)
    memory = filling.write("pear", embedding=OLD)["id"]
    filling.erase(memory)
    for table in ("memory_vectors", "embedding_queue"):
        left = filling.rows(
            "select to_jsonb(v) as row from loci_data.memory_vectors v where memory_id = %(id)s union all select to_jsonb(q) from loci_data.embedding_queue q where memory_id = %(id)s",
            id=memory,
        )
        assert left == [], table


def test_the_worker_takes_for_the_active_model_alone_unless_it_is_told_which(filling: World) -> None:
    assert filling.rows("select * from loci_api.claim_memories_to_embed(100)") == []
    assert embed(filling) == 1


@pytest.mark.row("L1")
def test_recall_asks_the_active_model_until_the_other_takes_over_and_then_that_one(filling: World) -> None:
    (apple,) = similar(filling, OLD)
    embed(filling)
    assert similar(filling, OLD) == [apple]
    assert finish(filling) == 0
    assert similar(filling, NEW) == [apple]


def test_a_model_does_not_take_over_while_anything_waits_for_it(filling: World) -> None:
    filling.write("pear")
    assert finish(filling) == 2
    assert embed(filling) == 2
    assert finish(filling) == 0
    assert filling.value("select name from loci.embedding_models where state = 'active'") == "new"


def test_a_text_that_the_new_model_refuses_does_not_hold_up_the_change(filling: World) -> None:
    (row,) = filling.rows("select * from loci_api.claim_memories_to_embed(10, %(m)s::smallint)", m=number(filling, "filling"))
    filling.rows("select loci_api.refuse_embedding(%(ns_id)s, %(id)s, %(m)s, 'too rude')", id=row["memory_id"], m=row["model_id"])
    assert finish(filling) == 0


def test_a_model_without_its_indexes_does_not_take_over(model: World) -> None:
    begin(model, indexes=False)
    embed(model)
    with pytest.raises(errors.InvalidParameterValue, match="32 indexes of the model new are missing"):
        finish(model)


def test_a_model_does_not_take_over_before_all_of_before_is_queued(model: World) -> None:
    model.value("select loci_api.begin_reembedding('new', 4, null, true, true)")
    with pytest.raises(errors.InvalidParameterValue, match="not all memories are queued for the model new yet"):
        finish(model)


def test_to_begin_again_goes_on_with_what_is_there(filling: World) -> None:
    embed(filling)
    assert begin(filling) == number(filling, "filling")
    assert waiting(filling, "filling") == 0


@pytest.mark.parametrize(
    ("name", "dimensions", "message"),
    [
        ("old", 3, "the model old is active already"),
        ("third", 4, "the model new is being filled"),
        ("new", 5, "the model new has 4 dimensions here, not 5"),
    ],
)
def test_a_model_that_cannot_be_filled_is_refused(filling: World, name: str, dimensions: int, message: str) -> None:
    with pytest.raises(errors.InvalidParameterValue, match=message):
        begin(filling, name, dimensions)


def test_without_an_active_model_there_is_none_to_take_the_place_of(world: World) -> None:
    with pytest.raises(errors.InvalidParameterValue, match="no embedding model is active"):
        begin(world)


def test_a_question_embedded_by_a_model_that_is_not_active_any_more_takes_no_part_and_says_which_is(filling: World) -> None:
    old = number(filling, "active")
    embed(filling)
    finish(filling)
    found = arms(filling, OLD, old)
    assert (found["vector_ids"], found["model_id"]) == (None, number(filling, "active"))
    assert arms(filling, NEW, found["model_id"])["vector_ids"] is not None


def test_a_search_for_entities_with_a_vector_of_another_model_is_to_be_repeated(filling: World) -> None:
    with pytest.raises(errors.SerializationFailure):
        filling.rows(
            "select * from loci.search_entities(%(ns)s, 'x', %(v)s::real[], p_model_id => %(m)s::smallint)",
            v=NEW,
            m=number(filling, "filling"),
        )


def test_facts_with_vectors_of_a_model_that_is_not_active_any_more_are_retained_without_them(filling: World) -> None:
    old = number(filling, "active")
    embed(filling)
    finish(filling)
    fact = {"content": "Alice lives in Oslo.", "embedding": OLD, "embedding_model": old}
    (kept,) = filling.rows("select * from loci_api.retain(%(ns)s, %(items)s)", items=Jsonb([fact]))
    assert kept["action"] == "create"
    assert filling.value("select count(*) from loci_data.embedding_queue where memory_id = %(id)s", id=kept["memory_id"]) == 1


def test_vectors_of_a_model_that_was_retired_after_the_claim_are_dropped_without_an_error(filling: World) -> None:
    filling.write("pear", entities=[{"name": "Orchard"}])
    old = number(filling, "active")
    claimed = claim(filling, old)
    embed(filling)
    finish(filling)
    assert store(filling, old, claimed, OLD) == 0
    assert waiting(filling, "retired") == 0  # who cleared the queue has passed by what was claimed


def test_a_retired_model_goes_in_batches_and_leaves_nothing(filling: World) -> None:
    filling.remember(*[{"content": f"pear {n}", "embedding": OLD, "entities": [{"name": "Orchard"}]} for n in range(7)])
    assert waiting(filling, "active") == 1  # of what was claimed by who did not come back, too, nothing is left
    old = number(filling, "active")
    embed(filling)
    finish(filling)
    after, sizes = {"namespace_id": 0, "id": UUID(int=0)}, []
    while rows := filling.rows(
        "select * from loci_api.delete_retired_vectors(%(m)s::smallint, 'memory_vectors', %(namespace_id)s, %(id)s, 3)",
        m=old,
        **after,
    ):
        after = {"namespace_id": rows[0]["namespace_id"], "id": rows[0]["id"]}
        sizes.append(rows[0]["dropped"])
    assert sizes == [3, 3, 2]
    while not filling.value("select loci_api.drop_retired_model(%(m)s::smallint)", m=old):
        pass
    assert waiting(filling, "dropped") == 0
    assert filling.value("select state from loci.embedding_models where id = %(m)s", m=old) == "dropped"
    assert filling.value("select count(*) from pg_indexes where indexname ~ ('_hnsw_' || %(m)s || '$')", m=old) == 0
    assert len(similar(filling, NEW)) == 8


def test_a_dropped_model_can_be_filled_again(filling: World) -> None:
    old = number(filling, "active")
    embed(filling)
    finish(filling)
    with pytest.raises(errors.InvalidParameterValue, match="vectors of an earlier use"), filling.connection.transaction():
        begin(filling, "old", 3)
    while filling.rows("select * from loci_api.delete_retired_vectors(%(m)s::smallint, 'memory_vectors')", m=old):
        pass
    while not filling.value("select loci_api.drop_retired_model(%(m)s::smallint)", m=old):
        pass
    assert begin(filling, "old", 3) == old


def test_cancelling_leaves_the_active_model_as_it_was(filling: World) -> None:
    embed(filling)
    new = number(filling, "filling")
    assert filling.value("select loci_api.cancel_reembedding()") == "new"
    filling.write("pear", embedding=OLD)
    assert waiting(filling, "active") == 0
    assert filling.value("select count(*) from loci_data.embedding_queue where model_id = %(m)s", m=new) == 0
    assert len(similar(filling, OLD)) == 2


@pytest.mark.parametrize(
    "statement",
    [
        "loci_api.delete_retired_vectors(%(m)s::smallint, 'memory_vectors')",
        "loci_api.drop_retired_model(%(m)s::smallint)",
        "loci_api.clear_model_queues(%(m)s::smallint)",
    ],
)
@pytest.mark.parametrize("state", ["active", "filling"])
def test_a_model_in_use_is_not_dropped(filling: World, statement: Any, state: str) -> None:
    with pytest.raises(errors.InvalidParameterValue, match="in use"):
        filling.rows(f"select {statement}", m=number(filling, state))


def test_the_size_of_a_namespace_counts_what_waits_for_the_active_model(filling: World) -> None:
    filling.write("pear")
    assert filling.value("select pending_embeddings from loci.namespace_stats where namespace = %(ns)s") == 1
    assert filling.value("select waiting from loci.embedding_models where state = 'filling'") == 2


@pytest.mark.parametrize(
    "statement",
    [
        "loci_api.begin_reembedding('x', 3)",
        "loci_api.queue_reembedding(1::smallint)",
        "loci_api.create_model_indexes(1::smallint)",
        "loci_api.finish_reembedding(1::smallint)",
        "loci_api.cancel_reembedding()",
        "loci_api.delete_retired_vectors(1::smallint, 'memory_vectors')",
        "loci_api.clear_model_queues(1::smallint)",
        "loci_api.drop_retired_model(1::smallint)",
    ],
)
def test_only_the_operator_changes_the_model(world: World, statement: Any) -> None:
    act_as(world.connection, UUID(int=7))
    with pytest.raises(errors.InsufficientPrivilege):
        world.rows(f"select {statement}")
    world.connection.rollback()
    act_as(world.connection, OPERATOR)


def test_a_writer_of_a_long_transaction_holds_the_change_up_for_no_longer_than_it_is_told(database: Any) -> None:
    with psycopg.connect(database.admin_url) as writer, psycopg.connect(database.app_url) as other:
        writer.execute("lock table loci_data.memories in row exclusive mode")
        act_as(other, OPERATOR)
        other.execute("set local lock_timeout = '50ms'")
        with pytest.raises(errors.LockNotAvailable):
            other.execute("select loci_api.finish_reembedding(1::smallint)")
