"""A law: however memories were written, imported, changed, undone, erased and joined, a search is exhaustive BM25."""

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from uuid import UUID

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import errors
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day, new_world
from tests.sql.test_recall_lexical import REBUILT
from tests.sql.test_recall_ranges import INDEXED, check, text
from tests.sql.undoing import operation, undo

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "import", "change", "erase", "forget", "undo", "join", "tidy"]), st.integers(0, 2**16)
    ),
    min_size=3,
    max_size=14,
)


def noted(world: World, work: Callable[[], object], *refusals: type[psycopg.Error]) -> list[UUID]:
    """The operation that a call was. What changed nothing, or was refused as it may be, is none, and has nothing to undo."""
    with suppress(*refusals), world.connection.transaction():
        _, made = operation(world, work)
        rows = world.rows("select id from loci_data.operations where namespace_id = %(ns_id)s and id = %(id)s", id=made)
        return [row["id"] for row in rows]
    return []


@pytest.mark.row("R1")
@given(steps=STEPS, question=st.integers(0, 2**16), limit=st.sampled_from([1, 5, 30, 400]), size=st.integers(5, 60))
def test_ranges_and_blocks_together_are_exhaustive_bm25(
    admin: psycopg.Connection[Row], steps: list[tuple[str, int]], question: int, limit: int, size: int
) -> None:
    admin.execute("set session authorization loci_app")
    world = new_world(admin, "simple")
    ids: list[UUID] = []
    done: list[UUID] = []  # operations
    for what, number in [("write", 1), *steps]:
        dice = random.Random(number)
        some = dice.sample(ids, min(len(ids), dice.randint(1, 20)))
        if what == "write":
            longest = dice.choice([3, 20, 80])
            items = ({"content": f"{text(dice, longest)} n{n}", "valid_from": day(n % 9)} for n in range(dice.randint(1, 90)))
            written, made = operation(world, lambda items=tuple(items): world.remember(*items))
            ids += [row["id"] for row in written]
            done.append(made)
        elif what == "import":
            items = (
                {"id": str(UUID(int=dice.getrandbits(128), version=4)), "content": f"{text(dice)} i{n % 7}"}
                for n in range(dice.randint(1, 30))
            )
            rows = world.rows("select * from loci_api.import_memories(%(ns)s, %(items)s)", items=Jsonb(list(items)))
            ids += [row["id"] for row in rows if row["outcome"] == "written"]
        elif what == "undo" and done:
            with suppress(errors.UniqueViolation), world.connection.transaction():
                undo(world, done.pop(dice.randrange(len(done))), skip_changed=True)
        elif what == "erase" and some:
            world.erase(*some)
            ids = [id for id in ids if id not in some]  # noqa: A001
        elif what == "join":
            world.row("select * from loci_api.join_lexical_ranges(%(size)s, 0)", size=size)
        elif what == "tidy":
            world.row("select * from loci_api.compact_lexical_index(0)")
        for id in some[:3] if what in {"change", "forget"} else []:  # noqa: A001
            if what == "change":
                done += noted(world, partial(world.change, id, tags=[text(dice, 4)]))
            elif dice.random() < 0.7:
                done += noted(world, partial(world.forget, id))
            else:  # another may say the same by now
                done += noted(world, partial(world.forget, id, forget=False), errors.UniqueViolation)
    assert world.as_owner(INDEXED) == world.as_owner(REBUILT)
    assert world.row("select broken from loci.verify(%(ns)s) where name = 'postings'") == {"broken": 0}
    check(world, text(random.Random(question), 6), limit)
    check(world, text(random.Random(question), 3), limit, as_of=day(3))
