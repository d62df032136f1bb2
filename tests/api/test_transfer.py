"""Export and import of a namespace over REST: streams that are whole or broken off."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg.rows import dict_row

from db import transfer
from db.pool import JsonObject
from tests.api.clients import client_of
from tests.databases import Server
from tests.services import Api, Service, eventually, new_api, ok, problem, serve
from tests.transfer.foreign import SAMPLES, Sample
from tests.transfer.rich import fill, moments


@pytest.fixture(scope="module")
def rich(service: Service) -> str:
    """A namespace with something of everything, in this worker's service."""
    with psycopg.connect(service.database.app_url, row_factory=dict_row) as connection:
        return fill(connection, f"welt-{uuid4().hex[:8]}").name


@pytest.fixture(scope="module")
def second(server: Server) -> Iterator[Service]:
    """Another service over an empty database, without a worker, so that nothing is made anew."""
    database = server.clone("second")
    with serve(database, worker=False, max_body_bytes=4096) as running:
        yield running
    server.drop(database)


@pytest.fixture(scope="module")
def narrow(service: Service) -> Iterator[Service]:
    """A service with one connection for requests, over the database of this worker's service."""
    with serve(service.database, pool_size=1, worker=False, max_body_bytes=200_000_000) as running:
        yield running


def exported(client: httpx.Client, name: str, **params: Any) -> bytes:
    response = client.get(f"/namespaces/{name}/export", params=params)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    return response.content


def take(response: httpx.Response, received: bytearray) -> None:
    """Read a stream as far as it goes."""
    for chunk in response.iter_raw():
        received += chunk


def test_a_namespace_moves_to_another_service_over_rest_and_answers_the_same(service: Service, second: Service, rich: str) -> None:
    with service.client(**{"X-Namespace": rich}) as here, second.client(**{"X-Namespace": rich}) as there:
        eventually(lambda: ok(here.get(f"/namespaces/{rich}"))["pending_names"] == 0)
        data = exported(here, rich)
        assert len(data) > second.app.state.loci.settings.max_body_bytes  # longer than other bodies may be
        reply = ok(there.post(f"/namespaces/{rich}/import", content=data))
        assert reply["created"]
        assert sum(reply["written"].values()) == data.count(b"\n") - 2
        assert exported(there, rich).split(b"\n")[1:] == data.split(b"\n")[1:]
        query = {"query": "Wo wohnt Alice? Begriff Blatt Gebiet Ada Lovelace", "k": 20, "arms": ["lexical", "graph", "hierarchy"]}
        for as_of, known_at in [(None, None), *moments(service.database, rich, 7)]:
            asked = {**query, **({"as_of": as_of.replace("+00", "Z"), "known_at": known_at.replace("+00", "Z")} if as_of else {})}
            answers = [ok(client.post("/recall", json=asked)) for client in (here, there)]
            ours, theirs = ([r.pop(name) for r in answer["results"] for name in ("score", "relevance")] for answer in answers)
            assert answers[0]["results"] == answers[1]["results"]
            assert ours == pytest.approx(theirs, rel=1e-4)  # edges fade from one question to the next
            assert as_of or len(answers[0]["results"]) > 5
        again = ok(there.post(f"/namespaces/{rich}/import", content=data))
        assert (sum(again["written"].values()), again["created"]) == (0, False)


def test_the_worker_adds_nothing_to_a_namespace_that_it_had_read(start_service: Callable[..., Service], api: Api) -> None:
    api.write("Grace Hopper met Ada Lovelace")
    api.write("Grace Hopper wrote a compiler")
    eventually(lambda: api.size()["entities"] > 0)
    eventually(lambda: ok(api.get(f"/namespaces/{api.namespace}"))["pending_names"] == 0)
    data = exported(api.client, api.namespace)
    other = start_service(embedding={"provider": "static"})
    with other.client() as client:
        ok(client.post(f"/namespaces/{api.namespace}/import", content=data))
        eventually(lambda: ok(client.get(f"/namespaces/{api.namespace}"))["pending_embeddings"] == 0)
        assert exported(client, api.namespace).split(b"\n")[1:] == data.split(b"\n")[1:]
        assert b'"kind":"vector"' in exported(client, api.namespace, vectors=True)


