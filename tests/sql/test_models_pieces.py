"""What a reranker has read of memories is kept under the rules that hold for the memories themselves."""

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import errors

from tests.factories import World, act_as, grant

HASH = b"0123456789abcdef"
Row = dict[str, Any]


def document(world: World, id_: UUID) -> int:
    [row] = world.rows("select doc_id from loci_data.memories where namespace_id = %(ns_id)s and id = %(id)s", id=id_)
    return int(row["doc_id"])


def store(world: World, *documents: int, model: str = "m", pieces: bytes = b"read", text_hash: bytes = HASH) -> int:
    count = len(documents)
    [row] = world.rows(
        "select loci_api.store_memory_pieces(%(ns)s, %(documents)s::bigint[], %(model)s, %(hashes)s::bytea[], %(pieces)s::bytea[]) as n",
        documents=list(documents),
        model=model,
        hashes=[text_hash] * count,
        pieces=[pieces] * count,
    )
    return int(row["n"])


def kept(world: World, *documents: int, model: str = "m") -> dict[int, bytes]:
    rows = world.rows(
        "select * from loci_api.get_memory_pieces(%(ns)s, %(documents)s::bigint[], %(model)s)",
        documents=list(documents),
        model=model,
    )
    return {row["doc_id"]: bytes(row["pieces"]) for row in rows}


def test_only_the_last_reading_of_a_memory_is_kept(world: World) -> None:
    one, two = (document(world, world.write(text)["id"]) for text in ("one", "two"))
    assert store(world, one, two) == 2
    assert store(world, one, model="other", pieces=b"anew") == 1
    assert (kept(world, one, two), kept(world, one, two, model="other")) == ({two: b"read"}, {one: b"anew"})


@pytest.mark.parametrize("versions", ["all", "this"])
def test_pieces_go_with_the_erased_memory_and_are_in_the_receipt(world: World, versions: str) -> None:
    gone, stays = world.write("gone", lineage="l"), world.write("stays")
    store(world, document(world, gone["id"]), document(world, stays["id"]))
    [receipt] = world.rows("select * from loci_api.erase_memories(%(ns)s, %(ids)s::uuid[], %(v)s)", ids=[gone["id"]], v=versions)
    assert receipt["deleted"]["memory_pieces"] == 1
    left = world.rows("select memory_id from loci_data.memory_pieces where namespace_id = %(ns_id)s")
    assert [row["memory_id"] for row in left] == [stays["id"]]


def test_a_memory_that_was_erased_meanwhile_is_passed_by(world: World) -> None:
    gone, stays = (world.write(text)["id"] for text in ("gone", "stays"))
    documents = document(world, gone), document(world, stays)
    world.rows("select * from loci_api.erase_memories(%(ns)s, %(ids)s::uuid[])", ids=[gone])
    assert store(world, *documents) == 1
    assert kept(world, *documents) == {documents[1]: b"read"}


@pytest.mark.parametrize("wrong", [{"text_hash": b"short"}, {"model": ""}, {"pieces": b"x" * (1 << 20) + b"x"}])
def test_pieces_with_a_wrong_hash_model_or_length_are_refused(world: World, wrong: Row) -> None:
    one = document(world, world.write("one")["id"])
    with pytest.raises(errors.CheckViolation):
        store(world, one, **wrong)


def test_a_reader_reads_and_does_not_write_it_and_a_stranger_does_neither(owned: World, admin: psycopg.Connection[Row]) -> None:
    one = document(owned, owned.write("one")["id"])
    store(owned, one)
    admin.execute("reset session authorization")
    reader = grant(admin, owned.name, "reader")
    admin.execute("insert into loci_data.namespaces (name) values ('elsewhere')")
    stranger = grant(admin, "elsewhere", "admin")
    admin.execute("set session authorization loci_app")
    act_as(owned.connection, reader)
    assert kept(owned, one) == {one: b"read"}
    with owned.connection.transaction(), pytest.raises(errors.InsufficientPrivilege), owned.connection.transaction():
        store(owned, one)
    act_as(owned.connection, stranger)
    assert owned.rows("select * from loci_data.memory_pieces") == []
    with pytest.raises(errors.InsufficientPrivilege):
        kept(owned, one)
