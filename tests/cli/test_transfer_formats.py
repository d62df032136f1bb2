"""Files of other memory systems: told by their content, read as far as they are good, and refused where they are a trap."""

import io
import json
import random
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from loci.models.transfer import ImportFormat
from service.transfer.foreign import sources
from service.transfer.foreign.formats import FORMATS
from service.transfer.foreign.import_run import record_of
from service.transfer.foreign.recognise import recognise_format
from service.transfer.foreign.records import ImportNotes, Link, Memory, Record, Unreadable
from service.transfer.foreign.rows import Rows
from service.transfer.foreign.sources import open_source
from service.transfer.foreign.values import end_of, parse_moment
from service.transfer.reading.__main__ import read_records
from service.transfer.reading.output import Output
from tests.catalogue import ROOT
from tests.transfer.foreign import CHATGPT, CLAUDE, CLAUDE_MEMORIES, SAMPLES, Sample, mem0_history, message

OTHERS = ROOT.parent / "shared" / "import-samples"  # more of them, where there are
EXPECTED = {
    "mcp-memory.jsonl": (10, 0), "mcp-memory.broken.jsonl": (2, 4), "mem0-get-all.json": (4, 0), "mem0-pgvector-rows.jsonl": (4, 0),
    "mem0-plugin-export.broken.md": (2, 0), "langgraph-store.jsonl": (6, 0), "letta-v2.af": (4, 0), "letta-v1.af": (2, 0),
    "graphiti-dump.json": (7, 0), "graphiti-neo4j-apoc.jsonl": (4, 0), "zep-edges-page.json": (2, 0), "chatgpt-conversations.json": (3, 0),
    "chatgpt-conversations.broken.json": (0, 3), "claude-conversations.json": (2, 0), "claude-conversations.broken.json": (0, 3),
    "claude-memories.json": (4, 0), "claude-memories.broken.json": (0, 3), "claude-code-session.jsonl": (3, 0),
    "claude-code-session.broken.jsonl": (1, 2), "claude-code-memory": (3, 1), "okf": (4, 0), "okf-memanto": (4, 0), "cogx": (9, 0),
    "cogx.broken": (0, 1), "basic-memory": (11, 0), "obsidian": (4, 0), "openmemory-memories.jsonl": (3, 0), "crewai-records.json": (2, 0),
    "crewai-records.broken.json": (0, 2), "supermemory-dump.json": (4, 0), "supermemory-dump.broken.json": (0, 3), "gemini-my-activity.json": (4, 0),
    "hindsight": (5, 0), "hindsight.broken": (0, 1),
}  # fmt: skip
# In a process of its own, where nobody else allocates anything: reads a file twice and prints turns, and bytes at the most the second time.
MEASURED = """
import sys, tracemalloc
from pathlib import Path
from service.transfer.foreign.formats import FORMATS
from service.transfer.foreign.records import ImportNotes
from service.transfer.foreign.sources import open_source
def turns():
    return sum(1 for record in FORMATS["chatgpt"].read(open_source(Path(sys.argv[1])), ImportNotes()) if type(record).__name__ == "Turn")
turns()
tracemalloc.start()
print(turns(), tracemalloc.get_traced_memory()[1])
"""


def read(path: Path, name: str | None = None) -> tuple[list[Record], ImportNotes]:
    """The records of a file and what was noted."""
    notes, found = ImportNotes(), []
    source = open_source(path)
    with source.stack:
        try:
            for record in FORMATS[name or recognise_format(source) or ""].read(source, notes):
                found.append(record)  # noqa: PERF402 (what was read before an error counts)
        except Unreadable as error:
            notes.note_error(error.place, error.reason)
    return found, notes


