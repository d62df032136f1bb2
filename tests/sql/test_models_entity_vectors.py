"""Entities by meaning and by name: the queue that fills their vectors, and what is found."""

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
from tests.factories import OPERATOR, World, act_as, new_world
from tests.loading import vectors_loaded
from tests.sql.test_graph_merge import entities, get, merge, undo
from tests.sql.test_models_vectors import random_vectors

DIMENSIONS = 16
LARGE = 11_000
Row = dict[str, Any]


@pytest.fixture
def model(world: World) -> World:
    """A world in a database with a model of 16 dimensions."""
    world.rows("select loci_api.register_model('test', %(n)s)", n=DIMENSIONS)
    return world


def claim(world: World) -> list[Row]:
    return [row for row in world.rows("select * from loci_api.claim_entities_to_embed(100000)") if row["namespace_id"] == world.id]


def store(world: World, claimed: list[Row], vectors: NDArray[np.float32]) -> int:
    return world.value(
        "select loci_api.store_entity_vectors(%(model)s::smallint, %(ns_ids)s, %(ids)s, %(texts)s, %(vectors)s::text[]::halfvec[])",
        model=claimed[0]["model_id"],
        ns_ids=[row["namespace_id"] for row in claimed],
        ids=[row["entity_id"] for row in claimed],
        texts=[row["text"] for row in claimed],
        vectors=[str([float(x) for x in vector]) for vector in vectors],
    )


def filled(world: World, count: int, seed: int = 1) -> tuple[dict[UUID, int], NDArray[np.float32]]:
    """Entities with vectors, and which vector each has."""
    entities(world, *({"name": f"e{n}", "type": "rare" if n % 50 == 0 else "tool"} for n in range(count)))
    claimed, vectors = claim(world), random_vectors(count, seed)
    assert store(world, claimed, vectors) == count
    return {row["entity_id"]: n for n, row in enumerate(claimed)}, vectors


def similar(world: World, vector: Any, limit: int = 10, **options: Any) -> list[Row]:
    return world.rows(
        "select * from loci.similar_entities(%(ns)s, %(v)s::real[], %(limit)s, %(type)s, %(least)s)",
        v=[float(x) for x in vector],
        limit=limit,
        **{"type": None, "least": None, **options},
    )


def search(world: World, query: str, **options: Any) -> list[Row]:
    return world.rows(
        "select * from loci.search_entities(%(ns)s, %(q)s, %(v)s::real[], %(limit)s, %(type)s, %(mode)s)",
        q=query,
        **{"v": None, "limit": 10, "type": None, "mode": "both", **options},
    )


def waiting(world: World) -> int:
    return world.value("select count(*) from loci_data.entity_queue where namespace_id = %(ns_id)s")


# The queue


@pytest.mark.row("G1")
def test_a_new_entity_waits_for_a_vector_and_is_embedded_with_what_it_says(model: World) -> None:
    entities(model, {"name": "Kubernetes", "type": "tool", "aliases": ["k8s"], "description": "runs containers"}, {"name": "Odd"})
    assert [row["text"] for row in claim(model)] == ["Kubernetes (tool), k8s: runs containers", "Odd"]
    assert model.value("select pending_embeddings from loci.namespace_stats where namespace = %(ns)s") == 2


def test_without_a_model_nothing_waits(world: World) -> None:
    entities(world, {"name": "A"})
    assert waiting(world) == 0


def test_a_model_that_comes_later_finds_every_entity_waiting(world: World) -> None:
    entities(world, {"name": "A"}, {"name": "B"})
    world.rows("select loci_api.register_model('late', 4)")
    assert waiting(world) == 2


CHANGES: list[tuple[Row, int]] = [
    ({"name": "New"}, 1), ({"type": "person"}, 1), ({"aliases": ["x"]}, 1), ({"description": "d"}, 1), ({"metadata": {"a": 1}}, 0), ({"confidence": 0.9}, 0),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "count"), CHANGES)
