"""The vector arm: exact in a small namespace, HNSW in a large one, filters inside."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from psycopg import errors
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.databases import Database
from tests.factories import OPERATOR, World, act_as, day, new_world, stated
from tests.loading import vectors_loaded

DIMENSIONS = 16
LARGE = 11_000
Vectors = NDArray[np.float32]


def random_vectors(count: int, seed: int) -> Vectors:
    """Directions around 40 centres: clusters, as texts have."""
    dice = np.random.default_rng(seed)
    centres = dice.normal(size=(40, DIMENSIONS))
    vectors = centres[dice.integers(0, 40, count)] + 0.6 * dice.normal(size=(count, DIMENSIONS))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def items(vectors: Vectors, **fields: Any) -> list[dict[str, Any]]:
    return [{"content": f"m{n}", "layer": 3, "embedding": [float(x) for x in vector], **fields} for n, vector in enumerate(vectors)]


def similar(world: World, vector: Any, limit: int | None = None, **filters: Any) -> list[tuple[UUID, float]]:
    as_of = filters.pop("as_of", None)
    rows = world.rows(
        "select * from loci.similar_memories(%(ns)s, %(vector)s::real[], %(limit)s, %(filters)s, %(as_of)s)",
        vector=[float(x) for x in vector],
        limit=limit,
        filters=Jsonb(stated(filters)),
        as_of=as_of,
    )
    return [(row["id"], row["score"]) for row in rows]


@pytest.fixture
def model(world: World) -> World:
    """A world in a database with a model of 16 dimensions."""
    world.rows("select loci_api.register_model('test', %(n)s)", n=DIMENSIONS)
    return world


def test_a_small_namespace_is_searched_exactly(model: World) -> None:
    vectors, queries = random_vectors(400, 1), random_vectors(10, 2)
    ids = [row["id"] for row in model.remember(*items(vectors))]
    stored = vectors.astype(np.float16).astype(np.float64)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    expected = [
        [ids[n] for n in np.argsort(-(stored @ query), kind="stable")[:10]]
        for query in queries.astype(np.float16).astype(np.float64)
    ]
    assert [[id for id, _ in similar(model, query, 10)] for query in queries] == expected  # noqa: A001


def test_the_score_is_the_cosine(model: World) -> None:
    vectors = random_vectors(20, 3)
    ids = [row["id"] for row in model.remember(*items(vectors))]
    scores = dict(similar(model, 3.0 * vectors[0], 100))
    assert [scores[id] for id in ids] == pytest.approx(list(vectors @ vectors[0]), abs=2e-3)  # noqa: A001


@pytest.mark.row("R1")
def test_every_index_of_vectors_has_the_documented_parameters(model: World) -> None:
    made = model.rows(
        """select distinct substring(indexdef from 'WITH [(](.*?)[)]') as options from pg_indexes
           where schemaname = 'loci_data' and indexdef ~ 'USING hnsw .* halfvec_cosine_ops'"""
    )
    assert made == [{"options": "m='24', ef_construction='128'"}]


@pytest.mark.parametrize("dimensions", [1, DIMENSIONS - 1, DIMENSIONS + 1])
def test_a_question_of_a_wrong_dimension_is_refused(model: World, dimensions: int) -> None:
    with pytest.raises(errors.InvalidParameterValue, match=f"{dimensions} dimensions; the model test has {DIMENSIONS}"):
        similar(model, [1.0] * dimensions)


@pytest.mark.parametrize("dimensions", [1, DIMENSIONS + 1])
def test_a_memory_with_a_vector_of_a_wrong_dimension_is_refused_whole(model: World, dimensions: int) -> None:
    with pytest.raises(errors.InvalidParameterValue), model.connection.transaction():
        model.write("x", embedding=[1.0] * dimensions)
    assert model.visible() == []


def test_without_a_model_the_arm_finds_nothing(world: World) -> None:
    world.write("x")
    assert similar(world, [1.0, 2.0]) == []


def test_a_write_with_its_own_vector_waits_in_no_queue(model: World) -> None:
    model.remember(*items(random_vectors(2, 4)))
    assert model.value("select count(*) from loci_data.embedding_queue where namespace_id = %(ns_id)s") == 0


def test_a_write_without_a_vector_waits_in_the_queue(model: World) -> None:
    model.remember({"content": "a"}, {"content": "b"})
    assert model.value("select count(*) from loci_data.embedding_queue where namespace_id = %(ns_id)s") == 2


def test_a_changed_memory_keeps_its_vector_until_the_new_one_comes_and_is_not_counted_as_without(model: World) -> None:
    kept, _ = model.remember(*items(random_vectors(2, 4)))
    fresh = model.write("fresh")
    for _ in range(2):  # a second change finds it waiting
        model.rows("select loci_api.update_memory(%(ns)s, %(id)s, %(c)s)", id=kept["id"], c=Jsonb({"tags": [str(uuid4())]}))
    queue = "select memory_id, has_vector from loci_data.embedding_queue where namespace_id = %(ns_id)s order by has_vector"
    rows = model.rows(queue)
    assert [(row["memory_id"], row["has_vector"]) for row in rows] == [(fresh["id"], False), (kept["id"], True)]
    waiting = model.rows("select * from loci_api.memories_without_vector(%(ns)s)")
    assert [(row["waiting"], [one["text"] for one in row["newest"]]) for row in waiting] == [(1, ["fresh"])]


def test_claimed_work_is_done_by_storing_its_vectors(model: World) -> None:
    written = model.write("apple")
    claimed = [row for row in model.rows("select * from loci_api.claim_memories_to_embed(100)") if row["namespace_id"] == model.id]
    assert [(row["memory_id"], row["text"]) for row in claimed] == [(written["id"], "apple")]
    model.rows(
        "select loci_api.store_memory_vectors(%(model)s::smallint, %(namespaces)s, %(ids)s, array['apple'], array[%(vector)s::halfvec])",
        model=claimed[0]["model_id"],
        namespaces=[model.id],
        ids=[written["id"]],
        vector=str([1.0] * DIMENSIONS),
    )
    assert similar(model, [1.0] * DIMENSIONS) == [(written["id"], pytest.approx(1.0))]
    assert model.value("select count(*) from loci_data.embedding_queue where namespace_id = %(ns_id)s") == 0


@pytest.mark.parametrize("batch", [1, 3, 12])
def test_the_mean_is_of_all_vectors_of_a_small_namespace_in_however_many_batches_they_came(model: World, batch: int) -> None:
    vectors = random_vectors(12, 4)
    for first in range(0, len(vectors), batch):
        model.remember(*items(vectors[first : first + batch]))
    kept = model.row("select vectors, mean::real[] as mean from loci_data.vector_means where namespace_id = %(ns_id)s")
    of = vectors[: kept["vectors"]].astype(np.float16).astype(np.float64)
    assert kept["mean"] == pytest.approx(of.mean(axis=0).tolist(), abs=1e-6)
    assert 11 * kept["vectors"] >= 10 * len(vectors)


def test_a_refused_text_keeps_its_reason_and_is_not_claimed_again(model: World) -> None:
    written = model.write("apple")
    model_id = model.value("select id from loci_data.embedding_models where active")
    model.rows(
        "select loci_api.refuse_embedding(%(ns_id)s, %(id)s, %(model)s::smallint, 'too rude')",
        id=written["id"],
        model=model_id,
    )
    assert model.value("select error from loci_data.embedding_queue where memory_id = %(id)s", id=written["id"]) == "too rude"
    assert written["id"] not in [row["memory_id"] for row in model.rows("select * from loci_api.claim_memories_to_embed(1000)")]


def test_another_model_takes_over_at_once_only_where_the_active_one_has_made_no_vector(model: World) -> None:
    model.write("apple")
    assert model.value("select loci_api.register_model('other', 4)") is not None
    assert model.value("select name from loci.embedding_models where state = 'active'") == "other"
    assert (
        model.value(
            "select count(*) from loci_data.embedding_queue q join loci_data.embedding_models m on m.id = q.model_id and m.active where namespace_id = %(ns_id)s"
        )
        == 1
    )


def test_a_service_that_is_configured_with_another_model_changes_nothing(model: World) -> None:
    vectors = random_vectors(3, 5)
    model.remember(*items(vectors))
    before = similar(model, vectors[0])
    assert model.value("select loci_api.register_model('other', 4)") is None
    assert similar(model, vectors[0]) == before
    assert model.value("select count(*) from loci_data.embedding_queue where namespace_id = %(ns_id)s") == 0


def test_a_model_does_not_change_its_dimensions(model: World) -> None:
    with pytest.raises(errors.InvalidParameterValue, match="16 dimensions here, not 17"):
        model.rows("select loci_api.register_model('test', 17)")


@pytest.mark.parametrize(
    "statement",
    [
        "select loci_api.register_model('x', 3)",
        "select * from loci_api.claim_memories_to_embed(1)",
        "select loci_api.store_memory_vectors(1::smallint, array[1], array[gen_random_uuid()], array['x'], array['[1]'::halfvec])",
        "select loci_api.refuse_embedding(1, gen_random_uuid(), 1::smallint, 'x')",
    ],
)
def test_the_queue_is_the_operators_alone(model: World, statement: Any) -> None:
    act_as(model.connection, UUID(int=77))
    with pytest.raises(errors.InsufficientPrivilege):
        model.rows(statement)


@pytest.mark.row("R8")
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "apple"),
        ({"source": "Ann"}, "Ann: apple"),
        ({"valid_from": "2020-03-04T12:00:00Z", "session_id": "s"}, "apple"),
    ],
)
def test_the_embedded_text_says_what_was_said_and_by_whom(model: World, fields: dict[str, Any], text: str) -> None:
    model.write("before", session_id="s")
    written = model.write("apple", **fields)
    texts = {row["memory_id"]: row["text"] for row in model.rows("select * from loci_api.claim_memories_to_embed(1000)")}
    assert texts[written["id"]] == text


def test_a_filter_in_a_small_namespace_returns_all_there_is(model: World) -> None:
    vectors, shares = random_vectors(400, 6), (2, 40, 400)
    model.remember(
        *(item | {"tags": [f"every {share}" for share in shares if n % share == 0]} for n, item in enumerate(items(vectors)))
    )
    assert [len(similar(model, vectors[3], 500, tags=[f"every {share}"])) for share in shares] == [200, 10, 1]


def test_the_past_is_searched_as_it_was(model: World) -> None:
    vector = [1.0] * DIMENSIONS
    old = model.write("old", lineage="l", valid_from=day(1), embedding=vector)
    new = model.write("new", lineage="l", valid_from=day(10), embedding=vector)
    assert [id for id, _ in similar(model, vector, as_of=day(5))] == [old["id"]]  # noqa: A001
    assert [id for id, _ in similar(model, vector)] == [new["id"]]  # noqa: A001


# A namespace that is large enough for the HNSW index


FILL = """
with made as (
    insert into loci_data.memories (namespace_id, id, lineage, lineage_id, content, content_hash, valid_from, recorded_at, believed_at,
                                    last_observed_at, updated_at, layer, category, tags)
    select %(ns)s, g.id, g.id, g.id, 'm' || g.n, sha256(g.n::text::bytea), now(), now(), now(), now(), now(), 3,
           case when g.n %% 500 = 0 then 'rare' else 'common' end, case when g.n %% 20 = 0 then array['uncommon'] else '{}' end
    from (select i.id, i.n - 1 as n from unnest(%(ids)s::uuid[]) with ordinality i(id, n)) g
), counted as (
    insert into loci_data.corpus_counts (namespace_id, documents, terms) select %(ns)s, cardinality(%(ids)s::uuid[]), 0
)
insert into loci_data.memory_vectors (namespace_id, memory_id, model_id, embedding)
select %(ns)s, v.id, m.id, v.embedding::halfvec from loci_data.embedding_models m
cross join unnest(%(ids)s::uuid[], %(vectors)s::text[]) v(id, embedding) where m.active"""


@pytest.fixture(scope="module")
def large(own_database: Database) -> Iterator[tuple[World, Vectors, list[UUID]]]:
    """11,000 vectors; every 500th memory is rare, every 20th uncommon. No function that writes is asked: a search is what counts."""
    vectors, ids = random_vectors(LARGE, 8), [uuid4() for _ in range(LARGE)]
    with psycopg.connect(own_database.app_url, row_factory=dict_row, autocommit=True) as connection:
        connection.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        connection.execute("select loci_api.register_model('test', %s)", [DIMENSIONS])
        with connection.transaction():
            world = new_world(connection)
        with vectors_loaded(own_database), own_database.admin() as owner:
            owner.execute("set session_replication_role = replica")  # no trigger
            owner.execute(FILL, {"ns": world.id, "ids": ids, "vectors": [str(vector.tolist()) for vector in vectors]})
        with own_database.admin() as owner:
            owner.execute("analyze")
        connection.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        yield world, vectors, ids


@pytest.mark.row("R1")
def test_the_index_finds_what_the_exact_scan_finds(large: tuple[World, Vectors, list[UUID]]) -> None:
    world, vectors, ids = large
    queries = random_vectors(100, 9)
    hits = 0
    for query in queries:  # one figure over many questions
        expected = {ids[n] for n in np.argpartition(-(vectors @ query), 10)[:10]}
        hits += len(expected & {id for id, _ in similar(world, query, 10)})  # noqa: A001
    assert hits / 1000 >= 0.98


@pytest.mark.row("R3")
@pytest.mark.parametrize(
    ("filters", "count"), [({"category": "rare"}, LARGE // 500), ({"tags": ["uncommon"]}, LARGE // 20), ({"category": "none"}, 0)]
)
def test_a_filter_in_a_large_namespace_returns_all_there_is(
    large: tuple[World, Vectors, list[UUID]], filters: dict[str, Any], count: int
) -> None:
    world, vectors, _ = large
    assert len(similar(world, vectors[3], 600, **filters)) == count


def test_results_of_a_filter_in_a_large_namespace_are_the_nearest_of_those_that_pass(
    large: tuple[World, Vectors, list[UUID]],
) -> None:
    world, vectors, ids = large
    query = random_vectors(1, 10)[0]
    passing = list(range(0, LARGE, 500))
    expected = [ids[n] for n in sorted(passing, key=lambda n: -float(vectors[n].astype(np.float16).astype(np.float64) @ query))]
    found = [id for id, _ in similar(world, query, LARGE // 500, category="rare")]  # noqa: A001
    assert set(found) == set(expected)
    assert found[:3] == expected[:3]


@pytest.mark.parametrize(("budget", "candidates"), [(10, 128), (353, 128), (1103, 239), (5103, 493), (100_103, 1000)])
def test_a_large_namespace_is_searched_with_more_candidates_and_a_small_one_with_128(
    admin: psycopg.Connection[dict], budget: int, candidates: int
) -> None:
    (row,) = admin.execute("select loci_internal.hnsw_candidates(%s) as n", [budget]).fetchall()
    assert row["n"] == candidates


@pytest.mark.parametrize(
    ("size", "partition", "limit", "budget"),
    [
        (0, 0, 10, None),
        (2500, 2500, 10, None),
        (4000, 4000, 100, 143),
        (4000, 4000, 200, None),
        (5000, 57_000, 100, None),
        (50_000, 57_000, 100, 603),
        (100_000, 100_000, 100, 1103),
    ],
)
def test_the_vector_index_is_used_where_it_costs_less_than_a_scan(
    admin: psycopg.Connection[dict], size: int, partition: int, limit: int, budget: int | None
) -> None:
    asked = "select loci_internal.scan_limit(%s, %s, %s) as n"
    (row,) = admin.execute(asked, [float(size), float(partition), limit]).fetchall()
    assert row["n"] == budget


@pytest.mark.parametrize(("asked", "kept"), [(100, 128), (700, 700)])
def test_a_request_for_more_candidates_gets_them(large: tuple[World, Vectors, list[UUID]], asked: int, kept: int) -> None:
    world, vectors, _ = large
    with world.connection.transaction(force_rollback=True):
        world.connection.execute(
            "select set_config('loci.agent', %s, true), set_config('hnsw.ef_search', %s, true)", [str(OPERATOR), str(asked)]
        )
        similar(world, vectors[0], 10)
        assert int(world.value("select current_setting('hnsw.ef_search')")) == kept