def test_a_failure_in_the_middle_breaks_the_connection_off(service: Service, rich: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = transfer.export_page

    async def failing(tx: Any, *, kind: str, after: Any) -> Any:
        if kind == "edge":
            await tx.rows(JsonObject, "select 1 / 0")
        return await page(tx, kind=kind, after=after)

    monkeypatch.setattr(transfer, "export_page", failing)
    monkeypatch.setattr("service.spool.BLOCK_BYTES", 100)
    with service.client() as client:
        received = bytearray()
        with client.stream("GET", f"/namespaces/{rich}/export") as response:
            assert response.status_code == 200
            with pytest.raises(httpx.RemoteProtocolError):
                take(response, received)
        assert b'"kind":"end"' not in received
        monkeypatch.setattr("service.spool.BLOCK_BYTES", 2**20)
        problem(client.get(f"/namespaces/{rich}/export"), 422, "invalid-request")  # nothing was sent yet
        monkeypatch.undo()
        refused = problem(client.post("/namespaces/cut-off/import", content=bytes(received)), 422, "invalid-request")
        assert "it was cut off" in refused["errors"][-1]["message"]
        problem(client.get("/namespaces/cut-off"), 404, "not-found")


def test_a_reader_that_goes_away_gives_its_connection_back(narrow: Service, rich: str) -> None:
    open_ = "select count(*) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'"
    for _ in range(narrow.app.state.loci.settings.pool_size + 1):
        with narrow.client() as client, client.stream("GET", f"/namespaces/{rich}/export") as response:
            assert next(response.iter_raw())
    with narrow.database.admin() as admin:
        eventually(lambda: admin.execute(open_).fetchone() == (0,))
    with narrow.client() as client:
        assert exported(client, rich).endswith(b"}\n")


def test_an_import_that_stands_still_holds_no_connection_and_writes_nothing(narrow: Service) -> None:
    with new_api(narrow) as api:
        api.write("fact")
        data = exported(api.client, api.namespace)

        def slowly() -> Iterator[bytes]:
            yield data[: len(data) // 2]
            problem(api.get("/namespaces/stalled"), 404, "not-found")  # the only connection is free
            yield data[len(data) // 2 :]

        assert ok(api.client.post("/namespaces/stalled/import", content=slowly()))["created"]


def test_a_slow_reader_of_an_export_holds_no_connection_and_reads_one_moment(narrow: Service) -> None:
    large = {"pad": "x" * 4_000}  # metadata, whose words nobody indexes
    with new_api(narrow) as api:  # more memories than are read at once
        ok(api.post("/memories/batch", {"items": [{"content": f"{n}", "metadata": large} for n in range(1100)]}))
        with api.client.stream("GET", f"/namespaces/{api.namespace}/export") as response:
            parts = response.iter_raw()
            received = bytearray(next(parts))
            api.write("came later")  # with the only connection, though most of the export is not read
            for part in parts:
                received += part
    assert len(received) > 4_400_000  # far more than lies on the way to a reader
    assert received.count(b'"kind":"memory"') == 1100
    assert b"came later" not in received
    assert b'"kind":"end"' in received[-1000:]


@pytest.mark.parametrize("limits", [{"import_bytes": 2000}, {"spool_bytes": 2000}])
def test_an_import_too_large_for_the_disk_is_refused(service: Service, limits: dict[str, int]) -> None:
    with serve(service.database, worker=False, limits=limits) as small, new_api(small) as api:
        expected = (413, "too-large") if "import_bytes" in limits else (503, "unavailable")
        problem(api.client.post("/namespaces/large/import", content=b"x" * 3000), *expected)
        api.write("x" * 3000)
        problem(api.get(f"/namespaces/{api.namespace}/export"), *expected)
        assert api.service.app.state.loci.spools._taken == {}


def test_wrong_lines_are_named_in_a_problem(api: Api) -> None:
    api.write("one")
    first, line, *rest = exported(api.client, api.namespace).splitlines(keepends=True)
    wrong = json.dumps({**json.loads(line), "layer": 9}).encode() + b"\n"
    body = problem(api.client.post("/namespaces/wrong/import", content=b"".join([first, wrong, *rest])), 422, "invalid-request")
    assert body["errors"][0]["field"] == "line 2"
    assert "layer" in body["errors"][0]["message"]
    problem(api.get("/namespaces/wrong"), 404, "not-found")


def test_lines_that_contradict_what_is_there_are_a_conflict(api: Api) -> None:
    written = api.write("one")
    data = exported(api.client, api.namespace)
    ok(api.client.patch(f"/memories/{written['id']}", json={"importance": 0.9}))
    body = problem(api.client.post(f"/namespaces/{api.namespace}/import", content=data), 409, "conflict")
    assert body["errors"][0]["message"].startswith("memory is here with other content: ")
    assert ok(api.get(f"/memories/{written['id']}"))["importance"] == 0.9


@pytest.mark.parametrize("body", [b"", b"\n", b"{}", b"not json", b'{"kind": "memory", "content": "x"}', b"\xff\xfe", b"[1]"])
def test_a_file_that_is_no_export_is_refused_by_its_first_line(api: Api, body: bytes) -> None:
    refused = problem(api.client.post("/namespaces/nothing/import", content=body), 422, "invalid-request")
    assert refused["errors"][0]["field"] == "line 1"


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
def test_only_an_admins_key_exports_and_imports(api: Api, role: str) -> None:
    api.write("one")
    data = exported(api.client, api.namespace)
    key = ok(api.post("/keys", {"role": role, "name": role}), 201)["key"]
    with api.service.client(Authorization=f"Bearer {key}") as client:
        read = client.get(f"/namespaces/{api.namespace}/export")
        written = client.post(f"/namespaces/{api.namespace}/import", content=data)
        if role == "admin":
            assert read.content.split(b"\n")[1] == data.split(b"\n")[1]
            assert sum(ok(written)["written"].values()) == 0
        else:
            problem(read, 403, "forbidden")
            problem(written, 403, "forbidden")
        problem(client.get("/namespaces/default/export"), 403, "forbidden")
        problem(client.post("/namespaces/default/import", content=data), 403, "forbidden")
        problem(client.post("/namespaces/brand-new/import", content=data), 403, "forbidden")


def test_an_unknown_namespace_is_not_found(api: Api) -> None:
    problem(api.get("/namespaces/nowhere/export"), 404, "not-found")


def test_a_body_in_chunks_of_any_size_is_read_line_by_line(api: Api) -> None:
    for n in range(5):
        api.write(f"fact {n} ü")
    data = exported(api.client, api.namespace)
    pieces = (data[n : n + 7] for n in range(0, len(data), 7))
    reply = ok(api.client.post(f"/namespaces/{api.namespace}/import", content=pieces))
    assert reply["unchanged"]["memory"] == 5


# What other systems have written


@pytest.mark.row("X10")
@pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if sample.name in {"mem0-page", "obsidian", "chatgpt"}], ids=lambda s: s.name
)
def test_a_file_of_another_system_comes_in_over_rest_and_the_client(api: Api, sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    if path.is_dir():  # over REST, a folder is an archive
        path = Path(shutil.make_archive(str(tmp_path / "packed"), "gztar", path))
    before = exported(api.client, api.namespace).split(b"\n")[1:]
    with client_of(api.service, api.namespace) as client:
        said = client.transfer.import_from(api.namespace, path, dry_run=True)
        assert exported(api.client, api.namespace).split(b"\n")[1:] == before
        report = client.transfer.import_from(api.namespace, path, format=sample.format)
        assert (report.format, report.written, len(report.errors)) == (sample.format, said.written, report.wrong)
        assert report.written["memories"] > 0
        assert not any(client.transfer.import_from(api.namespace, path).written.values())


def test_an_unknown_format_or_a_trap_is_refused_over_rest(api: Api) -> None:
    def refused(body: bytes, **query: Any) -> str:
        answer = api.client.post(f"/namespaces/{api.namespace}/import", content=body, params={"format": "auto", **query})
        return str(problem(answer, 422, "invalid-request")["detail"])

    assert "no format that is known" in refused(b"just words")
    assert "format" in refused(b"{}", format="mem1")
    assert "damaged" in refused(b"\x1f\x8b no gzip at all")
    assert "damaged" in refused(b"PK\x03\x04 no zip at all")


def test_loose_lines_come_in_over_rest_one_operation_for_all_or_nothing_at_all(api: Api) -> None:
    body = b'{"content": "tea"}\n{"kind": "entity", "name": "Ada"}\n{"colour": "red"}\n'

    def imported(**query: Any) -> Any:
        return ok(api.client.post(f"/namespaces/{api.namespace}/import", content=body, params={"format": "auto", **query}))

    refused = imported(atomic=True)
    assert ([error["line"] for error in refused["errors"]], refused["memories"]) == ([3], 0)
    assert ok(api.get("/memories"))["items"] == []
    done = imported(format="lines")
    assert ([error["line"] for error in done["errors"]], done["memories"], done["entities"]) == ([3], 1, 1)
    operation = ok(api.get("/operations"))["items"][0]
    assert (operation["action"], operation["changes"]) == ("import_namespace", {"memory.created": 1, "entity.created": 1})


def test_a_dry_run_of_lines_says_what_the_import_then_does_and_writes_nothing(api: Api) -> None:
    body = b'{"content": "a", "lineage": "l"}\n{"content": "b", "lineage": "l"}\n[]\n{"kind": "entity", "name": "Ada"}\n'

    def imported(**query: Any) -> Any:
        found = ok(api.client.post(f"/namespaces/{api.namespace}/import", content=body, params={"format": "lines", **query}))
        return {name: value for name, value in found.items() if name not in ("seconds", "dry_run")}

    said = imported(dry_run=True)
    assert (said["memories"], said["superseded"], said["entities"], len(said["errors"])) == (2, 1, 1, 1)
    assert ok(api.get("/memories"))["items"] == ok(api.get("/entities"))["items"] == []
    assert imported() == said


def test_an_option_that_an_export_or_lines_cannot_use_is_refused(api: Api) -> None:
    exported = api.client.get(f"/namespaces/{api.namespace}/export").content
    for body, query in (
        (exported, {"format": "loci", "dry_run": True}),
        (exported, {"format": "loci", "account": "ada"}),
        (b'{"content": "a"}\n', {"format": "lines", "account": "ada"}),
        (b"create table memories", {"format": "auto", "dry_run": True}),
    ):
        answer = api.client.post(f"/namespaces/{api.namespace}/import", content=body, params=query)
        said = problem(answer, 422, "invalid-request")
    assert said["detail"] == "the body is of no format that is known"  # whatever else was stated


def test_an_export_as_markdown_is_files_and_an_end(api: Api) -> None:
    ok(api.post("/memories", {"content": "tea", "lineage": "drink"}), 201)
    found = api.client.get(f"/namespaces/{api.namespace}/export", params={"format": "markdown"})
    file, end = (json.loads(line) for line in found.content.splitlines())
    assert (file["path"].startswith("general/drink-"), file["text"].endswith("---\ntea\n"), end) == (
        True,
        True,
        {"kind": "end", "files": 1},
    )
    problem(
        api.client.get(f"/namespaces/{api.namespace}/export", params={"format": "markdown", "vectors": True}),
        422,
        "invalid-request",
    )


def test_a_writers_key_imports_what_others_have_written_and_a_readers_does_not(api: Api) -> None:
    body = b'{"type":"entity","name":"Ada","entityType":"person","observations":["Sings"]}'
    for role, status in (("reader", 403), ("writer", 200)):
        key = ok(api.post("/keys", {"role": role, "name": role}), 201)["key"]
        with api.service.client(Authorization=f"Bearer {key}") as client:
            answer = client.post(f"/namespaces/{api.namespace}/import", content=body, params={"format": "auto"})
            assert answer.status_code == status, answer.text
