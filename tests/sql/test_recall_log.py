"""The log of recalls: what was asked and answered, what became of it, how long it is kept."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.errors import CheckViolation, InsufficientPrivilege, InvalidParameterValue, NoDataFound
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from db.operations import LOGS
from tests.databases import Database
from tests.factories import OPERATOR, Row, World, act_as, grant, new_world
from tests.sql.test_facts_walk import as_owner


@pytest.fixture
def world(owned: World) -> World:
    """A world that can be written past the service."""
    return owned


def log(
    world: World, *memories: UUID, session: str | None = None, query: str = "who?", id: UUID | None = None, **fields: Any
) -> UUID:
    """Log a recall that was answered with these memories, in this order; its id."""
    recall = id or world.value("select loci_api.uuid7()")
    asked = {"id": str(recall), "session_id": session, "query": query, "arms": ["lexical", "vector"], "fusion": "rrf", "k": 10,
             "results": len(memories), "took_ms": 2.5, **fields}  # fmt: skip
    answer = [
        {"document": document(world, memory), "rank": rank, "score": 1 / rank, "arms": {"lexical": {"rank": rank, "score": 5.0}}}
        for rank, memory in enumerate(memories, start=1)
    ]
    world.rows("select loci_api.log_recall(%(ns)s, %(asked)s, %(answer)s)", asked=Jsonb(asked), answer=Jsonb(answer))
    return recall


def document(world: World, memory: UUID) -> int:
    return world.value("select doc_id from loci_data.memories where namespace_id = %(ns_id)s and id = %(id)s", id=memory)


def rate(world: World, recall: UUID | None, *ratings: tuple[UUID, bool | None, str | None]) -> list[UUID]:
    said = [{"memory_id": str(memory), "useful": useful, "note": note} for memory, useful, note in ratings]
    rows = world.rows("select memory_id from loci_api.rate_recall(%(ns)s, %(r)s, %(said)s)", r=recall, said=Jsonb(said))
    return [row["memory_id"] for row in rows]


def rows_of(world: World, recall: UUID) -> list[Row]:
    """The view's rows of a recall."""
    return world.rows("select * from loci.recall_log where namespace = %(ns)s and recall_id = %(r)s order by rank", r=recall)


def get(world: World, recall: UUID) -> Row:
    return world.row("select * from loci.get_recall(%(ns)s, %(r)s)", r=recall)


def logged(world: World) -> int:
    return world.value("select count(*) from loci_data.recalls where namespace_id = %(ns_id)s")


def keep_days(world: World, days: float) -> None:
    world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"recall_log_days": days}}))


# What is logged


def test_the_log_says_what_was_asked_and_what_was_answered(world: World) -> None:
    a, b = (world.write(text)["id"] for text in "ab")
    recall = log(
        world,
        a,
        b,
        session="s",
        query="where?",
        filters={"category": "x"},
        skipped={"vector": "no model"},
        as_of="2020-01-01T00:00:00Z",
    )
    row = get(world, recall)
    assert (row["query"], row["session_id"], row["agent_id"], row["arms"], row["fusion"]) == (
        "where?",
        "s",
        OPERATOR,
        ["lexical", "vector"],
        "rrf",
    )
    assert (row["filters"], row["skipped"], row["as_of"], row["known_at"]) == (
        {"category": "x"},
        {"vector": "no model"},
        datetime(2020, 1, 1, tzinfo=UTC),
        None,
    )
    assert [(m["rank"], m["memory_id"], m["score"]) for m in row["memories"]] == [(1, str(a), 1.0), (2, str(b), 0.5)]
    assert row["memories"][0]["arms"] == {"lexical": {"rank": 1, "score": 5.0}}


def test_the_view_has_a_row_for_each_memory_and_one_for_an_answer_without(world: World) -> None:
    a, b = (world.write(text)["id"] for text in "ab")
    full, empty = log(world, a, b), log(world)
    assert [(row["rank"], row["memory_id"], row["query"]) for row in rows_of(world, full)] == [(1, a, "who?"), (2, b, "who?")]
    assert [(row["rank"], row["memory_id"], row["query"]) for row in rows_of(world, empty)] == [(None, None, "who?")]


def test_a_readers_recall_is_logged_by_name(world: World) -> None:
    a = world.write("a")["id"]
    number = document(world, a)
    world.connection.execute("reset session authorization")
    reader = grant(world.connection, world.name, "reader")
    world.connection.execute("set session authorization loci_app")
    act_as(world.connection, reader)
    asked = {"id": str(uuid4()), "query": "who?", "arms": ["lexical"], "fusion": "rrf", "k": 1, "results": 1, "took_ms": 1}
    answer = [{"document": number, "rank": 1, "score": 1, "arms": {}}]
    assert world.value("select loci_api.log_recall(%(ns)s, %(a)s, %(m)s)", a=Jsonb(asked), m=Jsonb(answer)) == 1
    assert world.value("select agent_id from loci.recall_log where namespace = %(ns)s") == reader
    with pytest.raises(InsufficientPrivilege):
        rate(world, UUID(asked["id"]), (a, True, None))


