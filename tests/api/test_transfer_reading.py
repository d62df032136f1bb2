"""Imports over REST that mean harm: nobody else waits, nothing is left on disk, and the process that reads ends with its request."""

import asyncio
import gzip
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from tests.holding import watched
from tests.services import Api, Service, eventually, new_api, ok, problem, serve

HELD = (
    0.15  # seconds of a processor that the event loop may be kept from others: 50 ms, and as much again twice where others share it
)
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a service may unpack."""
    return tmp_path_factory.mktemp("spool")


@pytest.fixture(scope="module")
def reading(service: Service, folder: Path) -> Iterator[Service]:
    """A service with little room, over the database of this worker's service."""
    limits = {"import_bytes": 32 * MIB, "spool_bytes": 64 * MIB, "spool_dir": str(folder)}
    with serve(service.database, worker=False, limits=limits) as running:
        yield running


@pytest.fixture
def api(reading: Service) -> Iterator[Api]:
    """Its client."""
    with new_api(reading) as made:
        yield made


def children() -> set[int]:
    """Processes of this one that read imports."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"service.transfer.reading" in (path / "cmdline").read_bytes():
                stat = (path / "stat").read_text().rpartition(")")[2].split()
                if int(stat[1]) == os.getpid() and stat[0] != "Z":
                    found.add(int(path.name))
    return found


def packed(data: bytes) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.zip", data)
    return buffer.getvalue()


BODIES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "blank lines": ("lines", lambda: b"\n" * (8 * MIB)),
    "wrong lines": ("lines", lambda: b"x\n" * 100_000),
    "lines of many fields": ("lines", lambda: b'{"content":"a",' + b",".join(b'"%d":1' % n for n in range(11_000)) + b"}"),
    "lists in metadata": ("lines", lambda: b'{"content":"a","metadata":{"m":[' + b"[]," * 11_000 + b"1]}}\n"),
    "levels": ("auto", lambda: b"[" * MIB),
    "line breaks": ("basic-memory", lambda: b"---\npermalink: x\n---\n" + b"\n" * 100_000 + b"x"),
    "an export of blank lines": ("loci", lambda: b"\n" * (4 * MIB)),
    "an export of one line": ("loci", lambda: b'{"kind":"namespace","format":"loci","a":[' + b"[]," * MIB + b"1]}\n"),
    "packed blanks": ("lines", lambda: gzip.compress(b" " * 15 * MIB, 1)),
    "a wrong kind": ("lines", lambda: b'{"kind":"' + b"m" * MIB + b'"}\n'),
    "many items": ("mem0", lambda: json.dumps([{"id": str(n), "memory": "Likes tea"} for n in range(2000)]).encode()),
}


@pytest.mark.parametrize("body", BODIES)
def test_no_import_keeps_the_service_from_others(api: Api, body: str) -> None:
    name, make = BODIES[body]
    assert api.service.loop is not None
    data = make()
    with watched(api.service.loop) as most:
        reply = api.client.post(f"/namespaces/{api.namespace}/import", params={"format": name}, content=data)
    assert reply.status_code in (200, 422), reply.text
    assert len(reply.content) < MIB
    assert most.thread < HELD


def test_the_first_thousand_wrong_lines_are_named_and_all_are_counted(api: Api) -> None:
    data = b'{"content":"good"}\n' + b"wrong\n" * 3000 + b'{"content":""}\n' * 10
    report = ok(api.client.post(f"/namespaces/{api.namespace}/import", params={"format": "lines"}, content=data))
    assert (report["memories"], report["wrong"], len(report["errors"]), report["lines"]) == (1, 3010, 1000, 3011)
    assert [error["line"] for error in report["errors"]] == list(range(2, 1002))


def test_unpacked_bytes_count_like_sent_ones_and_lie_in_the_spool(api: Api, folder: Path) -> None:
    spools = api.service.app.state.loci.spools
    data = gzip.compress((os.urandom(8000).replace(b"\n", b" ") + b" " * MIB) * 33, 1)
    refused = api.client.post(f"/namespaces/{api.namespace}/import", params={"format": "lines"}, content=data)
    assert "unpacked import is larger" in problem(refused, 413, "too-large")["detail"]
    eventually(lambda: spools._taken == {} and not list(folder.iterdir()))


def test_a_zip_in_a_zip_is_counted_when_it_is_unpacked(api: Api) -> None:
    inner = b"PK\x03\x04" + (os.urandom(8000) + b" " * MIB) * 33
    refused = api.client.post(f"/namespaces/{api.namespace}/import", params={"format": "auto"}, content=packed(inner))
    assert "unpacked import is larger" in problem(refused, 413, "too-large")["detail"]
    spools = api.service.app.state.loci.spools
    eventually(lambda: spools._taken == {})


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_the_process_that_reads_ends_when_its_client_leaves(api: Api) -> None:
    endless = b'{"content":"a"}\n' * 200_000
    address = f"/namespaces/{api.namespace}/import"
    with api.service.client() as leaving, pytest.raises(httpx.ReadTimeout):
        leaving.post(address, params={"format": "lines", "dry_run": True}, content=endless, timeout=httpx.Timeout(60, read=3))
    eventually(lambda: not children())
    assert ok(api.get("/memories"))["items"] == []


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_the_process_that_reads_ends_with_its_deadline(service: Service) -> None:
    with serve(service.database, worker=False, deadlines={"imports": 1.5}) as hurried, new_api(hurried) as api:
        data = b'{"content":"a"}\n' * 200_000
        reply = api.client.post(f"/namespaces/{api.namespace}/import", params={"format": "lines", "dry_run": True}, content=data)
        problem(reply, 504, "deadline-exceeded")
        eventually(lambda: not children())


def test_a_key_has_half_of_the_turns_and_the_others_are_for_others() -> None:
    from service.settings import LimitSettings
    from service.spool import Spools

    async def taken() -> list[str]:
        spools, order = Spools(LimitSettings(readers=2)), []
        held = asyncio.Event()

        async def read(owner: bytes, name: str) -> None:
            async with spools.wait_for_turn(owner):
                order.append(name)
                await held.wait()

        tasks = [asyncio.create_task(read(owner, name)) for owner, name in ((b"a", "a1"), (b"a", "a2"), (b"b", "b1"), (b"c", "c1"))]
        await asyncio.sleep(0.05)
        first = list(order)
        held.set()
        await asyncio.gather(*tasks)
        return first

    assert asyncio.run(taken()) == ["a1", "b1"]


def test_a_small_import_is_not_slow_to_begin(api: Api) -> None:
    """The process loads readers alone: half a second of a processor would be seen here, whatever else the machine does."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ok(api.client.post(f"/namespaces/{api.namespace}/import", params={"format": "lines"}, content=b'{"content":"a"}\n'))
    eventually(lambda: not children())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 0.5