def test_an_entity_waits_again_when_what_is_embedded_of_it_changes(model: World, changes: Row, count: int) -> None:
    (made,) = entities(model, {"name": "Old"})
    store(model, claim(model), random_vectors(1, 1))
    assert waiting(model) == 0
    model.rows("select loci_api.update_entity(%(ns)s, %(id)s, %(c)s)", id=made, c=Jsonb(changes))
    assert waiting(model) == count


def test_an_entity_that_changed_while_it_was_embedded_waits_on(model: World) -> None:
    (made,) = entities(model, {"name": "Old"})
    claimed = claim(model)
    model.rows('select loci_api.update_entity(%(ns)s, %(id)s, \'{"name": "New"}\')', id=made)
    assert store(model, claimed, random_vectors(1, 1)) == 1
    assert [row["text"] for row in claim(model)] == ["New, Old"]


def test_a_text_that_the_provider_refuses_is_tried_again_when_it_changes(model: World) -> None:
    (made,) = entities(model, {"name": "Rude"})
    (claimed,) = claim(model)
    model.rows("select loci_api.refuse_embedding(%(ns_id)s, %(id)s, %(m)s::smallint, 'rude')", id=made, m=claimed["model_id"])
    assert claim(model) == []
    model.rows('select loci_api.update_entity(%(ns)s, %(id)s, \'{"name": "Polite"}\')', id=made)
    assert [row["text"] for row in claim(model)] == ["Polite, Rude"]


def test_a_merged_entity_loses_its_vector_and_both_wait_when_it_is_given_back(model: World) -> None:
    entities(model, {"name": "A"}, {"name": "B"})
    store(model, claim(model), random_vectors(2, 1))
    made = merge(model, "A", "B")
    vectors = "select count(*) from loci_data.entity_vectors where namespace_id = %(ns_id)s"
    assert (model.value(vectors), [row["text"] for row in claim(model)]) == (1, ["A, B"])
    undo(model, made)
    assert sorted(row["text"] for row in claim(model)) == ["A", "B"]


def test_an_entity_that_was_merged_while_it_was_embedded_gets_no_vector_and_waits_no_more(model: World) -> None:
    entities(model, {"name": "A"}, {"name": "B"})
    claimed = claim(model)
    merge(model, "A", "B")
    assert store(model, claimed, random_vectors(2, 1)) == 1
    assert [row["text"] for row in claim(model)] == ["A, B"]


def test_vectors_and_waiting_entities_go_with_erased_ones_and_with_the_namespace(model: World) -> None:
    kept = model.write("x", entities=[{"name": "A"}])
    store(model, claim(model), random_vectors(1, 1))
    model.write("y", entities=[{"name": "B"}])
    receipt = model.erase(kept["id"])
    assert receipt["deleted"]["entity_vectors"] == 1
    model.rows("select loci_api.delete_namespace(%(ns)s)")
    assert waiting(model) == 0


@pytest.mark.parametrize(
    "statement",
    [
        "select * from loci_api.claim_entities_to_embed(1)",
        "select loci_api.store_entity_vectors(1::smallint, array[1], array[gen_random_uuid()], array['x'], array['[1]'::halfvec])",
    ],
)
def test_the_queue_is_the_operators_alone(model: World, statement: Any) -> None:
    act_as(model.connection, UUID(int=77))
    with pytest.raises(errors.InsufficientPrivilege):
        model.rows(statement)


# By meaning


@pytest.mark.row("G11")
def test_the_nearest_entities_are_those_of_the_exact_cosine(model: World) -> None:
    ids, vectors = filled(model, 300)
    stored = vectors.astype(np.float16).astype(np.float64)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    for query in random_vectors(5, 2).astype(np.float16).astype(np.float64):
        found = similar(model, query)
        assert [ids[row["id"]] for row in found] == list(np.argsort(-(stored @ query), kind="stable")[:10])
        assert found[0]["score"] == pytest.approx(float(np.max(stored @ query)), abs=2e-3)


