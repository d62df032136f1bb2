"""A second embedding model while others write: what is written meanwhile waits for it, and two workers share the work."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from tests.blocking import blocked
from tests.databases import Database
from tests.factories import OPERATOR, World, new_world
from tests.faults.test_memories_concurrency import two_sessions
from tests.faults.test_models_vectors import Two, written
from tests.services import PATIENCE

SECOND = "select loci_api.prepare_second_model('second', 3)"
BEGIN = "select loci_api.begin_second_model(%(m)s::smallint)"
WAITS = "select count(*) from loci_data.embedding_queue where namespace_id = %(ns_id)s and model_id = %(m)s"
CLAIM = "select * from loci_api.claim_memories_to_embed(2, %(m)s::smallint)"
STORE = "select loci_api.store_memory_vectors(%(m)s::smallint, %(n)s, %(ids)s, %(texts)s, %(v)s::halfvec[])"


@pytest.fixture
def two(server: Any) -> Iterator[Two]:
    """A namespace of its own database in two sessions, whose first model has made a vector; one statement a transaction."""
    database: Database = server.clone("second")
    with two_sessions(database) as (one, other, watcher, pool):
        with one.transaction():
            made = new_world(one)
            made.rows("select loci_api.register_model('first', 3)")
        for session in (one, other):
            session.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        written(made, [1, 0, 0])
        yield made, replace(made, connection=other), watcher, pool
    server.drop(database)


def store(world: World, model: int, claimed: list[Any]) -> int:
    return int(
        world.value(
            STORE,
            m=model,
            n=[row["namespace_id"] for row in claimed],
            ids=[row["memory_id"] for row in claimed],
            texts=[row["text"] for row in claimed],
            v=["[1,0,0]"] * len(claimed),
        )
    )


def test_a_write_under_way_waits_for_the_second_model_too(two: Two) -> None:
    one, other, watcher, pool = two
    model = one.value(SECOND)
    with one.connection.transaction():
        written(one, [0, 1, 0])
        beginning = blocked(pool, watcher, other.connection, lambda: other.value(BEGIN, m=model))
    assert beginning.result(PATIENCE) is True
    written(one, [0, 0, 1])
    after = None
    while (after := one.value("select loci_api.queue_reembedding(%(m)s::smallint, %(a)s)", m=model, a=after)) is not None:
        pass
    assert one.value(WAITS, m=model) == 3


def test_two_workers_embed_each_memory_once(two: Two) -> None:
    one, other, _, _ = two
    model = one.value(SECOND)
    assert one.value(BEGIN, m=model)
    written(one, [0, 1, 0], [0, 0, 1], [0, 0, 2])
    with one.connection.transaction():
        mine = one.rows(CLAIM, m=model)
        with other.connection.transaction():
            theirs = other.rows(CLAIM, m=model)
            stored = store(other, model, theirs)
        assert not {row["memory_id"] for row in mine} & {row["memory_id"] for row in theirs}
        assert store(one, model, mine) + stored == len(mine) + len(theirs) == 3
    assert one.value(WAITS, m=model) == 0


def test_a_worker_that_dies_gives_its_claim_back(two: Two) -> None:
    one, other, _, _ = two
    model = one.value(SECOND)
    assert one.value(BEGIN, m=model)
    written(one, [0, 1, 0])
    with one.connection.transaction() as died:
        assert len(one.rows(CLAIM, m=model)) == 1
        raise psycopg.Rollback(died)
    assert len(other.rows(CLAIM, m=model)) == 1


def test_a_vector_of_a_model_that_was_retired_meanwhile_is_not_kept(two: Two) -> None:
    one, other, _, _ = two
    model = one.value(SECOND)
    assert one.value(BEGIN, m=model)
    written(one, [0, 1, 0])
    claimed = one.rows(CLAIM, m=model)
    assert other.value("select loci_api.retire_second_model()") == "second"
    assert store(one, model, claimed) == 0
    assert one.value("select count(*) from loci_data.memory_vectors where model_id = %(m)s", m=model) == 0
