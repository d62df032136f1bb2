"""`loci job`: what was left for later, on the command line."""

import json
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import Loci
from tests.factories import OPERATOR


@pytest.fixture
def asked(loci: Loci, namespace: str) -> str:
    """A job that waits; nobody works here."""
    assert loci("namespace", "list").exit_code == 0
    with psycopg.connect(loci.database.app_url) as connection:
        connection.execute("select set_config('loci.agent', %s, true)", [str(OPERATOR)])
        (job,) = connection.execute("select id from loci_api.enqueue_job(%s, 'dream')", [namespace]).fetchone() or [None]
    return str(job)


def state(loci: Loci, namespace: str, job: str) -> Any:
    return json.loads(loci("job", "show", job, "-n", namespace, "--json").stdout)["state"]


def test_jobs_are_listed_and_narrowed(loci: Loci, namespace: str, asked: str) -> None:
    lines = loci("job", "list", "-n", namespace).stdout.splitlines()
    assert lines[0].split() == ["id", "created_at", "kind", "state", "tries", "due_at", "error"]
    assert lines[1].split()[0] == asked
    assert [row["id"] for row in json.loads(loci("job", "list", "-n", namespace, "--json").stdout)] == [asked]
    assert json.loads(loci("job", "list", "--state", "dead", "-n", namespace, "--json").stdout) == []


def test_a_job_is_cancelled_and_tried_again(loci: Loci, namespace: str, asked: str) -> None:
    assert json.loads(loci("job", "cancel", asked, "-n", namespace, "--json").stdout)["state"] == "cancelled"
    again = loci("job", "cancel", asked, "-n", namespace)
    assert (again.exit_code, state(loci, namespace, asked)) == (0, "cancelled")
    assert json.loads(loci("job", "retry", asked, "-n", namespace, "--json").stdout)["state"] == "waiting"
    again = loci("job", "retry", asked, "-n", namespace)
    assert (again.exit_code, state(loci, namespace, asked)) == (0, "waiting")
    loci("job", "cancel", asked, "-n", namespace)


def test_show_prints_the_whole_error_of_a_dead_job(loci: Loci, namespace: str, asked: str) -> None:
    error = "the endpoint does not answer: " + "no route to host; " * 40
    with psycopg.connect(loci.database.admin_url) as admin:
        admin.execute("update loci_data.jobs set error = %s where id = %s", [error, asked])
        admin.execute("update loci_jobs.procrastinate_jobs set queue_name = 'none' where args ->> 'job_id' = %s", [asked])
    shown = " ".join(loci("job", "show", asked, "-n", namespace).stdout.split())
    assert error.strip() in shown
    assert json.loads(loci("job", "show", asked, "-n", namespace, "--json").stdout)["calls"]["calls"] == 0


def test_an_unknown_job_or_kind_is_one_line(loci: Loci, namespace: str) -> None:
    missing = loci("job", "show", "0192f0c4-0000-7000-8000-000000000000", "-n", namespace)
    assert missing.exit_code == 1
    assert missing.stderr.startswith("error: job 0192f0c4-0000-7000-8000-000000000000 does not exist\nhint: ")
    assert (
        "'dream', 'enrich', 'contradictions', 'settle', 'tune' or 'project'"
        in loci("job", "list", "--kind", "sing", "-n", namespace).stderr
    )
    assert "'waiting', 'running'" in loci("job", "list", "--state", "tired", "-n", namespace).stderr


def test_doctor_says_how_jobs_stand(loci: Loci, asked: str) -> None:
    checks = {check["name"]: check for check in json.loads(loci("doctor", "--json").stdout)}
    assert checks["jobs"]["ok"] is False
    assert "0 workers" in checks["jobs"]["detail"]
    assert "nobody works" in checks["jobs"]["detail"]


def test_doctor_tells_of_jobs_that_were_given_up_and_how_to_try_them_again(loci: Loci, namespace: str, asked: str) -> None:
    with psycopg.connect(loci.database.admin_url) as admin:
        admin.execute(
            "update loci_data.jobs set state = 'dead', finished_at = now(), error = 'no route to host' where id = %s", [asked]
        )
    told = loci("doctor", "--json")
    (jobs,) = [check for check in json.loads(told.stdout) if check["name"] == "jobs"]
    assert (told.exit_code, jobs["ok"]) == (1, False)
    assert "1 were given up: `loci job list --state dead`" in jobs["detail"]
    assert loci("job", "cancel", asked, "-n", namespace).exit_code == 0
    (jobs,) = [check for check in json.loads(loci("doctor", "--json").stdout) if check["name"] == "jobs"]
    assert "given up" not in jobs["detail"]


def test_no_job_of_the_demo_was_given_up_or_waits(loci: Loci) -> None:
    assert loci("demo").exit_code == 0
    assert {row["state"] for row in json.loads(loci("job", "list", "--json").stdout)} == {"succeeded"}
