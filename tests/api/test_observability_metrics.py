"""What /metrics promises: the figures that docs/operations.md lists, right for what happened, at once, whatever the database does."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import prometheus_client
import pytest
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.parser import text_string_to_metric_families as parsed

from db import pool
from db.migrate import newest_revision
from service.observability import gauges as observability_monitor
from service.observability import metrics
from tests.catalogue import PYTHONPATH, ROOT
from tests.databases import Database
from tests.services import PATIENCE, Api, Service, eventually, new_api

ARMS = {"lexical", "vector", "entities", "graph", "walk", "neighbours", "hierarchy", "names"}
Samples = dict[tuple[str, tuple[str, ...]], float]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scrape asks the database, and waits for it."""
    monkeypatch.setattr(observability_monitor, "FIGURES_CACHE_SECONDS", 0.0)
    monkeypatch.setattr(observability_monitor, "SCRAPE_WAIT_SECONDS", PATIENCE)
    monkeypatch.setattr(observability_monitor, "DATABASE_TIMEOUT_SECONDS", int(PATIENCE))


@pytest.fixture
def idle(start_service: Callable[..., Service]) -> Iterator[Api]:
    """A service that does no background work."""
    with new_api(start_service(worker=False)) as api:
        yield api


def samples(client: httpx.Client) -> Samples:
    text = client.get("http://loci/metrics").text
    return {(s.name, tuple(v for _, v in sorted(s.labels.items()))): s.value for family in parsed(text) for s in family.samples}


def documented() -> set[str]:
    text = (ROOT / "docs" / "operations.md").read_text()
    return set(re.findall(r"^- `(loci_\w+)`", text, re.MULTILINE))


def declared() -> set[str]:
    """Metrics of the modules, by the names that a scrape shows."""
    found = {**vars(metrics), **vars(pool)}.values()
    kinds = (prometheus_client.Counter, prometheus_client.Gauge, prometheus_client.Histogram)
    return {f"{m._name}_total" if isinstance(m, prometheus_client.Counter) else m._name for m in found if isinstance(m, kinds)}


def test_the_table_in_the_documentation_has_every_metric_and_no_other() -> None:
    assert documented() == declared()


def test_every_metric_is_declared_where_the_documentation_test_looks() -> None:
    elsewhere = [
        str(path.relative_to(ROOT))
        for folder in ("db", "service", "client")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"\b(Counter|Gauge|Histogram|Summary)\(\s*\"loci_", path.read_text())
    ]
    assert sorted(elsewhere) == ["db/pool.py", "service/observability/metrics.py"]


def test_a_recall_counts_each_arm_as_the_database_measured_it_and_each_phase(api: Api) -> None:
    api.write("Alice knows Bob", entities=[{"name": "Alice"}])
    eventually(api.embedded)  # what waits is embedded too
    before = samples(api.client)
    api.recall("whom does Alice know?")
    after = samples(api.client)

    def grown(name: str) -> dict[str, float]:
        return {key[1][0]: after[key] - before.get(key, 0.0) for key in after if key[0] == name}

    assert {arm: n for arm, n in grown("loci_recall_arm_seconds_count").items() if n} == dict.fromkeys(ARMS, 1.0)
    phases = {phase: n for phase, n in grown("loci_recall_phase_seconds_count").items() if n}
    assert phases == dict.fromkeys(("embed", "one_call"), 1.0)
    assert 0 < sum(grown("loci_recall_arm_seconds_sum").values()) < sum(grown("loci_recall_phase_seconds_sum").values())
    assert grown("loci_embed_seconds_count")["question"] == 1


def test_an_arm_that_was_not_asked_is_not_counted(api: Api) -> None:
    api.write("Alice knows Bob")
    before = samples(api.client)
    api.recall("whom does Alice know?", arms=["lexical"])
    after = samples(api.client)
    grown = {key[1][0] for key in after if key[0] == "loci_recall_arm_seconds_count" and after[key] > before.get(key, 0.0)}
    assert grown == {"lexical", "entities", "neighbours"}


def test_waiting_rows_are_counted_with_their_age_by_queue(idle: Api) -> None:
    with idle.service.database.admin() as admin:
        admin.execute("insert into loci_data.embedding_models (name, dimensions, active) values ('m', 8, true)")
    for n in range(3):
        idle.write(f"a memory {n}")
    with idle.service.database.admin() as admin:
        admin.execute("update loci_data.embedding_queue set enqueued_at = now() - interval '1 hour'")
        admin.execute("update loci_data.name_queue set enqueued_at = now() - interval '1 hour'")
    found = samples(idle.client)
    assert found["loci_queue_rows", ("memories",)] == 3
    assert found["loci_queue_rows", ("names",)] == 3
    assert found["loci_queue_rows", ("entities",)] == found["loci_queue_oldest_seconds", ("entities",)] == 0
    assert all(3600 <= found["loci_queue_oldest_seconds", (queue,)] < 7200 for queue in ("memories", "names"))
    with idle.service.database.admin() as admin:
        admin.execute(
            "update loci_data.embedding_queue set error = 'refused' where memory_id = (select min(id::text)::uuid from loci_data.memories)"
        )
    found = samples(idle.client)
    assert (found["loci_queue_rows", ("memories",)], found["loci_queue_refused", ("memories",)]) == (2, 1)


