"""All times that commands print are of one clock: this machine's, whose offset is said once, or UTC."""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from service.cli.output import format_cell, is_time, set_utc
from tests.cli.conftest import Loci
from tests.cli.tree import COMMANDS
from tests.services import openapi_document

ZONES = {"Asia/Kolkata": "+05:30", "America/St_Johns": "-03:30", "Pacific/Kiritimati": "+14:00"}
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
RAW = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")  # as the service says it
# What each command is asked for that prints times; {…} is made by `world`.
PRINTS_TIMES = {
    "recall": "recall Alice",
    "memory list": "memory list",
    "memory show": "memory show alice-location",
    "memory history": "memory history alice-location",
    "memory change": "memory change coffee importance=0.5",
    "entity show": "entity show Alice",
    "edge list": "edge list",
    "edge show": "edge show {edge}",
    "session list": "session list",
    "session show": "session show demo",
    "operation list": "operation list",
    "operation show": "operation show {operation}",
    "job list": "job list",
    "job show": "job show {job}",
    "model list": "model list",
    "model calls": "model calls",
    "namespace show": "namespace show default",
    "key list": "key list",
    "key uses": "key uses {key}",
    "grant list": "grant list",
    "watch": "watch --after 0 --limit 20",
    "analyst list": "analyst list",
}
EMPTY_HERE = {"key uses", "model list", "analyst list"}  # they need a service, a model or an owner's connection; nothing is listed


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return {}


@pytest.fixture
def world(loci: Loci, made: dict[str, str]) -> dict[str, str]:
    """Ids of things of the demo, and a grant and a key with ends."""
    if not made:
        assert loci("demo").exit_code == 0
        key = json.loads(loci("key", "create", "--expires", "2031-01-01T20:00:00Z", "--json").stdout)
        made["key"] = key["id"]
        assert loci("grant", "set", key["agent_id"], "--role", "reader", "--expires", "2031-05-01T20:00:00Z").exit_code == 0
        for name in ("edge", "job", "operation"):
            made[name] = json.loads(loci(name, "list", "--json").stdout)[0]["id"]
    return made


@contextmanager
def in_zone(name: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        try:
            yield
        finally:
            os.environ["TZ"] = "UTC"
            time.tzset()


def printed(loci: Loci, command: str, *options: str) -> str:
    result = loci(*command.split(), *options)
    assert result.exit_code == 0, result.output
    return " ".join(re.sub(r"(?<=\s)\d+(?=\s)", "#", result.output).split())


def moved(text: str, offset: str) -> str:
    """A text whose times, which are of a clock with this offset, are those of UTC, without what says the offset."""
    sign, hours, minutes = (-1 if offset[0] == "-" else 1), int(offset[1:3]), int(offset[4:])
    away = timedelta(minutes=sign * (60 * hours + minutes))
    text = text.replace(f" ({offset})", "").replace(f"times are UTC{offset} ", "")
    return MOMENT.sub(lambda found: f"{datetime.fromisoformat(found[0]) - away:%Y-%m-%d %H:%M}", text)


@pytest.mark.sample(20)
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("name", PRINTS_TIMES)
def test_every_time_of_a_command_is_of_the_local_clock_and_its_offset_is_said_once(
    loci: Loci, world: dict[str, str], name: str, zone: str
) -> None:
    command = PRINTS_TIMES[name].format(**world)
    in_utc = printed(loci, command)
    with in_zone(zone):
        local, told_utc = printed(loci, command), printed(loci, command, "--utc")
    assert told_utc == in_utc
    assert moved(local, ZONES[zone]) == in_utc
    assert RAW.findall(local) == []
    if name not in EMPTY_HERE:
        assert MOMENT.search(in_utc)
        assert local.count(ZONES[zone]) == 1
        assert ZONES[zone] not in told_utc


@pytest.mark.parametrize("zone", ["UTC", *ZONES])
def test_the_times_of_a_history_are_those_of_its_json(loci: Loci, world: dict[str, str], zone: str) -> None:
    with in_zone(zone):
        here = datetime.now().astimezone().tzinfo  # with the offset of now: one for all
        rows = json.loads(loci("memory", "history", "alice-location", "--json").stdout)
        lines = loci("memory", "history", "alice-location").stdout.splitlines()[1:]
        for row, line in zip(rows, lines, strict=True):
            stated = [datetime.fromisoformat(row[name]).astimezone(here) for name in ("valid_from", "valid_to") if row[name]]
            assert MOMENT.findall(line)[: len(stated)] == [f"{each:%Y-%m-%d %H:%M}" for each in stated]


@pytest.mark.parametrize("where", ["before", "after"])
def test_utc_is_an_option_before_and_behind_a_command(loci: Loci, world: dict[str, str], where: str) -> None:
    with in_zone("Asia/Kolkata"):
        arguments = ["memory", "list"]
        told = loci(*(["--utc", *arguments] if where == "before" else [*arguments, "--utc"])).stdout
    assert told == loci("memory", "list").stdout


def moments(document: Any, name: str = "") -> set[str]:
    """Names of all fields of an OpenAPI document that are moments."""
    if isinstance(document, list):
        return set().union(*(moments(each, name) for each in document))
    if not isinstance(document, dict):
        return set()
    inner = {**document, **document.get("properties", {})} if isinstance(document.get("properties"), dict) else document
    return {name} if document.get("format") == "date-time" else set().union(*(moments(part, key) for key, part in inner.items()))


def test_every_field_of_a_reply_that_is_a_moment_is_known_as_one() -> None:
    schemas = openapi_document()["components"]["schemas"]
    found = set().union(
        *(
            {of if of not in ("anyOf", "items") else name for of in moments(part, name)}
            for schema in schemas.values()
            for name, part in schema.get("properties", {}).items()
        )
    )
    assert len(found) > 20
    assert {name for name in found if not is_time(name)} <= {"kept", "stated"}


def test_text_that_only_looks_like_a_time_stays_as_it_is() -> None:
    set_utc(False)
    with in_zone("Asia/Kolkata"):
        assert format_cell("2024-05-01T00:00:00Z", "content") == "2024-05-01T00:00:00Z"
        assert format_cell("2024-05-01", "valid_from") == "2024-05-01"
        assert format_cell("now", "valid_to") == "now"
        assert (
            format_cell({"at": "2024-05-01T00:00:00Z", "format": "2024-05-01T00:00:00Z"})
            == "at: 2024-05-01 05:30, format: 2024-05-01T00:00:00Z"
        )


def test_every_command_that_prints_data_takes_utc() -> None:
    options = {name: {each for option in command.params for each in option.opts} for name, command in COMMANDS.items()}
    assert [name for name, has in options.items() if ("--json" in has) != ("--utc" in has)] == []
