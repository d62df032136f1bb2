"""Whatever JSON a model answers: what is protected stays, no more goes than may, counts add up, and it can all be undone."""

from collections.abc import Callable, Iterator
from typing import Any, LiteralString

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from service.dreams.dream import PASSES
from service.dreams.passes import Pass
from service.llm.model import InvalidAnswer
from tests.databases import Database
from tests.dreams.scene import ORDERS, furnish, meaning
from tests.dreams.stage import Stage, staged
from tests.sql.undoing import state

WORDS = [
    "Alice",
    "Bob",
    "Quagga",
    "Kafka",
    "Zeppelin",
    "person",
    "project",
    "uses",
    "works_on",
    "notes",
    "anti-patterns/x",
    *ORDERS,
]
NUMBERS = st.one_of(st.integers(1, 30), st.integers(-2, 200), st.integers())
FRACTIONS = st.one_of(st.floats(0, 1), st.floats(-2, 2), st.just(1.0))
TEXTS = st.one_of(st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join), st.text(max_size=30))
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
# How much of each kind stands, and what of it no pass may take.
STANDS: LiteralString = """
    select 'memories' as kind, count(*), count(*) filter (where importance >= 0.8 or observations >= 5) as protected
    from loci_data.memories where namespace_id = %(ns)s and status = 'active' and superseded_at is null
    union all select 'entities', count(*), count(*) filter (where type = 'person' or pinned_at is not null)
    from loci_data.entities where namespace_id = %(ns)s and merged_into is null
    union all select 'edges', count(*), count(*) filter (where confidence >= 0.7)
    from loci_data.edges where namespace_id = %(ns)s and superseded_at is null
    union all select 'facts', count(*), count(*) filter (where kind = 'constraint' or importance >= 0.8)
    from loci_data.attributes where namespace_id = %(ns)s and status = 'active'"""


def answers(made: Pass[Any]) -> st.SearchStrategy[Any]:
    """What a model may answer: mostly what the schema allows, sometimes anything."""
    schema = made.answer.model_json_schema()
    return st.one_of(_of(schema, schema.get("$defs", {})), _of(schema, schema.get("$defs", {})), ANYTHING)


def _of(schema: dict[str, Any], defined: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _of(defined[schema["$ref"].rpartition("/")[2]], defined)
    if "anyOf" in schema:
        return st.one_of(*(_of(option, defined) for option in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    kinds: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
        "object": lambda: st.fixed_dictionaries({name: _of(part, defined) for name, part in schema["properties"].items()}),
        "array": lambda: st.lists(_of(schema["items"], defined), max_size=8),
        "integer": lambda: NUMBERS,
        "number": lambda: FRACTIONS,
        "boolean": st.booleans,
        "null": st.none,
        "string": lambda: TEXTS,
    }
    return kinds[schema["type"]]()


@pytest.fixture
def stage(own_database: Database) -> Iterator[Stage]:
    with staged(own_database) as made:
        made.setting(supersession_model="apply", dream_unchanged_days=0)
        furnish(made)
        yield made


@pytest.fixture(scope="module")
def neighbour(own_database: Database) -> Iterator[Stage]:
    """A namespace that no pass is run in."""
    with staged(own_database) as made:
        furnish(made, "Nandu")
        yield made


def stands(stage: Stage) -> dict[str, tuple[int, int]]:
    with stage.database.admin_sessions.borrowed(autocommit=True) as admin:
        rows = admin.execute(STANDS, {"ns": stage.world.id}).fetchall()
    return {row["kind"]: (row["count"], row["protected"]) for row in rows}


def ask_again(stage: Stage) -> None:
    """Let the next pass see what this one saw."""
    with stage.database.admin_sessions.borrowed(autocommit=True) as admin:
        for statement in (
            "delete from loci_data.supersession_verdicts where namespace_id = %s",
            "delete from loci_data.supersessions where namespace_id = %s and signal = 'model'",
            "delete from loci_data.episodes_read where namespace_id = %s",
            """insert into loci_data.contradiction_queue select namespace_id, id from loci_data.attributes
               where namespace_id = %s and status = 'active' and kind = 'attribute' on conflict do nothing""",
        ):
            admin.execute(statement, [stage.world.id])


@pytest.mark.row("L5")
@pytest.mark.parametrize("name", PASSES)
def test_no_answer_takes_what_is_protected_or_too_much_and_all_can_be_undone(stage: Stage, neighbour: Stage, name: str) -> None:
    made = PASSES[name]
    beside = meaning(neighbour.database, neighbour.world.id)
    at_first = state(stage.world)

    @settings(phases=[Phase.generate, Phase.target])  # what fails is read, not shrunk: each example is a pass and its undoing
    @given(answer=answers(made))
    def law(answer: Any) -> None:
        before = stands(stage)
        try:
            report = stage.perform(made, answer)
        except InvalidAnswer:
            assert stands(stage) == before
            return
        after = stands(stage)
        for kind, (count, protected) in before.items():
            assert after[kind][1] >= protected, kind
            assert count - after[kind][0] <= max(3, count // 10), kind
        if report.operation_id is not None:
            stage.undo(report.operation_id)
        assert state(stage.world) == at_first
        ask_again(stage)
        assert report.proposed >= report.applied + len(report.refused)  # what changes nothing, or is said twice, is neither
        if report.outcome == "stopped":
            assert (report.applied, report.operation_id) == (0, None)

    law()
    assert meaning(neighbour.database, neighbour.world.id) == beside
