"""Ranges of the lexical index are written beside writers and readers: nobody sees half of one, and nobody who adds waits."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row

from tests.databases import Database
from tests.factories import OPERATOR, Row, World, act_as, new_world
from tests.sql.test_recall_lexical import REBUILT, search
from tests.sql.test_recall_ranges import INDEXED, text

JOIN = "select joined from loci_api.join_lexical_ranges(100, 0)"
QUESTION = "word0 word2 word30"


@contextmanager
def session(database: Database) -> Iterator[psycopg.Connection[Row]]:
    """A session of the operator that waits for no lock."""
    with psycopg.connect(database.admin_url, row_factory=dict_row) as opened:
        opened.execute("set session authorization loci_app")
        opened.execute("set lock_timeout = '100ms'")
        opened.commit()
        act_as(opened, OPERATOR)
        yield opened
        opened.rollback()


@pytest.fixture
def shared(own_database: Database) -> Iterator[tuple[World, list[UUID]]]:
    """A committed namespace of 250 memories, all in blocks."""
    dice = random.Random(4)
    with session(own_database) as opened:
        world = new_world(opened)
        ids = [row["id"] for row in world.remember(*({"content": f"{text(dice)} n{n}"} for n in range(250)))]
        opened.commit()
        act_as(opened, OPERATOR)
        yield world, ids
        opened.rollback()
        act_as(opened, OPERATOR)
        world.rows("select loci_api.delete_namespace(%(ns)s)")
        opened.commit()


def other(opened: psycopg.Connection[Any], world: World) -> World:
    return World(opened, world.name, world.id)


def test_beside_a_range_that_is_not_committed_all_is_found_and_added_without_waiting(
    shared: tuple[World, list[UUID]], own_database: Database
) -> None:
    world, _ = shared
    before = search(world, QUESTION, 300)
    with session(own_database) as joining, session(own_database) as writing:
        assert other(joining, world).row(JOIN) == {"joined": 200}
        assert [id for id, _ in search(other(joining, world), QUESTION, 300)] == [id for id, _ in before]  # noqa: A001
        assert search(world, QUESTION, 300) == before
        added = other(writing, world).write("word30 and no other")["id"]
        writing.commit()
        assert added in {id for id, _ in search(world, QUESTION, 300)}  # noqa: A001
        joining.rollback()  # as after a kill: all is in blocks, as it was
    assert world.rows("select from loci_data.lexical_ranges where namespace_id = %(ns_id)s") == []
    assert world.as_owner(INDEXED) == world.as_owner(REBUILT)


def test_memories_added_meanwhile_stay_in_blocks(shared: tuple[World, list[UUID]], own_database: Database) -> None:
    world, _ = shared
    with session(own_database) as early, session(own_database) as joining:
        other(early, world).write("word30 of a transaction that began before")
        assert other(joining, world).row(JOIN) == {"joined": 200}
        early.commit()
        joining.commit()
    with session(own_database) as later:
        assert len(search(other(later, world), "began", 5)) == 1
        assert other(later, world).as_owner(INDEXED) == other(later, world).as_owner(REBUILT)


def test_while_a_memory_is_changed_no_range_is_written_and_nobody_waits(
    shared: tuple[World, list[UUID]], own_database: Database
) -> None:
    world, ids = shared
    with session(own_database) as changing, session(own_database) as joining:
        other(changing, world).change(ids[7], tags=["plum"])
        assert other(joining, world).row(JOIN) == {"joined": 0}
        joining.commit()
        changing.commit()
        act_as(joining, OPERATOR)
        assert other(joining, world).row(JOIN) == {"joined": 200}
        joining.commit()
    with session(own_database) as later:
        assert other(later, world).as_owner(INDEXED) == other(later, world).as_owner(REBUILT)


@pytest.mark.parametrize("gone", [False, True], ids=["changed", "erased"])
def test_blocks_that_were_changed_since_they_were_read_are_not_taken(
    shared: tuple[World, list[UUID]], own_database: Database, gone: bool
) -> None:
    world, ids = shared
    blocks = world.row(
        """select array_agg(p.term) as terms, array_agg(p.id) as blocks, sum(p.size)::bigint as size, d.documents
           from loci_data.postings p,
                (select array_agg(doc_id order by doc_id) as documents from loci_data.memories where namespace_id = %(ns_id)s) d
           where p.namespace_id = %(ns_id)s group by 4"""
    )
    with session(own_database) as changing:
        if gone:
            other(changing, world).erase(ids[3])
        else:
            other(changing, world).change(ids[3], tags=["plum"])
        changing.commit()
    world.connection.commit()
    act_as(world.connection, OPERATOR)
    take = "select loci_internal.take_postings(%(ns_id)s, %(documents)s, %(terms)s, %(blocks)s, %(size)s)"
    with pytest.raises(errors.LockNotAvailable), world.connection.transaction():
        world.as_owner(take, **blocks)
    world.connection.execute("set session authorization loci_app")
    assert world.as_owner(INDEXED) == world.as_owner(REBUILT)


def test_ranges_are_written_by_one_at_a_time(shared: tuple[World, list[UUID]], own_database: Database) -> None:
    world, _ = shared
    with session(own_database) as one, session(own_database) as another:
        assert other(one, world).row(JOIN) == {"joined": 200}
        assert other(another, world).row(JOIN) == {"joined": 0}