def test_a_long_question_is_cut(world: World) -> None:
    assert get(world, log(world, query="x" * 20_000))["query"] == "x" * 10_000


def test_memories_of_other_namespaces_are_never_logged_here(world: World) -> None:
    other = new_world(world.connection)
    theirs = other.write("theirs")["id"]
    asked = {"id": str(uuid4()), "query": "who?", "arms": ["lexical"], "fusion": "rrf", "k": 1, "results": 1, "took_ms": 1}
    answer = [{"document": document(other, theirs), "rank": 1, "score": 1, "arms": {}}]
    assert world.value("select loci_api.log_recall(%(ns)s, %(a)s, %(m)s)", a=Jsonb(asked), m=Jsonb(answer)) == 0


# What became of it


@pytest.mark.row("R4")
def test_a_memory_that_the_session_was_shown_after_the_recall_is_injected(world: World) -> None:
    before, after, never = (world.write(text)["id"] for text in "abc")
    world.rows("select loci_api.record_injections(%(ns)s, 's', array[%(id)s]::uuid[])", id=before)
    recall, elsewhere = log(world, before, after, never, session="s"), log(world, after, session="t")
    world.rows("select loci_api.record_injections(%(ns)s, 's', array[%(id)s]::uuid[])", id=after)
    world.rows("select loci_api.record_hits(%(ns)s, 's', array[%(id)s]::uuid[])", id=after)
    assert [(row["injected_at"] is not None, row["hits"]) for row in rows_of(world, recall)] == [
        (False, 0),
        (True, 1),
        (False, None),
    ]
    assert [(row["injected_at"], row["hits"]) for row in rows_of(world, elsewhere)] == [(None, None)]
    assert [(m["injected_at"] is not None, m["hits"]) for m in get(world, recall)["memories"]] == [
        (False, 0),
        (True, 1),
        (False, None),
    ]


@pytest.mark.row("R4")
def test_later_ratings_stand_beside_their_results(world: World) -> None:
    a, b, c = (world.write(text)["id"] for text in "abc")
    recall, other = log(world, a, b, c), log(world, a)
    assert sorted(rate(world, recall, (a, True, None), (b, False, "out of date"))) == sorted([a, b])
    assert [(row["useful"], row["note"]) for row in rows_of(world, recall)] == [(True, None), (False, "out of date"), (None, None)]
    assert [(row["rated_by"], row["rated_at"] is not None) for row in rows_of(world, recall)] == [
        (OPERATOR, True),
        (OPERATOR, True),
        (None, False),
    ]
    assert [row["useful"] for row in rows_of(world, other)] == [None]
    listed = {row["id"]: (row["useful"], row["useless"]) for row in world.rows("select * from loci.list_recalls(%(ns)s)")}
    assert listed == {recall: (1, 1), other: (0, 0)}


def test_the_last_word_on_a_memory_counts(world: World) -> None:
    a = world.write("a")["id"]
    recall = log(world, a)
    rate(world, recall, (a, True, "yes"))
    rate(world, recall, (a, True, "yes"), (a, False, "no"))
    assert [(row["useful"], row["note"]) for row in rows_of(world, recall)] == [(False, "no")]


def test_an_impossible_rating_is_refused_by_field_and_rates_nothing(world: World) -> None:
    a, b = (world.write(text)["id"] for text in "ab")
    recall = log(world, a)
    cases: list[tuple[UUID | None, UUID, bool | None, type[psycopg.Error], str]] = [
        (uuid4(), a, True, NoDataFound, "recall_id"),
        (None, a, True, InvalidParameterValue, "recall_id"),
        (recall, b, True, NoDataFound, "ratings[1].memory_id"),
        (recall, a, None, InvalidParameterValue, "ratings[1].useful"),
    ]
    for of, memory, useful, error, field in cases:
        with pytest.raises(error) as raised, world.connection.transaction():
            rate(world, of, (a, True, None), (memory, useful, None))
        assert raised.value.diag.column_name == field
    with pytest.raises(CheckViolation), world.connection.transaction():
        rate(world, recall, (a, True, "x" * 10_001))
    assert [row["useful"] for row in rows_of(world, recall)] == [None]


# How long it stays


def test_an_erased_memory_leaves_the_log_and_the_question_stays(world: World) -> None:
    a, b = (world.write(text)["id"] for text in "ab")
    recall = log(world, a, b)
    rate(world, recall, (a, True, "a secret"))
    assert world.erase(a)["deleted"]["recall_results"] == 1
    assert [(row["rank"], row["memory_id"]) for row in rows_of(world, recall)] == [(2, b)]
    assert get(world, recall)["query"] == "who?"


