"""What matters most is kept under every cap: of a context, of a walk, of a hub."""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.factories import Row, World, day
from tests.sql.test_graph import observe

NOW = day(100)


@pytest.fixture
def vault(world: World) -> World:
    """Weak old edges of one entity, and then one that says who owns it."""
    old = {"source": "Vault", "type": "mentions", "confidence": 0.2, "observed_at": day(80)}
    observe(world, *({**old, "target": f"Old {n:02}"} for n in range(16)))
    observe(world, {"source": "Vault", "type": "owned_by", "target": "Carla", "observed_at": NOW})
    return world


def walked(world: World, **asked: Any) -> list[str]:
    rows = world.rows(
        """select coalesce(target, literal) as target, source from loci.traverse(%(ns)s, array['Vault'], p_as_of => %(as_of)s,
           p_max_hops => 1, p_limit => %(limit)s, p_question => %(question)s) order by ordinal""",
        **{"as_of": NOW, "limit": 15, "question": None, **asked},
    )
    return [row["source"] if row["target"] == "Vault" else row["target"] for row in rows]


def settings(world: World, **changes: Any) -> None:
    world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": changes}))


@pytest.mark.parametrize("message", ["Who owns the Vault?", "the Vault"])
def test_a_context_shows_what_matters_most_before_what_is_old_and_weak(vault: World, message: str) -> None:
    row = vault.row("select * from loci.graph_context(%(ns)s, %(m)s, p_as_of => %(at)s)", m=message, at=NOW)
    assert [edge["target"] for edge in row["edges"]][:2] == ["Carla", "Old 00"]
    assert (len(row["edges"]), row["truncated"]) == (15, ["limit"])


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Who owns the Vault?", "Carla"),
        ("What was mentioned in the Vault?", "Old 00"),
        ("Whose owner is it", "Carla"),
        ("What about the vault", "Carla"),
        ("", "Carla"),
    ],
)
def test_types_that_a_question_names_come_first_however_weak(vault: World, question: str, first: str) -> None:
    assert walked(vault, question=question)[0] == first


@pytest.mark.parametrize("limit", [1, 2, 16])
def test_a_limit_keeps_what_matters_most(vault: World, limit: int) -> None:
    assert walked(vault, limit=limit) == ["Carla", *(f"Old {n:02}" for n in range(15))][:limit]


@pytest.mark.parametrize("direction", ["out", "in"])
@pytest.mark.parametrize("rate", [0.01, 0.02, 0])
@pytest.mark.parametrize("past", [True, False])
def test_a_hub_past_its_fan_out_keeps_what_matters_most(world: World, direction: str, rate: float, past: bool) -> None:
    settings(world, fan_out=3, decay_rate=rate)
    now = 100 if past else 4000  # moments to come are read in the order of the index
    items: list[Row] = [
        *({"target": f"weak {n}", "confidence": 0.3} for n in range(20)),
        {"target": "sure", "confidence": 0.9},
        {"target": "strong", "confidence": 0.4, "strength": 1.0},
        {"target": "late", "confidence": 0.85},
        *({"target": f"later {n}", "confidence": 0.3, "strength": 0.4} for n in range(20)),
    ]
    for item in items:
        far = item.pop("target")
        ends = {"source": "Vault", "target": far} if direction == "out" else {"source": far, "target": "Vault"}
        observe(world, {**ends, "type": "t", "observed_at": day(now), **item})
    assert walked(world, as_of=day(now)) == ["sure", "late", "strong"]


@pytest.mark.parametrize("rate", [0, 0.01])
def test_among_edges_that_matter_as_much_the_newest_comes_first_and_those_of_one_write_in_their_order(
    world: World, rate: float
) -> None:
    settings(world, decay_rate=rate)
    for n in (1, 2):
        observe(world, *({"source": "Vault", "type": "t", "target": f"{n} {m}", "observed_at": day(n)} for m in range(2)))
    assert walked(world) == ["2 0", "2 1", "1 0", "1 1"]


def test_a_rate_of_a_type_of_its_own_counts(world: World) -> None:
    world.rows("select * from loci_api.set_edge_type(%(ns)s, 'fleeting', '{\"decay_rate\": 0.1}')")
    settings(world, fan_out=1)
    observe(world, {"source": "Vault", "type": "fleeting", "target": "gone soon", "observed_at": day(90)})
    observe(world, {"source": "Vault", "type": "lasting", "target": "stays", "confidence": 0.6, "observed_at": day(90)})
    assert walked(world, as_of=day(91)) == ["gone soon"]
    assert walked(world, as_of=day(99)) == ["stays"]


@pytest.mark.parametrize("least", [1.0, 0.999999, 0.5])
def test_a_least_confidence_is_compared_at_the_six_digits_that_are_printed(world: World, least: float) -> None:
    observe(world, {"source": "Vault", "type": "t", "target": "x"})
    rows = world.rows("select confidence from loci.traverse(%(ns)s, array['Vault'], p_min_confidence => %(least)s)", least=least)
    assert len(rows) == 1
    observe(world, {"source": "Safe", "type": "t", "target": "y", "confidence": 0.999998})
    assert world.rows("select from loci.traverse(%(ns)s, array['Safe'], p_min_confidence => 1.0)") == []
