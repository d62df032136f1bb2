"""The process that reads imports: what it may not do, and what hostile files cost it."""

import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from service.transfer.foreign.records import MOST_ERRORS, MOST_KINDS, ImportNotes, Unreadable
from service.transfer.foreign.sources import FilledLines, open_source
from service.transfer.foreign.sqlite import read_history, store_rows
from service.transfer.reading.__main__ import read_records
from service.transfer.reading.confinement import NICENESS
from service.transfer.reading.job import AUTO, LINES, Job
from service.transfer.reading.output import Output, Refused
from tests.transfer.foreign import message

MIB = 1024 * 1024
PATIENCE = 120


def said(path: Path, format: str = AUTO, **limits: int) -> tuple[list[Any], int]:
    """What a process says of a file, and how it ended; it is given all the room that it asks for."""
    with path.open("rb") as file, tempfile.TemporaryDirectory() as folder:
        given = {"memory": 256 * MIB, "seconds": 60, "output": 1024 * MIB, **limits}
        job = Job(file.fileno(), format, folder, **given)
        command = [sys.executable, "-I", "-m", "service.transfer.reading", json.dumps(asdict(job))]
        done = subprocess.run(
            command,
            check=False,
            input=b"+" * 10_000,
            capture_output=True,
            pass_fds=(file.fileno(),),
            env={},
            cwd="/",
            timeout=PATIENCE,
        )
        assert not list(Path(folder).iterdir())
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


# What it gave up

CONFINED = """
import ctypes, os, socket, subprocess, sys, tempfile, threading
from service.transfer.reading.confinement import confine_process, limit_memory
limit_memory(256 << 20)
libc = ctypes.CDLL(None, use_errno=True)
libc.socket, libc.execve, libc.open  # found before the interpreter refuses to look
confine_process(sys.argv[1], 1 << 20)
try:
    print("done", {})
except BaseException as error:
    print(type(error).__name__)
"""
ATTEMPTS = {
    "a socket": "socket.socket()",
    "a pair of sockets": "socket.socketpair()",
    "a program": "subprocess.run(['/bin/true'])",
    "a program in its place": "os.execv('/bin/true', ['true'])",
    "a copy of itself": "os.fork()",
    "a signal": "os.kill(os.getppid(), 0)",
    "a file elsewhere": "open(sys.argv[2] + '/x', 'w')",
    "a file that is there": "open(sys.argv[2] + '/kept', 'a')",
    "the end of a file elsewhere": "os.remove(sys.argv[2] + '/kept')",
    "a folder": "os.mkdir(sys.argv[1] + '/x')",
    "a file that is too large": "tempfile.TemporaryFile(dir=sys.argv[1]).write(bytes(2 << 20))",
    "memory": "len(bytearray(300 << 20))",
}


def attempt(code: str, tmp_path: Path) -> str:
    for name in ("spool", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "elsewhere" / "kept").write_text("kept")
    command = [sys.executable, "-c", CONFINED.format(code), str(tmp_path / "spool"), str(tmp_path / "elsewhere")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert (tmp_path / "elsewhere" / "kept").read_text() == "kept"
    assert [each.name for each in (tmp_path / "elsewhere").iterdir()] == ["kept"]
    return done.stdout.strip() or done.stderr


@pytest.mark.parametrize("what", ATTEMPTS)
def test_a_process_that_reads_has_no_network_no_programs_and_no_files_but_its_own(what: str, tmp_path: Path) -> None:
    if what == "memory" and sys.platform != "linux":
        pytest.skip("the system keeps no limit of memory")
    assert attempt(ATTEMPTS[what], tmp_path) in ("PermissionError", "OSError", "MemoryError")


def test_it_may_write_to_its_own_folder(tmp_path: Path) -> None:
    assert attempt("tempfile.TemporaryFile(dir=sys.argv[1]).write(b'x')", tmp_path) == "done 1"


def test_a_process_that_reads_begins_without_what_models_need() -> None:
    """To load pydantic would take as long as to begin without it."""
    asked = "import sys, service.transfer.reading.__main__; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-I", "-c", asked], check=False).returncode == 0