def test_a_recall_is_taken_out_of_the_log_with_its_results(world: World) -> None:
    a = world.write("a")["id"]
    recall, other = log(world, a), log(world, a)
    world.rows("select loci_api.delete_recall(%(ns)s, %(r)s)", r=recall)
    assert rows_of(world, recall) == []
    assert len(rows_of(world, other)) == 1
    for call in ("loci_api.delete_recall", "loci.get_recall"):
        with pytest.raises(NoDataFound) as raised, world.connection.transaction():
            world.rows("select * from " + call + "(%(ns)s, %(r)s)", r=recall)  # type: ignore[operator]
        assert raised.value.diag.column_name == "id"


def test_the_log_is_kept_for_the_days_of_its_namespace_and_swept_in_bounded_batches(world: World) -> None:
    forever = new_world(world.connection)
    keep_days(forever, 36500)
    a = world.write("a")["id"]
    old, kept = [log(world, a) for _ in range(5)], log(world, a)
    theirs = log(forever)
    as_owner(world, "update loci_data.recalls set at = at - interval '31 days' where id = any (%(old)s)", old=old)
    as_owner(world, "update loci_data.recalls set at = at - interval '31 days' where id = %(r)s", r=theirs)
    assert [world.value("select loci_api.sweep_log('recalls', 3)") for _ in range(3)] == [3, 2, 0]
    assert (logged(world), logged(forever)) == (1, 1)
    assert len(rows_of(world, kept)) == 1
    keep_days(world, 0)
    assert world.value("select loci_api.sweep_log('recalls')") == 1


def test_the_worker_sweeps_every_log_that_is_swept_and_no_other_can_be_named(world: World) -> None:
    world.connection.execute("reset session authorization")
    assert tuple(row["log"] for row in world.rows("select log from loci_internal.swept_logs()")) == LOGS
    world.connection.execute("set session authorization loci_app")
    with pytest.raises(InvalidParameterValue) as raised:
        world.rows("select loci_api.sweep_log('memories')")
    assert raised.value.diag.column_name == "log"


def test_only_the_operator_sweeps(world: World) -> None:
    world.connection.execute("reset session authorization")
    agent = grant(world.connection, world.name, "admin")
    world.connection.execute("set session authorization loci_app")
    act_as(world.connection, agent)
    with pytest.raises(InsufficientPrivilege):
        world.rows("select loci_api.sweep_log('recalls')")


def test_a_recall_neither_waits_for_an_erasure_under_way_nor_fails_over_it(own_database: Database) -> None:
    with (
        psycopg.connect(own_database.app_url, row_factory=dict_row) as one,
        psycopg.connect(own_database.app_url, row_factory=dict_row) as other,
    ):
        world = new_world(one)
        gone, kept = (world.write(text)["id"] for text in "ab")
        one.commit()
        act_as(one, OPERATOR)
        act_as(other, OPERATOR)
        asking = World(other, world.name, world.id)
        documents = {memory: document(asking, memory) for memory in (gone, kept)}
        world.erase(gone)
        asked = {"id": str(uuid4()), "query": "who?", "arms": ["lexical"], "fusion": "rrf", "k": 2, "results": 2, "took_ms": 1}
        answer = [
            {"document": documents[memory], "rank": rank, "score": 1, "arms": {}}
            for rank, memory in enumerate((gone, kept), start=1)
        ]
        other.execute("set local lock_timeout = '5s'")
        assert asking.value("select loci_api.log_recall(%(ns)s, %(a)s, %(m)s)", a=Jsonb(asked), m=Jsonb(answer)) == 1
        one.commit()
        assert [row["memory_id"] for row in rows_of(asking, UUID(asked["id"]))] == [kept]


# Lists


def test_recalls_are_listed_newest_first_page_by_page_and_by_session(world: World) -> None:
    made = [log(world, session=session) for session in ("a", "b", "a")]
    listing = "select id, cursor from loci.list_recalls(%(ns)s, %(s)s, %(n)s, %(c)s)"
    first = world.rows(listing, s=None, n=2, c=None)
    assert [row["id"] for row in first] == made[:0:-1]
    assert [row["id"] for row in world.rows(listing, s=None, n=2, c=first[-1]["cursor"])] == made[:1]
    assert [row["id"] for row in world.rows(listing, s="a", n=2, c=None)] == [made[2], made[0]]


@pytest.mark.parametrize(("limit", "cursor", "field"), [(0, None, "limit"), (1002, None, "limit"), (10, "x", "cursor")])
def test_a_wrong_page_is_refused_by_field(world: World, limit: int, cursor: str | None, field: str) -> None:
    with pytest.raises(InvalidParameterValue) as raised:
        world.rows("select * from loci.list_recalls(%(ns)s, null, %(n)s, %(c)s)", n=limit, c=cursor)
    assert raised.value.diag.column_name == field


def test_a_stranger_sees_no_row_of_the_log(world: World) -> None:
    log(world, world.write("a")["id"])
    act_as(world.connection, uuid4())
    assert world.rows("select * from loci.recall_log") == []