def test_type_and_least_score_apply_before_the_limit(model: World) -> None:
    _, vectors = filled(model, 300)
    assert [row["type"] for row in similar(model, vectors[1], 100, type="rare")] == ["rare"] * 6
    found = similar(model, vectors[1], 300, least=0.5)
    assert 0 < len(found) < 300
    assert all(row["score"] >= 0.5 for row in found)


FILL = """
with made as (
    insert into loci_data.entities (namespace_id, id, name, canonical_name, type, first_seen_at, created_at, updated_at)
    select %(ns)s, g.id, 'e' || g.n, 'e' || g.n, case when g.n %% 50 = 0 then 'rare' else 'tool' end, now(), now(), now()
    from (select i.id, i.n - 1 as n from unnest(%(ids)s::uuid[]) with ordinality i(id, n)) g
)
insert into loci_data.entity_vectors (namespace_id, entity_id, model_id, embedding)
select %(ns)s, v.id, m.id, v.embedding::halfvec from loci_data.embedding_models m
cross join unnest(%(ids)s::uuid[], %(vectors)s::text[]) v(id, embedding) where m.active"""


@pytest.fixture(scope="module")
def large(own_database: Database) -> Iterator[tuple[World, dict[UUID, int], NDArray[np.float32]]]:
    """11,000 entities, enough for the HNSW index; every 50th is rare. No function that writes is asked: a search is what counts."""
    ids, vectors = [uuid4() for _ in range(LARGE)], random_vectors(LARGE, 3)
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
        yield world, {id_: n for n, id_ in enumerate(ids)}, vectors


@pytest.mark.release
@pytest.mark.row("G11")
def test_the_index_finds_what_the_exact_scan_finds(large: tuple[World, dict[UUID, int], NDArray[np.float32]]) -> None:
    world, ids, vectors = large
    hits = 0
    for query in random_vectors(20, 4):  # one figure over many questions
        expected = set(np.argpartition(-(vectors @ query), 10)[:10])
        hits += len(expected & {ids[row["id"]] for row in similar(world, query)})
    assert hits >= 190


@pytest.mark.release
def test_a_search_by_type_in_a_large_namespace_returns_all_of_the_type(
    large: tuple[World, dict[UUID, int], NDArray[np.float32]],
) -> None:
    world, _, vectors = large
    assert len(similar(world, vectors[3], 600, type="rare")) == 220


@pytest.mark.parametrize("dimensions", [1, DIMENSIONS + 1])
def test_a_question_of_a_wrong_dimension_is_refused(model: World, dimensions: int) -> None:
    with pytest.raises(errors.InvalidParameterValue, match=f"{dimensions} dimensions; the model test has {DIMENSIONS}"):
        similar(model, [1.0] * dimensions)


def test_without_a_model_meaning_finds_nothing_and_names_serve(world: World) -> None:
    entities(world, {"name": "Kubernetes"})
    assert similar(world, [1.0]) == []
    assert [row["name"] for row in search(world, "kubernetes", v=[1.0])] == ["Kubernetes"]


# By name


@pytest.fixture
def tools(world: World) -> World:
    """Some entities to look for."""
    entities(
        world,
        {"name": "Kubernetes", "type": "tool", "aliases": ["k8s"]},
        {"name": "Azure DevOps", "type": "tool", "aliases": ["ADO"]},
        {"name": "Azure", "type": "project"},
        {"name": "Alice Smith", "type": "person"},
        {"name": "Milan", "type": "topic"},
        {"name": "100% wool_mix", "type": "topic"},
    )
    return world


