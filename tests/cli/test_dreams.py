"""`loci dream`: asking for a dream, doing it here, and the report."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from db.jobs.jobs import JobDetail
from service.dreams.progress import Progress
from service.settings import get_settings
from tests.cli.conftest import Loci
from tests.llm.model_server import ModelServer, model_server
from tests.services import eventually

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


@pytest.mark.row("L6")
def test_a_waiting_command_tells_each_try_and_its_error(
    loci: Loci, said: str, endpoint: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCI_JOBS__ATTEMPTS", "3")
    monkeypatch.setenv("LOCI_JOBS__BACKOFF", "0")
    get_settings.cache_clear()
    told: list[str] = []
    monkeypatch.setattr("service.cli.commands.dreams.echo", lambda line, **_: told.append(line))

    def third_time(_: Any) -> Any:  # jobs that other tests have left are done here too, and are asked about at any time
        tries = loci.rows("select tries from loci.jobs where namespace = %s", said)[0]["tries"]
        eventually(lambda: tries == 0 or f"try {tries} begins" in told)  # no try is over before it was looked at
        return ANSWER if tries == 3 else "no JSON"

    endpoint.script = third_time
    result = loci("dream", "-n", said, "--pass", "preferences", "--wait")
    assert result.exit_code == 0, result.stderr
    asked, *lines = told
    assert re.fullmatch(r"job \S+ waits", asked)
    tries = [line for line in lines if line.startswith("try ")]
    assert [line.split(":")[0] for line in tries] == [
        "try 1 begins", "try 1 failed", "try 2 begins", "try 2 failed", "try 3 begins",
    ]  # fmt: skip
    assert all(line.split(":")[1] == " preferences" for line in tries if "failed" in line)
    assert "preferences: applied" in lines
    assert any(line.startswith("dream succeeded: 3 tries, ") for line in lines)


NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
JOB = {
    "id": "J", "state": "waiting", "tries": 0, "failures": 0, "postponed": 0, "passes": [], "error": None, "due_at": None,
    "finished_at": None,
}  # fmt: skip
FAILED_ONCE = {"tries": 1, "failures": 1, "error": "no JSON", "due_at": NOW + timedelta(seconds=7)}


def told_of(*looks: dict[str, Any]) -> list[str]:
    """What is said of a job that is found so, look after look."""
    lines: list[str] = []
    progress = Progress(lines.append)
    for look in looks:
        progress.report_news(cast("JobDetail", {**JOB, **look}), NOW)
    return lines


@pytest.mark.row("L6")
def test_a_failure_is_told_with_when_the_next_try_is() -> None:
    lines = told_of({}, {"state": "running", "tries": 1}, FAILED_ONCE, FAILED_ONCE, {**FAILED_ONCE, "state": "running", "tries": 2})
    later = "next try at 12:00:07 UTC, in 7 s; `loci job retry J`: now"
    assert lines == ["try 1 begins", "try 1 failed: no JSON", later, "try 2 begins"]


def test_a_failure_is_told_though_the_next_try_has_begun_by_the_time_one_looks() -> None:
    running = {"state": "running", "tries": 1}
    again = {**running, "tries": 2, "failures": 1, "error": "no JSON"}
    failing = {**again, "failures": 2, "error": "no text"}  # of this try, which is not taken back yet
    lines = told_of(running, again, again, failing, {**failing, "state": "dead", "finished_at": NOW})
    assert lines == ["try 1 begins", "try 1 failed: no JSON", "try 2 begins", "try 2 failed: no text"]


def test_a_try_that_was_put_off_is_told_as_such_and_what_a_success_followed_is_no_failure_of_the_last_try() -> None:
    running = {"state": "running", "tries": 1}
    off = {**running, "postponed": 1, "error": "busy"}
    done = {"state": "succeeded", "tries": 3, "postponed": 1, "failures": 1, "finished_at": NOW}
    lines = told_of(running, off, {**off, "state": "waiting"}, {**off, "state": "running", "tries": 2}, done)
    assert lines == ["try 1 begins", "put off: busy", "try 2 begins", "try 2 failed", "try 3 begins"]


def test_a_try_that_a_restart_of_the_worker_broke_off_is_told_as_such() -> None:
    running = {"state": "running", "tries": 1}
    failed = {"tries": 2, "failures": 1, "error": "no JSON"}
    lines = told_of(
        running, {"tries": 1}, {**running, "tries": 2}, failed, {**failed, "state": "running", "tries": 3}, {**failed, "tries": 3}
    )
    assert lines == [
        "try 1 begins", "try 1 was broken off", "try 2 begins", "try 2 failed: no JSON", "try 3 begins", "try 3 was broken off",
    ]  # fmt: skip


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