def test_background_work_counts_its_runs_and_what_it_got_done(api: Api) -> None:
    before = samples(api.client)
    for n in range(5):
        api.write(f"note {n}")

    def counted() -> dict[tuple[str, tuple[str, ...]], float] | None:  # once a run has ended, which is after what it commits
        after = samples(api.client)
        done = all(
            after.get(("loci_worker_rows_total", (work,)), 0) - before.get(("loci_worker_rows_total", (work,)), 0) >= 5
            and after.get(("loci_worker_seconds_count", (work,)), 0) > before.get(("loci_worker_seconds_count", (work,)), 0)
            for work in ("vectors", "feed")
        )
        return after if done else None

    after = eventually(counted)
    for work in ("vectors", "feed"):
        assert time.time() - after["loci_worker_last_success_timestamp_seconds", (work,)] < 60


def test_the_pool_and_the_process_are_seen(api: Api) -> None:
    alone = ("loci_requests_open", ())
    found = eventually(lambda: found if (found := samples(api.client))[alone] == 1 else None)  # others may be ending
    assert 1 <= found["loci_pool_connections", ("size",)] <= 5
    assert found["loci_pool_wait_seconds_count", ()] > 0
    assert found["loci_processes", ()] == 1
    assert 0 < found["loci_database_connections", ()] <= found["loci_database_connections_max", ()]
    assert found["loci_process_cpu_seconds", ()] > 0
    assert [key[1] for key in found if key[0] == "loci_schema_current" and found[key] == 1] == [(newest_revision(),)]


def test_an_invalid_index_shows(idle: Api) -> None:
    assert samples(idle.client)["loci_invalid_indexes", ()] == 0
    with idle.service.database.admin() as admin:
        admin.execute("update pg_index set indisvalid = false where indexrelid = 'loci_data.embedding_queue_waiting'::regclass")
    assert samples(idle.client)["loci_invalid_indexes", ()] == 1


def test_a_scrape_answers_while_the_database_is_away_and_says_so(idle: Api) -> None:
    assert samples(idle.client)["loci_database_up", ()] == 1
    away(idle.service.database, True)
    try:
        found = samples(idle.client)
        assert found["loci_database_up", ()] == 0
        assert found["loci_processes", ()] == 1
    finally:
        away(idle.service.database, False)
    assert samples(idle.client)["loci_database_up", ()] == 1


def away(database: Database, gone: bool) -> None:
    """Let nobody in, and end who is there; or let them in again."""
    import psycopg

    from tests.databases import url_for

    with psycopg.connect(url_for(database.admin_url, "postgres"), autocommit=True) as admin:
        admin.execute(f'alter database "{database.name}" allow_connections {not gone}')
        if gone:
            admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [database.name])


@pytest.mark.anyio
async def test_a_scrape_does_not_wait_for_a_database_that_hangs(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    import asyncio

    hanging = asyncio.Event()

    async def hang(url: str, **_: Any) -> Any:
        await hanging.wait()

    monkeypatch.setattr(observability_monitor, "read_metrics", hang)
    monkeypatch.setattr(observability_monitor, "SCRAPE_WAIT_SECONDS", 0.01)
    monitor = observability_monitor.Monitor("", api.service.app.state.loci.pool)
    async with asyncio.timeout(PATIENCE):
        assert b"loci_requests_total" in await monitor.scrape_metrics()
    await monitor.close()


@pytest.mark.parametrize("given", ["deploy-7:42", "a" * 128])
def test_a_sane_request_id_is_taken_over(api: Api, given: str) -> None:
    assert api.client.get("/memories", headers={"X-Request-Id": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "two words", "a" * 129, 'a"b', "ü"])
def test_any_other_request_id_is_replaced(api: Api, given: str) -> None:
    answer = api.client.get("/memories", headers=[(b"X-Request-Id", given.encode())])
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])


def test_a_process_that_has_just_begun_its_figures_fails_no_scrape(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(metrics.FOLDER, str(tmp_path))
    with (tmp_path / "counter_4194305.db").open("wb"):  # as it is for a moment, and for ever where the process was killed then
        MmapedDict(str(tmp_path / "counter_4194306.db")).write_value(mmap_key("seen", "seen_total", [], [], "x"), 3.0, 0.0)
        assert b"\nseen_total 3.0\n" in metrics.format_metrics()


def test_processes_that_share_a_folder_are_one_in_a_scrape_and_the_dead_are_left_out(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = "import sys; from service.observability import metrics as m; m.note_process(); m.REQUESTS.labels('GET', '/x', '200').inc(); m.POOL.labels('size').set(3); print(1, flush=True); sys.stdin.read()"
    environment = {metrics.FOLDER: str(tmp_path), "PYTHONPATH": PYTHONPATH, "PATH": ""}
    running = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"

    def seen() -> tuple[float, float, float]:
        read = "import sys; from service.observability import metrics as m; sys.stdout.write(m.format_metrics().decode())"
        text = subprocess.run([sys.executable, "-c", read], env=environment, capture_output=True, check=True).stdout.decode()
        found = {s.name: s.value for family in parsed(text) for s in family.samples}
        return found["loci_processes"], found["loci_pool_connections"], found["loci_requests_total"]

    assert seen() == (3, 9, 3)
    running[0].kill()
    running[0].wait()
    assert seen() == (2, 6, 3)
    for process in running[1:]:
        process.communicate()
