"""Alerts and dashboard ask for figures that a service shows, with labels and values that these have, and each alert says what to do."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import promql_parser
import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families as parsed

from db import pool
from service.observability import metrics
from tests.catalogue import ROOT
from tests.services import Service

pytestmark = pytest.mark.every_case

RULES = [
    rule for group in yaml.safe_load((ROOT / "deploy/prometheus/loci.rules.yml").read_text())["groups"] for rule in group["rules"]
]
BOARD = json.loads((ROOT / "deploy/grafana/loci.json").read_text())
TARGETS = [(panel["title"], target["expr"]) for panel in BOARD["panels"] for target in panel.get("targets", [])]
ASKED = [(rule["alert"], rule["expr"]) for rule in RULES] + TARGETS
TABLE = re.compile(r"^- `(loci_\w+)`(?: \((.*)\))?$", re.MULTILINE)
VALUES = re.compile(r"(\w+): ([\w, ]+)")
DECLARED = [one for one in (*vars(metrics).values(), *vars(pool).values()) if isinstance(one, (Counter, Gauge, Histogram))]
PARTS = re.compile(r"_(bucket|sum|count)$")
SCRAPED = {"instance", "job"}  # labels that Prometheus adds


class Use(NamedTuple):
    """What an expression says of a figure: its name, and the labels that it must have, with the values that it asks for."""

    name: str
    labels: dict[str, list[str]]


def uses(expression: str) -> list[Use]:
    """The figures of an expression. Raises ValueError where it is none."""
    return list(read(promql_parser.parse(expression.replace("$__rate_interval", "5m").replace("$instance", ".*")), set()))


def read(node: Any, wanted: set[str]) -> Iterator[Use]:
    """Walk the expression; `wanted`: labels that those above group by."""
    if isinstance(node, promql_parser.AggregateExpr):
        yield from read(node.expr, {*wanted, *(node.modifier.labels if node.modifier else [])})
    elif isinstance(node, promql_parser.BinaryExpr):
        yield from read(node.lhs, wanted)
        yield from read(node.rhs, wanted)
    elif isinstance(node, promql_parser.Call):
        for argument in node.args:
            yield from read(argument, wanted)
    elif isinstance(node, promql_parser.MatrixSelector):
        yield from read(node.vector_selector, wanted)
    elif isinstance(node, promql_parser.ParenExpr):
        yield from read(node.expr, wanted)
    elif isinstance(node, promql_parser.VectorSelector):
        asked = {label: [] for label in wanted} | {one.name: one.value.split("|") for one in node.matchers.matchers}
        yield Use(node.name, asked)
    else:
        assert isinstance(node, promql_parser.NumberLiteral), type(node)


def documented() -> dict[str, dict[str, set[str]]]:
    """The figures of docs/operations.md with their labels, and the values that stand there behind one of these."""
    found: dict[str, dict[str, set[str]]] = {}
    for name, cell in TABLE.findall((ROOT / "docs" / "operations.md").read_text()):
        found[name] = {label: set() for label in labels_of(name)}
        for label, values in VALUES.findall(cell):
            found[name][label] = set(values.split(", "))
    return found


def labels_of(name: str) -> tuple[str, ...]:
    """Labels of a figure, as it is declared."""
    declared = {f"{m._name}_total" if isinstance(m, Counter) else m._name: m for m in DECLARED}
    return tuple(declared[name]._labelnames)


@pytest.mark.parametrize(("place", "expression"), ASKED, ids=[f"{n}-{place}" for n, (place, _) in enumerate(ASKED)])
def test_figures_asked_for_have_these_labels_and_values(place: str, expression: str) -> None:
    known = documented()
    for use in uses(expression):
        if use.name == "up":
            continue
        name = use.name if use.name in known else PARTS.sub("", use.name)
        labels = known[name]
        allowed = {*labels, *SCRAPED, *(["le"] if use.name.endswith("_bucket") else [])}
        assert set(use.labels) <= allowed, (use, labels)
        strange = {
            value for label, values in use.labels.items() for value in values if labels.get(label) and value not in labels[label]
        }
        assert strange == set(), use


@pytest.mark.row("X13")
def test_a_service_shows_every_figure_that_is_asked_for(start_service: Callable[..., Service]) -> None:
    with start_service(worker=False).client() as client:
        shown = {family.name for family in parsed(client.get("http://loci/metrics").text)}
    names = {PARTS.sub("", use.name).removesuffix("_total") for _, expression in ASKED for use in uses(expression)} - {"up"}
    assert names - {name.removesuffix("_total") for name in shown} == set()


def test_every_alert_says_what_to_do_and_no_other_is_described() -> None:
    page = (ROOT / "docs" / "running" / "monitoring.md").read_text()
    assert re.findall(r"^- `(Loci\w+)`: .+$", page, re.MULTILINE) == [rule["alert"] for rule in RULES]
    assert {(rule["labels"]["severity"], bool(rule["annotations"]["summary"])) for rule in RULES} == {
        ("critical", True),
        ("warning", True),
    }


def test_panels_are_told_apart_and_follow_the_variables() -> None:
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    assert all("$instance" in expression for _, expression in TARGETS)
    assert {name["name"] for name in BOARD["templating"]["list"]} == {"source", "cell", "instance"}
