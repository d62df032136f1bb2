"""`loci watch` prints changes as they come, from the database or from a service (row X4)."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from service.cli.commands.operations.watch import format_change
from tests.cli.conftest import Ended, Loci, Running
from tests.services import PATIENCE, serve

CHANGE: dict[str, Any] = {
    "kind": "memory",
    "action": "created",
    "namespace": "default",
    "content": None,
    "before": None,
    "after": None,
    "subject_id": None,
    "changed_at": "2026-01-02T03:04:05Z",
    "agent": "key of Bob",
    "via": "mcp",
}


def write(loci: Loci, namespace: str, content: str) -> None:
    loci.rows(
        "select count(*) from loci_api.remember(%s, jsonb_build_array(jsonb_build_object('content', %s::text)))", namespace, content
    )


@contextmanager
def watching(loci: Loci, *arguments: str, **environment: str) -> Iterator[Running]:
    process = loci.start("watch", *arguments, **environment)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def next_line(process: Running) -> str:
    assert process.stdout is not None
    text = process.stdout.readline()
    assert text, process.stderr and process.stderr.read()
    return text


def test_a_watch_prints_what_was_and_what_comes_until_it_is_interrupted(loci: Loci, namespace: str, ended: Ended) -> None:
    write(loci, namespace, "Alice lives\nin Oslo")
    with watching(loci, "-n", namespace, "--kind", "memory", "--after", "0", LOCI_EMBEDDING__PROVIDER="none") as process:
        first = next_line(process)
        assert f"  {namespace}  memory created  Alice lives in Oslo  " in first
        write(loci, namespace, "Bob lives in Rome")  # nothing else gives it its position
        assert "Bob lives in Rome" in next_line(process)
        process.send_signal(signal.SIGINT)
        assert ended(process)[::2] == (0, "")


def test_a_watch_for_scripts_prints_one_object_a_line_and_ends_after_so_many(loci: Loci, namespace: str) -> None:
    for number in range(3):
        write(loci, namespace, f"fact {number}")
    result = loci("watch", "-n", namespace, "-k", "memory", "--after", "0", "--limit", "2", "--json")
    assert result.exit_code == 0, result.stderr
    lines = [json.loads(text) for text in result.stdout.splitlines()]
    assert [(one["kind"], one["content"], one["namespace"]) for one in lines] == [
        ("memory", f"fact {n}", namespace) for n in range(2)
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kind", "nothing"], "kind must be one of memory, "),
        (["-n", "no-such-namespace"], "does not exist"),
        (["--after", "999999999999"], "after must be the next_cursor"),
    ],
)
def test_an_impossible_watch_is_one_line_of_error(loci: Loci, arguments: list[str], said: str) -> None:
    result = loci("watch", *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert said in result.stderr


def test_a_watch_of_a_service_goes_on_where_it_was_when_the_service_starts_anew(loci: Loci, namespace: str, port: int) -> None:
    url = f"http://127.0.0.1:{port}"

    with serve(loci.database, tcp=True, port=port):
        process = loci.start_by_itself("watch", "-n", namespace, "-k", "memory", "--after", "0", "--json", LOCI_URL=url)
        write(loci, namespace, "one")
        assert json.loads(next_line(process))["content"] == "one"
    write(loci, namespace, "two")
    with serve(loci.database, tcp=True, port=port):
        assert json.loads(next_line(process))["content"] == "two"
        process.send_signal(signal.SIGINT)
        assert (process.wait(PATIENCE), process.stderr and process.stderr.read()) == (0, "")
        process.communicate()


LINES: list[tuple[dict[str, Any], str]] = [
    ({"content": "tea"}, "2026-01-02 03:04  default  memory created  tea  key of Bob (mcp)"),
    ({"content": "x" * 100}, f"2026-01-02 03:04  default  memory created  {'x' * 79}…  key of Bob (mcp)"),
    (
        {"kind": "entity", "action": "changed", "before": {"name": "Al", "type": None}, "after": {"name": "Al", "type": "person"}},
        "2026-01-02 03:04  default  entity changed (type)  Al  key of Bob (mcp)",
    ),
    ({"action": "erased", "subject_id": "01a1", "agent": None}, "2026-01-02 03:04  default  memory erased  01a1  - (mcp)"),
]


@pytest.mark.parametrize(("fields", "text"), LINES, ids=[text for _, text in LINES])
def test_a_line_says_when_where_what_and_who(fields: dict[str, Any], text: str) -> None:
    assert format_change({**CHANGE, **fields}) == text
