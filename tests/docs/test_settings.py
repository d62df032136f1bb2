"""docs/settings.md lists every setting, and what it says is what holds.

LOCI_WRITE_DOCS=1 (`make reference`) writes its tables anew.
"""

import os
import re
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import tuple_row
from psycopg.types.json import Jsonb
from pydantic import BaseModel

from service.cli.config import known_names
from service.settings import Settings
from tests.catalogue import ROOT, SUBJECTS
from tests.databases import as_shipped
from tests.docs import settings_page
from tests.environment import TOLD
from tests.factories import World

pytestmark = pytest.mark.every_case

WRITES = os.environ.get("LOCI_WRITE_DOCS") == "1"

CALLS: list[LiteralString] = [  # each reads other settings
    "select * from loci.traverse(%(ns)s, array['Alice'])",
    "select * from loci.graph_context(%(ns)s, 'Alice')",
    "select * from loci.match_entities(%(ns)s, 'Alice')",
    "select * from loci.walk(%(ns)s, 'Alice', p_project_path => '/home/rockbot')",
    "select * from loci.constellation(%(ns)s)",
    "select * from loci.search_text(%(ns)s, 'Alice')",
    "select * from loci_api.memories_sharing_names(%(ns)s, 'Alice', array[1::bigint])",
    "select * from loci_api.save_working_memory(%(ns)s, 'session/a/b', '1')",
    "select * from loci.list_turns(%(ns)s, 's')",
    "select * from loci.search_turns(%(ns)s, 'Alice')",
    "select * from loci.context_parts(%(ns)s, p_message => 'Alice')",
    "select * from loci_api.end_session(%(ns)s, 's')",
    "select * from loci_api.sweep_supersessions(%(ns)s)",
    "select * from loci_api.stale_entities(%(ns)s, 10)",
    "select * from loci_api.recent_signals(%(ns)s)",
    "select * from loci_api.namespace_activity(%(ns)s)",
]


@pytest.fixture
def admin(admin: psycopg.Connection[dict[str, Any]]) -> psycopg.Connection[dict[str, Any]]:
    as_shipped(admin)
    return admin


def definitions(admin: psycopg.Connection[dict[str, Any]]) -> list[dict[str, Any]]:
    return admin.execute("select * from loci.setting_definitions()").fetchall()


def test_the_tables_say_what_the_code_says(admin: psycopg.Connection[Any]) -> None:
    admin.row_factory = tuple_row
    text = settings_page.PAGE.read_text()
    made = settings_page.filled(text, settings_page.parts(admin))
    if WRITES:
        settings_page.PAGE.write_text(made)
    else:
        assert text == made, "run `make reference`"


def test_every_setting_of_the_service_has_a_meaning() -> None:
    models = [Settings, *(type(f.default) for f in Settings.model_fields.values() if isinstance(f.default, BaseModel))]
    assert [f"{model.__name__}.{name}" for model in models for name, f in model.model_fields.items() if not f.description] == []


@pytest.mark.row("G13")
def test_every_default_of_a_namespace_is_defined_and_the_reverse(admin: psycopg.Connection[dict[str, Any]]) -> None:
    (defaults,) = [row["d"] for row in admin.execute("select loci.default_settings() as d")]
    paths = {name for name in defaults if name != "weights"} | {f"weights.{name}" for name in defaults["weights"]}
    assert sorted(row["name"] for row in definitions(admin)) == sorted(paths)


def test_a_definition_belongs_to_a_subject_and_fits_its_default(admin: psycopg.Connection[dict[str, Any]]) -> None:
    def fits(row: dict[str, Any]) -> bool:
        value, kind = row["standard"], row["type"]
        if " | " in kind:
            return value in kind.split(" | ")
        within = row["lowest"] is None or row["lowest"] <= value <= (value if row["highest"] is None else row["highest"])
        return within and isinstance(value, {"integer": int, "number": int | float, "boolean": bool, "text": str}[kind])

    assert [row["name"] for row in definitions(admin) if row["subject"] not in SUBJECTS or not fits(row)] == []


@pytest.mark.row("G13")
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("depth", -1),
        ("depth", "many"),
        ("depth", 2.5),
        ("walk_aspects", 2_147_483_648),
        ("max_hops", 21),
        ("walk_ms", 1e300),
        ("dream_removed_share", 1.5),
        ("reinforcement", "never"),
        ("recall_log", "yes"),
        ("weights.graph", -1),
        ("weights.smell", 1),
        ("colour", 1),
    ],
)
def test_an_unknown_setting_is_refused_by_name(world: World, setting: str, value: object) -> None:
    outer, _, inner = setting.partition(".")
    with pytest.raises(errors.InvalidParameterValue) as caught:
        world.rows(
            "select loci_api.update_namespace(%(ns)s, %(changes)s)",
            changes=Jsonb({"settings": {outer: {inner: value} if inner else value}}),
        )
    assert caught.value.diag.column_name == f"settings.{setting}"


def test_the_path_of_an_inner_setting_is_no_setting(world: World) -> None:
    with pytest.raises(errors.InvalidParameterValue, match="unknown setting"):
        world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"weights.graph": 1}}))


@pytest.mark.parametrize("bound", ["lowest", "highest"])
def test_every_call_works_at_the_bounds_of_its_settings(
    world: World, admin: psycopg.Connection[dict[str, Any]], bound: str
) -> None:
    world.write(
        "Alice works on RockBot", entities=[{"name": "Alice"}], edges=[{"source": "Alice", "type": "works_on", "target": "RockBot"}]
    )
    bounds = {row["name"]: row[bound] for row in definitions(admin) if row[bound] is not None and "." not in row["name"]}
    numbers = {name: int(value) if value == int(value) else float(value) for name, value in bounds.items()}
    numbers["working_memory_entries"] = 1  # none would be refused, rightly
    world.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": numbers}))
    with world.connection.transaction(force_rollback=True):
        for statement in CALLS:
            world.rows(statement)


WRITTEN = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "client" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "deploy").rglob("*.y*ml")),
]
COMPOSED = re.compile(r"\$\{(LOCI_\w+)")


@pytest.mark.parametrize("page", [page for page in WRITTEN if page.exists()], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_variable_of_ours_that_a_page_names_is_one_that_somebody_reads(page: Path) -> None:
    """The program, the compose files, or the tests; of a group of settings also its beginning, as LOCI_LLM__."""
    known = known_names() | {name for file in ROOT.glob("docker-compose*.yml") for name in COMPOSED.findall(file.read_text())}
    groups = {name for name in re.findall(r"\bLOCI_[A-Z0-9_]+", page.read_text()) if not name.startswith(TOLD)} - known
    assert sorted(name for name in groups if not (name.endswith("_") and any(one.startswith(name) for one in known))) == []
