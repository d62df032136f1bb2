"""Erasing while others write, move, link, observe and embed: never half, and nothing comes back."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.blocking import blocked
from tests.databases import Database, Server
from tests.factories import OPERATOR, act_as
from tests.faults.test_memories_concurrency import at_once
from tests.services import PATIENCE, Api, Row, new_api, ok, serve

MENTIONS_ARE_COUNTED = """
select count(*) as wrong from loci_data.entities e
where e.mentions <> (select count(*) from loci_data.memory_mentions m where m.namespace_id = e.namespace_id and m.entity_id = e.id)"""
POSTINGS_ARE_TEXTS = """
with posted as (
    select p.namespace_id, e >> 23 as doc_id, count(*) as terms from loci_data.postings p cross join lateral unnest(p.entries) e group by 1, 2
)
select count(*) as wrong from posted p
full join (select m.namespace_id, m.doc_id, nullif(length(t.document), 0) as terms from loci_data.memories m
           join loci_data.memory_texts t on t.namespace_id = m.namespace_id and t.memory_id = m.id) d using (namespace_id, doc_id)
where p.terms is distinct from d.terms"""


@pytest.fixture(scope="module")
def crowd(server: Server) -> Iterator[Api]:
    """A service with twenty connections and vectors."""
    database = server.clone("erasing")
    with serve(database, pool_size=20, embedding={"provider": "static"}) as running, new_api(running) as api:
        yield api
    server.drop(database)


def erase(api: Api, memory: str, **params: Any) -> Any:
    return api.client.delete(f"/memories/{memory}", params={"erase": True, **params})


def whole(api: Api) -> bool:
    """Whether every namespace keeps its promises."""
    with api.service.database.admin() as admin:
        act_as_operator = "select set_config('loci.agent', %s, false)"
        admin.execute(act_as_operator, [str(OPERATOR)])
        broken = admin.execute(
            "select n.name, v.* from loci_data.namespaces n cross join lateral loci.verify(n.name) v where v.broken > 0"
        ).fetchall()
        assert broken == []
        assert admin.execute(MENTIONS_ARE_COUNTED).fetchone() == (0,)
        assert admin.execute(POSTINGS_ARE_TEXTS).fetchone() == (0,)
    return True


def test_writers_of_an_erased_lineage_start_anew_and_never_on_half_of_it(crowd: Api) -> None:
    latest = [crowd.write("v", lineage="one", entities=[{"name": "Zeus"}])["id"]]

    def work(n: int) -> Row:
        if n % 8:
            written = crowd.write(f"version by {n}", lineage="one", category=f"c/{n}", entities=[{"name": "Zeus"}])
            latest.append(written["id"])
            return {"status": 201, "version": written["version"]}
        return {"status": erase(crowd, latest[-1]).status_code}

    seen = at_once(80, work)
    assert {row["status"] for row in seen} <= {200, 201, 404}
    assert sum(row["status"] == 200 for row in seen) > 1
    crowd.write("last", lineage="one")
    versions = ok(crowd.get("/memories/one/history"))["items"]
    assert [row["version"] for row in versions] == list(range(1, len(versions) + 1))
    assert sum(row["current"] for row in versions) == 1
    assert whole(crowd)


def test_the_first_writer_of_a_nameless_lineage_meets_the_erasure_before_or_after(crowd: Api) -> None:
    for _ in range(8):
        memory = crowd.write("nameless", layer=3, category="secret")["id"]
        at_once(4, lambda n, id=memory: erase(crowd, id) if n % 2 else crowd.write(f"by {n}", lineage=id), workers=4)  # noqa: A006
        reply = crowd.get(f"/memories/{memory}/history")
        rows = reply.json()["items"] if reply.status_code == 200 else []
        assert [row["version"] for row in rows] == list(range(1, len(rows) + 1))
        assert "nameless" not in {row["content"] for row in rows}
        assert "secret" not in {row["category"] for row in rows}
    assert whole(crowd)


def test_nothing_stands_under_or_is_linked_to_what_is_erased_at_that_moment(crowd: Api) -> None:
    for _ in range(6):
        top = crowd.write("top", layer=3)["id"]
        middle = crowd.write("middle", layer=3, parent_id=top)["id"]
        other = crowd.write("other", layer=3)["id"]

        def work(n: int, top: str = top, middle: str = middle, other: str = other) -> int:
            requests = [
                lambda: erase(crowd, middle, subtree=True),
                lambda: crowd.post("/memories", {"content": f"child {n}", "parent_id": middle, "layer": 3}),
                lambda: crowd.post(f"/memories/{other}/links", {"target_id": middle}),
                lambda: crowd.client.patch(f"/memories/{other}", json={"parent_id": middle}),
                lambda: crowd.client.patch(f"/memories/{middle}", json={"parent_id": other}),
                lambda: crowd.client.patch(f"/memories/{middle}", json={"tags": [f"t{n}"]}),
            ]
            return requests[n % len(requests)]().status_code

        assert set(at_once(18, work)) <= {200, 201, 404, 422}
    assert whole(crowd)


def held_up(database: Database, first: Any, second: Any) -> Any:
    """Do `first` in a transaction; `second` begins meanwhile, must wait for its end, and then returns or raises its outcome."""
    with (
        psycopg.connect(database.app_url) as one,
        psycopg.connect(database.app_url) as two,
        database.admin() as watcher,
        ThreadPoolExecutor(1) as pool,
    ):
        act_as(one, OPERATOR)
        first(one)
        act_as(two, OPERATOR)
        waiting = blocked(pool, watcher, two, lambda: second(two))
        one.commit()
        return waiting.result(PATIENCE)


def remember(connection: psycopg.Connection[Any], **item: Any) -> Any:
    return connection.execute("select id from loci_api.remember('default', %s)", [Jsonb([item])]).fetchone()[0]  # type: ignore[index]


def erase_here(connection: psycopg.Connection[Any], memory: Any, subtree: bool = False) -> Any:
    return connection.execute(
        "select erased from loci_api.erase_memories('default', %s, 'all', %s)", [[memory], subtree]
    ).fetchone()


def test_a_write_that_would_fold_into_what_is_being_erased_is_to_be_tried_again(own_database: Database) -> None:
    with psycopg.connect(own_database.app_url) as connection:
        act_as(connection, OPERATOR)
        memory = remember(connection, content="fold me")
    with pytest.raises(psycopg.errors.SerializationFailure):
        held_up(own_database, lambda one: erase_here(one, memory), lambda two: remember(two, content="fold me"))


def test_a_subtree_that_grows_while_it_is_erased_is_to_be_tried_again(own_database: Database) -> None:
    with psycopg.connect(own_database.app_url) as connection:
        act_as(connection, OPERATOR)
        top = remember(connection, content="the top")
    with pytest.raises(psycopg.errors.SerializationFailure):
        held_up(
            own_database,
            lambda one: remember(one, content="a leaf", parent_id=str(top)),
            lambda two: erase_here(two, top, subtree=True),
        )


def test_two_removals_from_one_block_both_count(own_database: Database) -> None:
    with psycopg.connect(own_database.app_url) as connection:
        act_as(connection, OPERATOR)
        items = [{"content": f"sharedword {n}"} for n in range(3)]
        ids = [row[0] for row in connection.execute("select id from loci_api.remember('default', %s)", [Jsonb(items)]).fetchall()]
    change = "select loci_api.update_memory('default', %s, %s)"
    held_up(
        own_database,
        lambda one: one.execute(change, [ids[0], Jsonb({"tags": ["x"]})]),
        lambda two: two.execute(change, [ids[1], Jsonb({"tags": ["y"]})]) and two.commit(),
    )
    with own_database.admin() as admin:
        assert admin.execute(POSTINGS_ARE_TEXTS).fetchone() == (0,)


def test_a_write_that_folds_into_an_erased_memory_is_written_again(crowd: Api) -> None:
    for round_ in range(6):
        first = crowd.write(f"the very same {round_}")["id"]
        replies = at_once(8, lambda n, r=round_, id=first: crowd.write(f"the very same {r}") if n else erase(crowd, id) and None)  # noqa: A006
        left = {reply["id"] for reply in replies if reply} - {first}
        assert {crowd.get(f"/memories/{memory}").status_code for memory in left} <= {200}
        assert crowd.get(f"/memories/{first}").status_code == 404
    assert whole(crowd)


@pytest.mark.row("M9")
def test_mentions_stay_counted_whoever_writes_and_erases(crowd: Api) -> None:
    names = [{"name": f"person {n}"} for n in range(6)]
    edges = [{"source": f"person {n}", "type": "knows", "target": f"person {n + 1}"} for n in range(5)]
    written: list[str] = []

    def work(n: int) -> int:
        if n % 3 == 2 and written:
            return erase(crowd, written.pop()).status_code
        reply = crowd.post(
            "/memories", {"content": f"meeting {n}", "entities": names[:: 1 if n % 2 else -1], "edges": edges, "layer": 3}
        )
        written.append(reply.json()["id"])
        return reply.status_code

    assert set(at_once(60, work)) <= {200, 201}
    assert whole(crowd)
    ok(crowd.post("/memories/erase", {"ids": written}))
    assert ok(crowd.get("/edges", type="knows"))["items"] == []
    assert whole(crowd)


def test_an_erasure_waits_for_the_worker_that_has_the_words_in_hand(own_database: Database) -> None:
    """The vector that is being made of the erased text must not arrive after the erasure."""
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as writer:
        act_as(writer, OPERATOR)
        writer.execute("select loci_api.register_model('test', 3)")
        items = [{"content": f"turn {n}", "session_id": "s", "layer": 3} for n in range(2)]
        first, second = (
            row["id"] for row in writer.execute("select id from loci_api.remember('default', %s)", [Jsonb(items)]).fetchall()
        )
    with (
        psycopg.connect(own_database.app_url, row_factory=dict_row) as worker,
        psycopg.connect(own_database.app_url) as eraser,
        psycopg.connect(own_database.app_url) as other,
        own_database.admin() as watcher,
        ThreadPoolExecutor(1) as pool,
    ):
        act_as(worker, OPERATOR)
        claimed = worker.execute("select * from loci_api.claim_memories_to_embed(10)").fetchall()
        act_as(eraser, OPERATOR)
        erasing = blocked(pool, watcher, eraser, lambda: eraser.execute("select loci_api.erase_memories('default', %s)", [[first]]))
        act_as(other, OPERATOR)  # claims stop while an erasure waits
        assert other.execute("select memory_id from loci_api.claim_memories_to_name(10)").fetchall() == []
        other.rollback()
        worker.execute(
            "select loci_api.store_memory_vectors(%s, %s, %s, %s, %s::halfvec[])",
            [
                claimed[0]["model_id"],
                [r["namespace_id"] for r in claimed],
                [r["memory_id"] for r in claimed],
                [r["text"] for r in claimed],
                ["[1,0,0]"] * len(claimed),
            ],
        )
        worker.commit()
        erasing.result(PATIENCE)
        eraser.commit()
        act_as(other, OPERATOR)
        vectors = "select from loci_data.memory_vectors where memory_id = any (%s)"
        assert other.execute(vectors, [[first]]).fetchall() == []
        assert len(other.execute(vectors, [[second]]).fetchall()) == 1
