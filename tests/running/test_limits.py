"""docs/operations.md says what holds: fields of the interface, constraints, settings of the service and of namespaces."""

import json
import re
from typing import Any

import psycopg
import pytest

from service.settings import Settings
from tests.catalogue import ROOT
from tests.databases import as_shipped
from tests.services import openapi_document

ROW = re.compile(r"^- (.+?): ([\d.]+|none) \(`(.+)`\)$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "operations.md").read_text())
BOUNDS = ("maxItems", "maxLength", "maximum")


def schemas() -> dict[str, Any]:
    """Models of the OpenAPI document."""
    found: dict[str, Any] = openapi_document()["components"]["schemas"]
    return found


def bounds(schema: dict[str, Any]) -> set[float]:
    """What bounds a field, whichever of its forms is sent."""
    forms = [schema, *schema.get("anyOf", []), *schema.get("oneOf", [])]
    return {float(form[name]) for form in forms for name in BOUNDS if name in form}


def of_service(variable: str) -> object:
    """The default of a setting of the service."""
    value: Any = Settings.model_construct()
    for part in variable.removeprefix("LOCI_").lower().split("__"):
        value = getattr(value, part)
    return value


@pytest.mark.sample(10)
@pytest.mark.row("X13")
@pytest.mark.parametrize(("what", "most", "where"), ROWS, ids=[row[2] for row in ROWS])
def test_a_limit_of_the_page_is_the_one_that_holds(
    what: str, most: str, where: str, admin: psycopg.Connection[dict[str, Any]]
) -> None:
    if where.startswith("LOCI_"):
        assert of_service(where) == (None if most == "none" else float(most))
    elif "." in where:
        model, field = where.split(".")
        assert float(most) in bounds(schemas()[model]["properties"][field])
    elif where.endswith("_check"):
        row = admin.execute("select pg_get_constraintdef(oid) as said from pg_constraint where conname = %s", [where]).fetchone()
        assert row is not None
        assert most in re.findall(r"\d+", row["said"])
    else:
        as_shipped(admin)
        row = admin.execute("select standard from loci.setting_definitions() where name = %s", [where]).fetchone()
        assert row is not None
        assert json.loads(json.dumps(row["standard"])) == float(most)