@pytest.mark.row("X10")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_file_is_known_by_its_content_and_its_broken_items_are_named(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    source = open_source(path)
    assert recognise_format(source) == sample.format
    found, notes = read(path)
    assert Counter(type(record).__name__ for record in found) == sample.made
    assert sorted(place for place, _ in notes.errors) == sorted(sample.wrong)
    assert set(notes.no_place) == set(sample.lost)


@pytest.mark.parametrize("name", EXPECTED)
def test_samples_of_others_give_what_they_hold(name: str) -> None:
    if not OTHERS.is_dir():
        pytest.skip("there are no further samples beside this checkout")
    found, notes = read(OTHERS / name)
    assert (sum(1 for record in found if type(record).__name__ not in ("Edge", "Link")), notes.wrong) == (
        EXPECTED[name][0],
        EXPECTED[name][1],
    )


def damaged(value: Any, chance: random.Random) -> Any:
    """JSON with other values here and there, and without some."""
    if chance.random() < 0.12:
        return chance.choice([None, 1, -5, 1e40, "", [], {}, "x", [1], {"a": None}, True, "\ud800", [[]], [{}]])
    if isinstance(value, dict):
        return {key: damaged(item, chance) for key, item in value.items() if chance.random() > 0.04}
    return [damaged(item, chance) for item in value] if isinstance(value, list) else value


def retold(text: str, chance: random.Random) -> str:
    with suppress(ValueError):
        return json.dumps(damaged(json.loads(text), chance))
    with suppress(ValueError):
        return "\n".join(json.dumps(damaged(json.loads(line), chance)) for line in text.splitlines())
    letters = list(text)
    for place in range(0, len(letters), max(1, len(letters) // 5)):
        letters[place] = chance.choice('[]{}#-\n":x|&*!%')
    return "".join(letters)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_file_however_damaged_it_is_ends_in_a_report_and_in_nothing_else(sample: Sample, tmp_path: Path) -> None:
    chance = random.Random(sample.name)
    for number in range(15):
        files = {name: retold(text, chance) for name, text in sample.files.items()}
        source = open_source(replace(sample, files=files).write(tmp_path / str(number)))
        pipe, notes = io.BytesIO(), ImportNotes()
        read_records(source, sample.format, Output(pipe, 0, 2**30))
        *said, end = map(json.loads, pipe.getvalue().splitlines())
        records = [record_of(kind, fields) for _, kind, fields in said]
        rows = Rows(sample.format, "", notes)
        made = [rows.make_row(record) for record in records if not isinstance(record, Link)]
        assert all(row is None or row.place for row in made)
        notes.merge_notes(ImportNotes.from_json(end[1]))
        assert not [place for place, reason in notes.errors if place == "the file" and "not known" in reason]


def test_the_service_and_its_document_name_the_same_formats() -> None:
    assert get_args(ImportFormat) == ("loci", "auto", "lines", *FORMATS)


def test_the_history_of_mem0_is_lineages_whose_end_is_a_deletion(tmp_path: Path) -> None:
    found, notes = read(mem0_history(tmp_path / "x"))
    memories = [record for record in found if isinstance(record, Memory)]
    assert [(m.lineage, m.content) for m in memories] == [
        ("m-1", "Lives in Paris"),
        ("m-1", "Lives in London"),
        ("m-2", "Owns a canoe"),
    ]
    assert [m.valid_to for m in memories] == [None, None, parse_moment("2026-01-05T09:00:00Z", "")]
    assert [place for place, _ in notes.errors] == ["history 'h5'"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-12T00:03:11-08:00", "2026-01-12T08:03:11Z"),
        ("2026-01-12T08:03:11", "2026-01-12T08:03:11Z"),
        (1768204991, "2026-01-12T08:03:11Z"),
        (1768204991000, "2026-01-12T08:03:11Z"),
    ],
)
def test_times_are_read_as_others_write_them(value: Any, expected: str) -> None:
    assert parse_moment(value, "t") == parse_moment(expected, "t")


def test_a_date_as_an_end_means_the_end_of_that_day() -> None:
    assert end_of("2026-06-30", "t") == parse_moment("2026-07-01T00:00:00Z", "t")


# Archives


def zipped(path: Path, **members: Any) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data if isinstance(data, (str, bytes)) else json.dumps(data))
    return path


def packed(name: str, data: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, json.dumps(data))
    return buffer.getvalue()


def test_an_export_of_zips_in_a_zip_is_read_and_what_holds_persons_is_not_opened(tmp_path: Path) -> None:
    parts = {
        "conversations-000.zip": packed("conversations.json", CLAUDE),
        "memories-000.zip": packed("memories.json", CLAUDE_MEMORIES),
        "light_metadata-000.zip": packed("users.json", [{"uuid": "x", "chat_messages": "never read"}]),
    }
    found, notes = read(zipped(tmp_path / "x", **parts))
    assert Counter(type(record).__name__ for record in found) == {"Turn": 2, "Memory": 4}
    assert [place for place, _ in notes.errors if "users" in place] == []


def test_a_zip_of_chatgpt_is_read_without_its_copies(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x", **{"conversations.json": CHATGPT, "chat.html": "<p>", "user.json": {"email": "never read"}})
    assert len(read(path)[0]) == 3


def linked(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        member = zipfile.ZipInfo("notes.md")
        member.external_attr = 0o120777 << 16
        archive.writestr(member, "/etc/passwd")
    return path


def tar_linked(path: Path) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("notes.md")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    return path


TRAPS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a path that leaves it": (lambda path: zipped(path, **{"../out.md": "x"}), "leads out of the archive"),
    "an absolute path": (lambda path: zipped(path, **{"/etc/out.md": "x"}), "leads out of the archive"),
    "a link": (linked, "is a link"),
    "a link in a tar": (tar_linked, "is no file"),
    "a bomb": (lambda path: zipped(path, **{"a.json": b"0" * (sources.SMALL + 1)}), "200-fold"),
}


@pytest.mark.row("X10")
@pytest.mark.parametrize("trap", TRAPS)
def test_an_archive_that_is_a_trap_is_refused(trap: str, tmp_path: Path) -> None:
    make, reason = TRAPS[trap]
    with pytest.raises(Unreadable, match=reason):
        open_source(make(tmp_path / "x"))


def test_front_matter_that_grows_without_end_is_not_read(tmp_path: Path) -> None:
    bomb = "---\na: &a [x, x]\nb: &b [*a, *a]\n---\n# Title\n"
    (tmp_path / "x").write_text(bomb)
    assert "anchors" in " ".join(read(tmp_path / "x", "obsidian")[1].remarks)


@pytest.mark.row("X10")
def test_a_large_file_of_one_line_is_not_held_in_memory(tmp_path: Path) -> None:
    words = "many words " * 200
    turns = {str(n): message(str(n), "user", [words], str(n - 1) if n else None) for n in range(20)}
    with (tmp_path / "x").open("w") as file:
        file.write("[")
        for number in range(200):
            file.write(
                ("," if number else "") + json.dumps({"conversation_id": f"c{number}", "current_node": "19", "mapping": turns})
            )
        file.write("]")
    size = (tmp_path / "x").stat().st_size
    done = subprocess.run([sys.executable, "-c", MEASURED, tmp_path / "x"], capture_output=True, text=True, check=True, cwd=ROOT)
    count, peak = map(int, done.stdout.split())
    assert (count, size > 8_000_000, peak < size / 8) == (4000, True, True), peak


def test_a_file_that_was_cut_off_is_read_until_there(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(json.dumps(CHATGPT[:1])[:-1] + ', {"conversation_id": "g-')
    found, notes = read(tmp_path / "x")
    assert (len(found), [place for place, _ in notes.errors]) == (3, ["[1]"])
