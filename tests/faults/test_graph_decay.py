"""A change of decay beside writers, other changes and death: nothing stale is left, and nobody waits long."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.errors import LockNotAvailable
from psycopg.rows import dict_row

from db.pool import make_pool
from service.worker.worker import Worker
from tests.databases import Database
from tests.factories import OPERATOR, World, act_as, new_world
from tests.sql.test_graph import observe
from tests.sql.test_graph_decay import WAYS, age, alive, batch, finish, in_step, set_rate


def session(database: Database) -> psycopg.Connection[Any]:
    """A connection of the operator that waits for no lock for long."""
    opened = psycopg.connect(database.app_url, row_factory=dict_row)
    opened.execute("select set_config('loci.agent', %s, false), set_config('lock_timeout', '200ms', false)", [str(OPERATOR)])
    opened.commit()
    return opened


@pytest.fixture
def pair(own_database: Database) -> Iterator[tuple[World, World]]:
    """One namespace in two sessions; the first has aged edges."""
    with closing(session(own_database)) as first, closing(session(own_database)) as second:
        act_as(first, OPERATOR)
        world = new_world(first)
        age(world)
        first.commit()
        first.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        first.commit()
        yield world, World(second, world.name, world.id)


@pytest.mark.row("G10")
def test_a_writer_that_read_the_old_rate_is_waited_for_and_leaves_nothing_stale(pair: tuple[World, World]) -> None:
    change, writer = pair
    then = writer.now() - timedelta(days=30)
    observe(writer, {"source": "a", "type": "t", "target": "late", "observed_at": then})
    set_rate(change, 0.1)
    change.connection.commit()
    with pytest.raises(LockNotAvailable):
        batch(change)
    change.connection.rollback()
    writer.connection.commit()
    assert alive(change)[:9] == [{"fresh"}] * 9  # though the moment that it stored is wrong
    assert not in_step(change)
    finish(change)
    assert in_step(change)
    assert alive(change)[:9] == [{"fresh"}] * 9


def test_writers_that_come_after_a_change_wait_for_nobody(pair: tuple[World, World], own_database: Database) -> None:
    change, writer = pair
    observe(writer, {"source": "x", "type": "t", "target": "y"})
    set_rate(change, 0.1)
    change.connection.commit()
    with closing(session(own_database)) as third:
        late = World(third, change.name, change.id)
        observe(late, {"source": "v", "type": "t", "target": "w", "observed_at": late.now() - timedelta(days=30)})
        third.commit()
    writer.connection.commit()
    finish(change)
    assert in_step(change)


def test_a_batch_under_way_holds_up_only_those_who_write_its_edges(pair: tuple[World, World]) -> None:
    change, writer = pair
    set_rate(change, 0.1)
    change.connection.commit()
    batch(change, limit=1)  # of the edge to fresh
    assert alive(writer) == [{"fresh"}] * WAYS
    observe(writer, {"source": "a", "type": "t", "target": "old", "session_id": "s"})
    observe(writer, {"source": "p", "type": "t", "target": "q"})
    writer.connection.commit()
    with pytest.raises(LockNotAvailable):
        observe(writer, {"source": "a", "type": "t", "target": "fresh", "session_id": "s"})
    writer.connection.rollback()
    change.connection.commit()
    finish(change)
    assert in_step(change)


def test_a_change_can_begin_while_another_waits_for_writers(pair: tuple[World, World], own_database: Database) -> None:
    change, writer = pair
    observe(writer, {"source": "x", "type": "t", "target": "y", "observed_at": writer.now() - timedelta(days=30)})
    set_rate(change, 0.1)
    change.connection.commit()
    with pytest.raises(LockNotAvailable):
        batch(change)
    change.connection.rollback()
    set_rate(change, 0.001)
    change.connection.commit()
    with pytest.raises(LockNotAvailable):
        batch(change)
    change.connection.rollback()
    writer.connection.commit()
    finish(change)
    assert in_step(change)


@pytest.mark.anyio
async def test_the_worker_finishes_what_a_dead_process_left(pair: tuple[World, World], own_database: Database) -> None:
    change, reader = pair
    set_rate(change, 0.1)
    change.connection.commit()
    batch(change, limit=1)
    change.connection.commit()
    batch(change, limit=1)
    change.connection.close()  # killed in the middle of a batch
    assert alive(reader) == [{"fresh"}] * WAYS
    reader.connection.commit()
    async with make_pool(own_database.app_url, size=2) as pool:
        worker = Worker(pool, None)
        assert not await worker.continue_decay(abandoned=3600)
        while await worker.continue_decay(abandoned=0):  # other namespaces may have one too
            pass
    assert in_step(reader)
    assert alive(reader) == [{"fresh"}] * WAYS