@pytest.mark.parametrize("leads", [True, False])
def test_it_stands_back_behind_others_with_its_session_where_it_leads_one(leads: bool, tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", CONFINED.format("os.nice(0), *open('/proc/self/autogroup')"), str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        start_new_session=leads,
    ).stdout.split()
    if said == ["FileNotFoundError"]:
        pytest.skip("this kernel keeps no groups of sessions")
    assert said[:2] == ["done", str(min(os.nice(0) + NICENESS, 19))]
    if said[2:]:  # a session that was there before the kernel began with groups has none
        assert said[-1] == (str(NICENESS) if leads else Path("/proc/self/autogroup").read_text().split()[-1])


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel keeps these promises on Linux alone")
@pytest.mark.parametrize(
    "call",
    ["libc.socket(2, 1, 0)", "libc.execve(b'/bin/true', None, None)", "libc.open(sys.argv[2].encode() + b'/x', 0o101, 0o600)"],
)
def test_the_kernel_refuses_what_the_interpreter_would_not_see(call: str, tmp_path: Path) -> None:
    assert attempt(call, tmp_path) == "done -1"


# What is wrong with the whole


def lines_file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_an_import_that_takes_more_memory_than_allowed_is_refused(tmp_path: Path) -> None:
    path = lines_file(tmp_path / "x.af", b'{"agents": [], "blocks": [' + b"[]," * (20 * MIB) + b"1]}")
    found, code = said(path, "letta", memory=128 * MIB)
    assert (found[-1][:2], code) == (["refused", "memory"], 0) if found[-1][0] == "refused" else code != 0


def test_a_reader_that_takes_more_processor_time_than_allowed_is_ended(tmp_path: Path) -> None:
    path = lines_file(tmp_path / "x", b'{"content": "a"}\n' * (2 * MIB))
    found, code = said(path, LINES, seconds=1)
    assert code < 0
    assert found[-1][0] != "end" if found else True