FOUND = [
    ("Kubernetes", "Kubernetes"), (" kubernetes\n", "Kubernetes"), ("K8S", "Kubernetes"), ("kube", "Kubernetes"), ("kubernets", "Kubernetes"),
    ("Kuberentes", "Kubernetes"), ("azure", "Azure"), ("azure d", "Azure DevOps"), ("devops", "Azure DevOps"), ("DevOps of Azure", "Azure DevOps"),
    ("smith", "Alice Smith"), ("milen", "Milan"), ("Smith, Alice", "Alice Smith"), ("100%", "100% wool_mix"), ("wool_mix", "100% wool_mix"),
]  # fmt: skip


@pytest.mark.row("G11")
@pytest.mark.parametrize(("query", "first"), FOUND)
def test_a_name_is_found_by_itself_an_alias_its_beginning_its_words_and_with_a_wrong_letter(
    tools: World, query: str, first: str
) -> None:
    assert search(tools, query)[0]["name"] == first


@pytest.mark.parametrize("query", ["zzzz", "%", "_", "\\", "", "   ", "....", "x" * 2000])
def test_a_query_that_is_like_no_name_finds_nothing(tools: World, query: str) -> None:
    assert search(tools, query) == []


def test_a_name_with_one_word_right_and_one_misspelt_is_before_one_with_both_misspelt(world: World) -> None:
    entities(world, *({"name": f"Tower{n} Observatory"} for n in range(1, 4)))
    found = [row["name"] for row in search(world, "Tower3 Observatry", mode="name")]
    assert (found[0], len(found)) == ("Tower3 Observatory", 3)


def test_an_exact_name_or_alias_comes_before_what_begins_so(world: World) -> None:
    entities(world, {"name": "Mercury Records"}, {"name": "Hermes", "aliases": ["mercury"]})
    for query in ("mercury", "hermes"):
        assert search(world, query)[0]["name"] == "Hermes"
    rows = search(world, "mercury")
    assert [row["name"] for row in rows] == ["Hermes", "Mercury Records"]
    assert [row["matched"] for row in rows] == ["mercury", "mercury records"]


def test_only_a_type_is_searched_if_asked(tools: World) -> None:
    assert [row["name"] for row in search(tools, "azure", type="tool")] == ["Azure DevOps"]


def test_both_together_find_what_either_finds(model: World) -> None:
    ids, vectors = filled(model, 50)
    names = {n: get(model, id_)["name"] for id_, n in ids.items()}
    query = [float(x) for x in vectors[7]]
    assert search(model, names[3], v=query, mode="name")[0]["name"] == names[3]
    assert search(model, names[3], v=query, mode="semantic")[0]["name"] == names[7]
    rows = search(model, names[3], v=query)
    assert rows[0]["name"] == names[3]
    assert names[7] in [row["name"] for row in rows[:5]]
    assert all(
        row["score"] == pytest.approx(1 - (1 - (row["by_name"] or 0)) * (1 - max(row["by_meaning"] or 0, 0))) for row in rows
    )


@pytest.mark.parametrize(("options", "field"), [({"limit": 0}, "limit"), ({"limit": 1001}, "limit"), ({"mode": "other"}, "mode")])
def test_bad_options_are_refused_by_name(tools: World, options: Row, field: str) -> None:
    with pytest.raises(errors.InvalidParameterValue) as caught:
        search(tools, "x", **options)
    assert caught.value.diag.column_name == field


def test_entities_that_mean_nearly_the_same_are_proposed_and_never_merged(model: World) -> None:
    entities(model, {"name": "Postgres"}, {"name": "PostgreSQL"}, {"name": "Postgres 15"})
    claimed = claim(model)
    store(model, claimed, np.tile(random_vectors(1, 1), (3, 1)))
    duplicates = "select kept, merged, basis from loci_api.merge_duplicate_entities(%(ns)s, %(dry)s)"
    (pair,) = model.rows(duplicates, dry=True)
    assert ({pair["kept"], pair["merged"]}, pair["basis"]) == ({"Postgres", "PostgreSQL"}, "meaning")
    assert model.rows(duplicates, dry=False) == []
