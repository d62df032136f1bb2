"""`loci dream`: asking for a dream, doing it here, and the report."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from service.settings import get_settings
from tests.cli.conftest import Loci
from tests.model_server import ModelServer, model_server

TABS = "User prefers tabs for indentation"
ANSWER = {
    "preferences": [
        {"content": TABS, "strength": "strong", "turns": [1], "existing": None, "sensitive": False},
        {"content": "User likes tabs", "strength": "minor", "turns": [1], "existing": None, "sensitive": False},
    ]
}


@pytest.fixture
def endpoint(loci: Loci, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A configured model."""
    with model_server(lambda _: ANSWER) as made:
        monkeypatch.setenv("LOCI_LLM__ENDPOINT", made.url)
        monkeypatch.setenv("LOCI_LLM__MODEL", "scripted")
        monkeypatch.setenv("LOCI_LLM__ATTEMPTS", "1")
        monkeypatch.setenv("LOCI_JOBS__ATTEMPTS", "1")
        get_settings.cache_clear()
        yield made


@pytest.fixture
def said(loci: Loci, namespace: str) -> str:
    """A namespace in whose log the user has said something."""
    loci.rows(
        "select * from loci_api.add_turns(%s, 's1', %s::jsonb)", namespace, json.dumps([{"role": "user", "content": "Use tabs!"}])
    )
    return namespace


def statuses(loci: Loci, namespace: str) -> list[str]:
    """Of the memories of one namespace: whoever waits for a job also does those of others."""
    rows = loci.rows(
        "select m.status from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id where n.name = %s",
        namespace,
    )
    return [row["status"] for row in rows]


def dream(loci: Loci, namespace: str, *options: str) -> Any:
    result = loci("dream", "-n", namespace, "--pass", "preferences", "--json", *options)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_a_dry_run_that_is_waited_for_prints_what_would_be_done(loci: Loci, said: str, endpoint: ModelServer) -> None:
    result = loci("dream", "-n", said, "--pass", "preferences", "--dry-run", "--wait")
    assert result.exit_code == 0, result.stderr
    head, *lines = result.stdout.splitlines()
    assert head.startswith("dream succeeded: 1 try, the last one took ")
    assert "; 1 call of a model, " in head
    assert lines[0] == "preferences: planned (1 seen, 2 proposed, 1 applied, 1 refused)"
    assert lines[1].startswith("  created ")
    assert lines[1].endswith(f": {TABS}")
    assert lines[2] == "  refused by too_few: infer: 1 of 3 occurrences that a minor preference needs"
    assert statuses(loci, said) == []


def test_a_dream_that_is_waited_for_is_done_here_and_says_how_to_undo_it(loci: Loci, said: str, endpoint: ModelServer) -> None:
    result = loci("dream", "-n", said, "--pass", "preferences", "--wait")
    assert result.exit_code == 0, result.stderr
    undo = result.stdout.splitlines()[-1].strip().removeprefix("undo with: loci ").split()
    assert statuses(loci, said) == ["active"]
    assert loci(*undo, "-n", said).exit_code == 0
    assert statuses(loci, said) == ["forgotten"]


def test_without_waiting_the_job_is_left_to_a_worker(loci: Loci, said: str, endpoint: ModelServer) -> None:
    first, second = dream(loci, said), dream(loci, said)
    assert (first["created"], second["created"]) == (True, False)
    assert first["job_id"] == second["job_id"]
    result = loci("dream", "-n", said, "--pass", "preferences")
    assert result.stderr.startswith(f"job {first['job_id']} waited already: a worker takes it\n`loci job show {first['job_id']}` ")
    assert loci.rows("select state from loci.jobs where id = %s", first["job_id"]) == [{"state": "waiting"}]


def test_a_dream_that_dies_is_a_failure_that_says_why(loci: Loci, said: str, endpoint: ModelServer) -> None:
    endpoint.script = lambda _: "no JSON"
    result = loci("dream", "-n", said, "--pass", "preferences", "--wait")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].startswith("preferences: failed (")
    assert "\nerror: the dream is dead: preferences: " in result.stderr


def test_who_waits_is_told_of_each_try_its_error_and_when_the_next_one_is(
    loci: Loci, said: str, endpoint: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCI_JOBS__ATTEMPTS", "3")
    monkeypatch.setenv("LOCI_JOBS__BACKOFF", "1")
    get_settings.cache_clear()

    def third_time(_: Any) -> Any:  # jobs that other tests have left are done here too, and are asked about at any time
        return ANSWER if loci.rows("select tries from loci.jobs where namespace = %s", said)[0]["tries"] == 3 else "no JSON"

    endpoint.script = third_time
    result = loci("dream", "-n", said, "--pass", "preferences", "--wait")
    assert result.exit_code == 0, result.stderr
    asked, *lines = result.stderr.splitlines()
    job = asked.split()[1]
    begun, failed, later, again, *rest = lines
    assert (asked, begun) == (f"job {job} waits", "try 1 begins")
    assert failed.startswith("try 1 failed: preferences: ")
    assert later.startswith("next try at ")
    assert re.search(rf" UTC, in [01] s; `loci job retry {job}`: now$", later)
    assert (again, rest[0].split(":")[0]) == ("try 2 begins", "try 2 failed")
    assert rest[-2:] == ["try 3 begins", "preferences: applied"]
    assert result.stdout.startswith("dream succeeded: 3 tries, ")


def test_without_a_model_a_dream_says_what_to_set(loci: Loci, namespace: str) -> None:
    result = loci("dream", "-n", namespace)
    assert result.exit_code == 1
    assert result.stderr == (
        "error: this needs a language model, and none is configured\nhint: Set LOCI_LLM__ENDPOINT and LOCI_LLM__MODEL.\n"
    )


def test_an_unknown_pass_is_refused(loci: Loci, namespace: str, endpoint: ModelServer) -> None:
    result = loci("dream", "-n", namespace, "--pass", "nightmare")
    assert result.exit_code == 1
    assert "'memories', 'entities', 'preferences'" in result.stderr


def test_a_schedule_that_is_no_rule_is_refused(loci: Loci, namespace: str) -> None:
    result = loci("namespace", "set", namespace, "dream_schedule=every night")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: settings.dream_schedule must be a rule of cron in five fields")
    assert loci("namespace", "set", namespace, "dream_schedule=0 3 * * *").exit_code == 0