def test_an_import_that_grows_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of one megabyte that a thousand agents have."""
    block = {"id": "b", "label": "l", "value": "x" * 1_000_000}
    agents = [{"name": f"a{n}", "block_ids": ["b"]} for n in range(1000)]
    path = lines_file(tmp_path / "x.af", json.dumps({"agents": agents, "blocks": [block]}).encode())
    found, code = said(path, "letta", output=20 * MIB)
    assert (found[-1][:2], code, len(found)) == (["refused", "large"], 0, 22)
    monkeypatch.setattr("service.transfer.reading.output.FREE", 2 * MIB)
    monkeypatch.setattr("service.transfer.reading.output.GROWTH", 20)
    output = Output(io.BytesIO(), 0, 2**40)
    output.allow_for(path.stat().st_size)
    with pytest.raises(Refused, match="grows without limit"):
        read_records(open_source(path), "letta", output)


@pytest.mark.parametrize("what", ["values", "levels"])
def test_a_row_that_would_hold_up_the_service_is_an_error_of_its_own(what: str, tmp_path: Path) -> None:
    inner = b"[" + b"[]," * 20_000 + b"1]" if what == "values" else b'{"a":' * 300 + b"1" + b"}" * 300
    found, _ = said(lines_file(tmp_path / "x", b'{"content":"a","metadata":{"m":' + inner + b'}}\n{"content":"b"}\n'), LINES)
    assert [frame[2] for frame in found if frame[0] == "row"] == [2]
    assert [(place, what in reason) for place, reason in found[-1][1]["errors"]] == [("1", True)]


def test_errors_and_what_is_left_out_are_capped_and_counted(tmp_path: Path) -> None:
    found, _ = said(lines_file(tmp_path / "x", b"x\n\n" * 50_000), LINES)
    assert (found[-1][1]["lines"], found[-1][1]["wrong"], len(found[-1][1]["errors"])) == (100_000, 50_000, MOST_ERRORS)
    notes = ImportNotes()
    for number in range(3000):
        notes.count_omission(f"lines of type {number}{'x' * 5000}")
        notes.add_remark(f"{number}{'x' * 5000}")
        notes.note_error("p" * 5000, "r" * 5000)
    assert (len(notes.skipped), sum(notes.skipped.values()), len(notes.remarks)) == (MOST_KINDS + 1, 3000, MOST_KINDS)
    assert len(json.dumps([notes.errors, dict(notes.skipped), list(notes.remarks)])) < 3 * MIB


# SQLite

PROGRAMS = {
    "a view": ["create view {} as with recursive t(n) as (select 1 union all select n + 1 from t) select n as id from t"],
    "a generated column": [
        "create table {}(id, memory_id, prefix, key, new_memory as (hex(zeroblob(4000000))))",
        "insert into {}(id, memory_id) values (1, 2)",
    ],
    "a stored generated column": [
        "create table {}(id, memory_id, prefix, key, new_memory as (hex(zeroblob(10))) stored)",
        "insert into {}(id, memory_id) values (1, 2)",
    ],
    "a virtual table": ["create virtual table {} using fts5(memory_id, prefix, key)"],
}


@pytest.mark.parametrize("table", ["history", "store"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_table_that_is_a_program_is_refused_in_every_format(program: str, table: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x") as connection:
        for statement in PROGRAMS[program]:
            connection.execute(statement.format(table))
    connection.close()
    source = open_source(tmp_path / "x")
    with pytest.raises(Unreadable, match=r"generated columns|virtual table"):
        list(read_history(source, ImportNotes()) if table == "history" else store_rows(source.files[0]))


def test_nothing_but_reading_is_done_in_a_database(tmp_path: Path) -> None:
    """An index on an expression is a program, too; it is not asked for."""
    with sqlite3.connect(tmp_path / "x") as connection:
        connection.execute("create table history(id, memory_id, new_memory, event)")
        connection.execute("create index i on history(hex(zeroblob(length(new_memory))))")
        connection.execute("insert into history values ('h', 'm', 'Likes tea', 'ADD')")
    connection.close()
    assert [memory.content for memory in read_history(open_source(tmp_path / "x"), ImportNotes())] == ["Likes tea"]  # type: ignore[union-attr]


# What hostile files cost


def noted(body: str) -> bytes:
    return ("---\npermalink: x\n---\n" + body).encode()


def claude_lines(text: str) -> bytes:
    return json.dumps({"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": text}}).encode()


def chat(text: str) -> bytes:
    return json.dumps(
        [{"conversation_id": "c", "current_node": "1", "mapping": {"1": message("1", "user", [text], None)}}]
    ).encode()


def answers(count: int) -> bytes:
    """One answer in many pieces."""
    item = {"type": "assistant", "sessionId": "s", "message": {"id": "m", "role": "assistant", "content": "word " * 40}}
    return b"\n".join(json.dumps({**item, "uuid": str(number)}).encode() for number in range(count))


def zipped(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def tarred(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


HOSTILE: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "line breaks": ("basic-memory", lambda n: noted("\n" * n + "x")),
    "blanks behind a list": ("basic-memory", lambda n: noted("- [a] #x y" + " " * n + "z")),
    "blanks before a tag": ("basic-memory", lambda n: noted("- [a] y" + (" " * 50 + "z") * (n // 50) + " #x")),
    "brackets at the end": ("basic-memory", lambda n: noted("- [a] #x y" + " (" * (n // 2) + ")")),
    "relations that do not end": ("basic-memory", lambda n: noted('- "a\n' * (n // 5))),
    "comments that do not end": ("basic-memory", lambda n: noted("<!--" * (n // 4))),
    "comments of two kinds": ("obsidian", lambda n: ("%%%<!--" * (n // 7)).encode()),
    "fences that do not end": ("basic-memory", lambda n: noted("```\n" + "~~~x\n" * (n // 5))),
    "quoted code that does not end": ("obsidian", lambda n: ("`a\n" * (n // 3)).encode()),
    "links that do not end": ("obsidian", lambda n: ("[[" * (n // 4) + "[](a" * (n // 8) + '[a](b "' * (n // 14)).encode()),
    "blanks in a link": ("obsidian", lambda n: ("[a](b" + " " * n).encode()),
    "tags": ("obsidian", lambda n: ("#" + "1" * (n // 2) + "#1/-" * (n // 8)).encode()),
    "many notes of one name": ("obsidian", lambda n: zipped({f"{k}/x.md": "[[x]] [[y]] text" for k in range(n // 200)})),
    "many notes of one title": ("obsidian", lambda n: zipped({f"{k}.md": "---\ntitle: a\n---\n[a](a.md)" for k in range(n // 200)})),
    "many hidden folders": ("obsidian", lambda n: zipped({f".{k}/{k}/x.md": "text" for k in range(n // 200)})),
    "a deep folder": ("obsidian", lambda n: zipped({f"{k}/" + "a/" * 98 + "x.md": "text" for k in range(n // 2000)})),
    "entries": ("okf", lambda n: b"---\ntype: x\n---\na\n<!-- okf-entry -->" + b"\n" * n + b"x"),
    "properties": ("obsidian", lambda n: ("---\na: " + "[" * 90 + "]" * 90 + "\nb: '" + "\\x" * (n // 8) + "'\n---\nx").encode()),
    "citations that do not end": ("chatgpt", lambda n: chat("\ue200" * (n // 6) + "【" * (n // 6))),
    "what programs wrote": ("claude-code", lambda n: claude_lines("<system-reminder>" * (n // 17))),
    "many kinds of what programs wrote": ("claude-code", lambda n: claude_lines("".join(f"<bash-{k}>" for k in range(n // 10)))),
    "an answer in many pieces": ("claude-code", lambda n: answers(n // 100)),
    "headings": ("claude", lambda n: json.dumps({"conversations_memory": "# \n" * (n // 6) + "**" * (n // 6)}).encode()),
    "markup that does not end": (
        "gemini",
        lambda n: json.dumps(
            [{"header": "Gemini Apps", "title": "Asked x", "time": "2026-01-01T00:00:00Z", "safeHtmlItem": [{"html": "<br" * (n // 3)}]}]
        ).encode(),
    ),
    "a chain of replacements": (
        "mem0",
        lambda n: b"\n".join(json.dumps({"id": str(k), "memory": "x", "replaced_by": str(k + 1)}).encode() for k in range(n // 100)),
    ),
    "lines that are wrong": ("mcp-memory", lambda n: b'{"type":"entity","name":"a","entityType":"t","observations":[]}\n' + b"x\n" * (n // 8)),
    "an endless kind": ("claude-code", lambda n: b"\n".join(json.dumps({"type": str(k)}).encode() for k in range(n // 50))),
    "levels": ("letta", lambda n: b"[" * n),
    "a long number": ("mem0", lambda n: b'{"memories":[' + b"9" * n + b"]}"),
    "folders of a tar": ("obsidian", lambda n: tarred({f"{k}/{k}/x.md": "text" for k in range(n // 500)})),
    "documents with a long name": (
        "hindsight",
        lambda n: zipped(
            {
                "manifest.json": '{"schema_version": 1, "source_bank_id": "b"}',
                "documents/a.json": json.dumps({"id": "i" * n, "facts": [{"fact_type": "world", "text": "x"}] * (n // 1000)}),
            }
        ),
    ),
    "a permalink of many observations": (
        "basic-memory", lambda n: f"---\npermalink: {'p' * min(n // 4, 60_000)}\n---\n{'- [a] b #c{}' * 0}".encode() + b"- [a] b #c\n" * (n // 200),
    ),
}  # fmt: skip
SIZE, TIMES = 60_000, 4


def cost(format: str, data: bytes, path: Path) -> float:
    """Processor time that reading a file takes, at the least of three times."""
    path.write_bytes(data)

    def once() -> float:
        began = time.thread_time()
        try:
            source = open_source(path)
            with source.stack:
                read_records(source, format, Output(io.BytesIO(), 0, 2**31))
        except Unreadable:
            pass
        return time.thread_time() - began

    return min(once() for _ in range(5))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_reading_costs_no_more_than_its_length(hostile: str, tmp_path: Path) -> None:
    name, make = HOSTILE[hostile]
    small, large = (cost(name, make(size), tmp_path / "x") for size in (SIZE, TIMES * SIZE))
    assert large < 3 * TIMES * max(small, 0.002), (small, large)  # the square would be 16-fold


def test_levels_of_properties_cost_little_however_short_the_note_is(tmp_path: Path) -> None:
    """A parser of YAML looks at all that are open for each token: a thousand levels took a second, in 2 KB."""
    levels = [cost("obsidian", f"---\na: {'[' * n}{']' * n}\n---\ntext".encode(), tmp_path / "x") for n in (60, 1200, 5000)]
    assert max(levels) < 0.2, levels


def test_every_format_has_a_hostile_file() -> None:
    """Those that share a reader of lists and lines are read by one of them."""
    assert {name for name, _ in HOSTILE.values()} >= {
        "basic-memory", "obsidian", "okf", "chatgpt", "claude", "claude-code", "gemini", "mem0", "mcp-memory", "letta", "hindsight",
    }  # fmt: skip


@pytest.mark.parametrize("data", [b"\n" * 50, b" \n\r\n a\n\n", b"a", b"\n\nb\nc d\n  ", b"x" * 9 + b"\n" + b"y" * 8], ids=repr)
@pytest.mark.parametrize("block", [1, 2, 3, MIB])
def test_lines_keep_their_numbers_whatever_is_blank_between(data: bytes, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.transfer.foreign.sources.MIB", block)
    found = FilledLines(io.BytesIO(data), 8)
    every = io.BytesIO(data).readlines()
    assert list(found) == [(n, line if len(line) <= 8 else None) for n, line in enumerate(every, 1) if not line.isspace()]
    assert found.count == len(every)


def test_blank_lines_cost_next_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress((b"\n" * MIB + os.urandom(8000).replace(b"\n", b"")) * 100))
    began = time.perf_counter()
    found, code = said(tmp_path / "x.gz", LINES)
    assert (code, found[-1][0], found[-1][1]["lines"] > 100 * MIB) == (0, "end", True)
    assert time.perf_counter() - began < PATIENCE / 2
