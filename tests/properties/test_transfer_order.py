"""A law: whatever order the files and lines of another system come in, and however many files they are, the same is current."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, LiteralString, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from service.transfer.foreign.formats import FORMATS
from service.transfer.foreign.records import Memory, Turn
from service.transfer.foreign.rows import Rows
from service.transfer.foreign.values import replace_unstorable
from tests.cli.test_transfer_formats import read
from tests.factories import Row, World, day, new_world
from tests.transfer.foreign import rows


class Version(NamedTuple):
    """What a system said of something from a day on; `since`: the day of its first version."""

    key: str
    at: int
    since: int
    text: str


@dataclass(frozen=True)
class Kind:
    """A kind of file: what it is read as, and how versions are written into it."""

    format: str
    write: Callable[[Path, list[Version]], object]
    whole: bool = False  # a file may hold several versions of one thing


def at(number: int) -> str:
    return day(number).isoformat()


def changed(version: Version) -> str | None:
    return at(version.at) if version.at > version.since else None


def lines_of(make: Callable[[Version], Any]) -> Callable[[Path, list[Version]], object]:
    return lambda path, found: path.write_text(rows(*(make(version) for version in found)))


def listed(make: Callable[[Version], Any], wrap: Callable[[list[Any]], Any] = list) -> Callable[[Path, list[Version]], object]:
    return lambda path, found: path.write_text(json.dumps(wrap([make(version) for version in found])))


def mem0(version: Version) -> Any:
    return {"id": version.key, "memory": version.text, "created_at": at(version.since), "updated_at": changed(version)}


def history(path: Path, found: list[Version]) -> None:
    """The rows of versions, in the order given; each follows from the one that was written before it."""
    with sqlite3.connect(path) as made:
        made.execute(
            "create table history (id text, memory_id text, old_memory text, new_memory text, event text, created_at text, updated_at text)"
        )
        for version in found:
            before = max(
                (each for each in found if each.key == version.key and each.at < version.at), key=lambda v: v.at, default=None
            )
            made.execute(
                "insert into history values (?, ?, ?, ?, ?, ?, ?)",
                (
                    f"h-{version.key}-{version.at}", version.key, before and before.text, version.text,
                    "UPDATE" if before else "ADD", at(version.since), at(version.at),
                ),
            )  # fmt: skip
    made.close()


def supermemory(version: Version) -> Any:
    return {
        "id": f"{version.key}-{version.at}",
        "rootMemoryId": version.key,
        "memory": version.text,
        "version": version.at,
        "createdAt": at(version.at),
    }


def noted(front: Callable[[Version], str]) -> Callable[[Path, list[Version]], object]:
    def write(path: Path, found: list[Version]) -> None:
        path.mkdir()
        for version in found:
            (path / f"{version.key}.md").write_text(f"---\n{front(version)}\n---\n{version.text}\n")

    return write


def letta(version: Version) -> Any:
    return {"label": version.key, "value": version.text, "created_at": at(version.since), "updated_at": changed(version)}


def cogx(path: Path, found: list[Version]) -> None:
    path.mkdir()
    (path / "manifest.json").write_text('{"cogx_version": "0.1"}')
    stated = [
        {"kind": "memory", "external_id": v.key, "content": v.text, "created_at": at(v.since), "updated_at": at(v.at)}
        for v in found
    ]
    (path / "memories.jsonl").write_text(rows(*stated))


def graphiti(version: Version) -> Any:
    ends = {"source_node_uuid": "a", "target_node_uuid": "b", "source_node_name": "Ada", "target_node_name": "Loom"}
    times = {"valid_at": at(version.at), "created_at": at(version.since), "expired_at": changed(version)}
    return {"uuid": version.key, "name": "USES", "fact": version.text, **times, **ends}


KINDS = {
    "mem0 pages": Kind("mem0", listed(mem0, lambda items: {"results": items})),
    "mem0 rows": Kind("mem0", lines_of(lambda v: {"id": v.key, "payload": {**mem0(v), "data": v.text, "memory": None}})),
    "mem0 history": Kind("mem0-history", history, whole=True),
    "langgraph": Kind("langgraph", lines_of(lambda v: {"prefix": "a", "key": v.key, "value": {"content": v.text}, "created_at": at(v.since), "updated_at": at(v.at)})),
    "openmemory": Kind("openmemory", lines_of(lambda v: {"id": v.key, "content": v.text, "state": "active", "created_at": at(v.since), "updated_at": at(v.at)})),
    "supermemory": Kind("supermemory", listed(supermemory, lambda items: {"documents": [], "memories": items}), whole=True),
    "letta blocks": Kind("letta", listed(letta, lambda items: {"agent_type": "x", "version": "0.6.47", "name": "desk", "core_memory": items, "messages": []})),
    "letta passages": Kind("letta", listed(lambda v: {"id": v.key, "text": v.text, "archive_id": "a", "is_deleted": False, "created_at": at(v.since), "updated_at": at(v.at)})),
    "claude memory files": Kind("claude", listed(lambda v: {"path": f"/{v.key}.md", "content": v.text, "updated_at": at(v.at)}, lambda items: [{"conversations_memory": "", "project_memories": {}, "account_uuid": "a", "memory_files": items}])),
    "claude code notes": Kind("claude-code", noted(lambda v: f"name: {v.key}\nmetadata:\n  node_type: memory\n  type: project\n  modified: {at(v.at)}")),
    "okf": Kind("okf", noted(lambda v: f"type: Thing\ntitle: {v.key}\ngenerated: {{by: a/1, at: {at(v.at)}}}")),
    "basic-memory": Kind("basic-memory", noted(lambda v: f"title: {v.key}\npermalink: {v.key}\ntype: note\ncreated: {at(v.since)}\nmodified: {at(v.at)}")),
    "cogx": Kind("cogx", cogx),
    "graphiti facts": Kind("graphiti", listed(graphiti)),
}  # fmt: skip
FAMILIES = [*([name] for name in KINDS), ["mem0 pages", "mem0 rows", "mem0 history"]]
WRITTEN_BY: dict[type[Memory | Turn], LiteralString] = {
    Memory: "select loci_api.import_memories(%(ns)s, %(items)s)",
    Turn: "select loci_api.import_turns(%(ns)s, %(items)s)",
}
STANDING = """select m.lineage, m.content, m.valid_from, m.valid_to from loci_data.memories m
               where m.namespace_id = %(ns_id)s and m.status = 'active' and (m.valid_to is null or m.valid_to > m.valid_from)
               order by m.lineage, m.valid_from"""


def land(world: World, format: str, path: Path) -> None:
    """Import a file, as the service does but for the processes between."""
    found, notes = read(path, format)
    make = Rows(FORMATS[format].system, "", notes).make_row
    for kind, call in WRITTEN_BY.items():
        of_kind = [replace(record, metadata=replace_unstorable(record.metadata)[0]) for record in found if isinstance(record, kind)]
        made = [row.item for record in of_kind if (row := make(record)) is not None]
        if made:
            world.rows(call, items=Jsonb(made))
    assert notes.errors == []


def landed(world: World, files: list[tuple[str, list[Version]]]) -> list[Row]:
    """What holds after these files, each of a kind, were imported one after the other."""
    with TemporaryDirectory() as folder:
        for number, (kind, found) in enumerate(files):
            path = Path(folder) / str(number) / "notes"  # what a folder is called may count
            path.parent.mkdir()
            KINDS[kind].write(path, found)
            land(world, KINDS[kind].format, path)
    return world.rows(STANDING)


def files_of(versions: list[Version], kinds: list[str]) -> list[tuple[str, list[Version]]]:
    """Each version in a file of its own, or all of them in one where a kind holds that."""
    return [
        (kind, part)
        for kind in kinds
        for part in ([versions] if KINDS[kind].whole and versions else [[version] for version in versions])
    ]


def world_of(days: dict[str, dict[int, str]]) -> list[Version]:
    return [Version(key, n, min(said), text) for key, said in days.items() for n, text in sorted(said.items())]


def expected(versions: list[Version]) -> list[tuple[str, datetime, datetime | None]]:
    """Of what has several versions: each from when it was written until the next one was."""
    found: list[tuple[str, datetime, datetime | None]] = []
    for key in {version.key for version in versions}:
        chain = [version for version in versions if version.key == key]
        if len(chain) > 1:
            found += [(one.text, day(one.at), day(two.at)) for one, two in pairwise(chain)]
            found.append((chain[-1].text, day(chain[-1].at), None))
    return sorted(found, key=lambda row: (row[1], row[0]))


def several(found: list[Row]) -> list[tuple[str, datetime, datetime | None]]:
    many = [row for row in found if sum(other["lineage"] == row["lineage"] for other in found) > 1]
    return sorted(((row["content"], row["valid_from"], row["valid_to"]) for row in many), key=lambda row: (row[1], row[0]))


THREE = world_of({"m1": {1: "Lives in Porto", 40: "Lives in Braga", 90: "Lives in Faro"}, "m2": {7: "Owns a canoe"}})


@pytest.mark.parametrize("kinds", FAMILIES, ids=" and ".join)
@pytest.mark.parametrize("order", ["forward", "backward", "newest first and last"])
def test_files_land_by_their_own_times_in_any_order(world: World, kinds: list[str], order: str) -> None:
    files = files_of(THREE, kinds)
    files = {"forward": files, "backward": files[::-1], "newest first and last": [files[-1], *files[:-1], files[-1]]}[order]
    found = landed(world, files)
    assert several(found) == expected(THREE)
    assert [row["content"] for row in found if row["valid_to"] is None and row["content"] != "Owns a canoe"] == ["Lives in Faro"]


days = st.dictionaries(
    st.sampled_from(["m1", "m2"]),
    st.dictionaries(
        st.integers(1, 60), st.sampled_from(["Lives in Porto.", "Lives in Braga.", "Lives in Faro."]), min_size=1, max_size=4
    ),
    min_size=1,
)


@given(days, st.sampled_from(FAMILIES), st.data())
def test_the_order_of_files_and_lines_changes_nothing(
    world: World, said: dict[str, dict[int, str]], kinds: list[str], data: st.DataObject
) -> None:
    versions = world_of(said)
    files: list[tuple[str, list[Version]]] = []
    for kind in kinds:
        left = data.draw(st.permutations(versions))
        while left:
            part = left if KINDS[kind].whole else list({version.key: version for version in left}.values())
            files.append((kind, part))
            left = [version for version in left if version not in part]
    found = landed(new_world(world.connection), data.draw(st.permutations(files)))
    assert several(found) == expected(versions)
    assert {row["content"] for row in found if row["valid_to"] is None} == {max(each.items())[1] for each in said.values()}


def test_an_older_file_does_not_end_a_later_statement(world: World) -> None:
    landed(world, [("mem0 pages", [THREE[1]])])
    world.write("Lives in Lisbon", lineage="mem0/m1")
    found = landed(world, [("mem0 pages", [THREE[0]])])
    assert [(row["content"], row["valid_to"] is None) for row in found] == [
        ("Lives in Porto", False), ("Lives in Braga", False), ("Lives in Lisbon", True),
    ]  # fmt: skip


def test_a_forgotten_memory_does_not_give_way_to_an_older_file(world: World) -> None:
    landed(world, [("mem0 pages", [THREE[1]])])
    (row,) = world.rows("select m.id from loci_data.memories m where m.namespace_id = %(ns_id)s")
    world.forget(row["id"])
    assert [row["valid_to"] is None for row in landed(world, [("mem0 pages", [THREE[0]])])] == [False]


def test_beliefs_from_before_a_file_are_known_afterwards(world: World) -> None:
    landed(world, [("mem0 pages", [THREE[1]])])
    believed = "select count(*) from loci_data.memory_beliefs b where b.namespace_id = %(ns_id)s"
    before = world.value(believed)
    landed(world, [("mem0 pages", [THREE[0]])])
    assert world.value(believed) == before + 1  # the one version began earlier than was thought


def test_turns_of_a_session_stand_in_the_order_in_which_they_were_said(world: World, tmp_path: Path) -> None:
    said = [("u1", "user", "One."), ("a1", "assistant", "Two."), ("u2", "user", "Three.")]
    found = [
        {
            "type": role,
            "uuid": key,
            "sessionId": "s",
            "timestamp": at(number),
            "message": {"id": key, "role": role, "content": text},
        }
        for number, (key, role, text) in enumerate(said)
    ]
    (tmp_path / "x").write_text(rows(*found[::-1]))
    land(world, "claude-code", tmp_path / "x")
    turns = world.rows("select content from loci.list_turns(%(ns)s, 's')")
    assert [row["content"] for row in turns] == ["One.", "Two.", "Three."]
