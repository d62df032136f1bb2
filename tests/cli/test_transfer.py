"""`loci export` and `loci import` of what it wrote: the same namespace again, or nothing."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from service.settings import get_settings
from tests.cli.conftest import Loci
from tests.databases import Database, Server
from tests.factories import OPERATOR, World, act_as
from tests.services import PATIENCE, eventually
from tests.transfer.rich import NASTY, contents, fill, moments

# Blocks follow the batches of the writes, and what they say is compared apart; restoring reckons fades_at by the rates in force, and is
# an operation of its own. Feeds and locks belong to the namespace that is there. The worker compares restored facts anew.
NUMBERED = frozenset({
    *("postings", "lexical_ranges", "lexical_impacts", "corpus_counts", "decay_changes", "feeds", "namespace_locks", "aspects_to_sweep"),
    *("operations", "operation_counts", "outbox", "changes", "memory_mentions.operation_id", "edge_observations.operation_id"),
})  # fmt: skip
INDEX = """
select coalesce(jsonb_agg(jsonb_build_array(term, e) order by term, e), '[]') as entries,
       (select jsonb_build_array(sum(documents), sum(terms)) from loci_data.corpus_counts where namespace_id = n.id) as counts
from loci_data.namespaces n join loci_data.postings p on p.namespace_id = n.id, unnest(p.entries) e where n.name = %s group by n.id"""


@pytest.fixture(scope="module")
def rich(own_database: Database) -> str:
    """A namespace with something of everything, in this module's database."""
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as connection:
        return fill(connection, "welt").name


@pytest.fixture
def empty(server: Server) -> Iterator[Database]:
    """A database with nothing in it."""
    made = server.clone("empty")
    yield made
    server.drop(made)


@pytest.fixture
def over(monkeypatch: pytest.MonkeyPatch) -> Callable[[Database], Loci]:
    """The command line over another database."""

    def use(database: Database) -> Loci:
        monkeypatch.setenv("DATABASE_URL", database.app_url)
        get_settings.cache_clear()
        return Loci(database)

    return use


@pytest.fixture(scope="module")
def exports() -> dict[str, bytes]:
    """What was exported: no test changes the rich namespace, so it is asked for once."""
    return {}


@pytest.fixture
def file(loci: Loci, rich: str, exports: dict[str, bytes], tmp_path: Path) -> Path:
    """The rich namespace, exported."""
    path = tmp_path / "welt.jsonl"
    if rich not in exports:
        result = loci("export", "-n", rich, "-o", str(path))
        assert result.exit_code == 0, result.stderr
        exports[rich] = path.read_bytes()
    path.write_bytes(exports[rich])
    return path


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def rewrite(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Change the lines between the first and the last, and make both agree with them again."""
    first, *middle, last = lines(path)
    middle = change(middle)
    counts = dict.fromkeys(json.loads(first)["counts"], 0)
    for line in middle:
        kind = json.loads(line)["kind"] if line.startswith(b"{") else None
        if kind in counts:
            counts[kind] += 1
    head = {**json.loads(first), "counts": counts}
    tail = {**json.loads(last), "counts": counts, "sha256": sha256(b"".join(middle)).hexdigest()}
    path.write_bytes(b"".join([json.dumps(head).encode() + b"\n", *middle, json.dumps(tail).encode() + b"\n"]))


def changed(kind: str, **fields: Any) -> Callable[[list[bytes]], list[bytes]]:
    """Change fields of the first line of a kind."""

    def change(middle: list[bytes]) -> list[bytes]:
        place = next(n for n, line in enumerate(middle) if json.loads(line)["kind"] == kind)
        middle[place] = json.dumps({**json.loads(middle[place]), **fields}).encode() + b"\n"
        return middle

    return change


def asked(database: Database, name: str, times: list[tuple[str, str]]) -> list[Any]:
    """Listings, histories and subtrees at many moments."""
    with psycopg.connect(database.app_url, row_factory=dict_row) as connection:
        act_as(connection, OPERATOR)
        world = World(connection, name, 0)
        tops = world.rows("select id from loci.list_memories(%(ns)s, '{}', 1000) where lineage like 'gebiet-%%' order by id")
        answers: list[Any] = []
        for as_of, known_at in times:
            at = {"as_of": as_of, "known_at": known_at}
            answers.append(world.rows("select * from loci.list_memories(%(ns)s, '{}', 1000, null, %(as_of)s, %(known_at)s)", **at))
            answers.append(answer(world, "select * from loci.history(%(ns)s, 'alice-ort', 1000, 0, %(as_of)s, %(known_at)s)", **at))
            answers += [
                answer(
                    world,
                    "select * from loci.subtree(%(ns)s, %(id)s, p_as_of => %(as_of)s, p_known_at => %(known_at)s)",
                    id=top["id"],
                    **at,
                )
                for top in tops
            ]
        return answers


def answer(world: World, statement: Any, **parameters: Any) -> Any:
    """Rows, or that there are none to ask about yet."""
    try:
        with world.connection.transaction():
            return world.rows(statement, **parameters)
    except psycopg.errors.NoDataFound:
        return None


# The same again


@pytest.mark.row("X6")
def test_an_export_restored_into_an_empty_database_is_equal_in_every_table(
    loci: Loci, rich: str, file: Path, empty: Database, over: Callable[[Database], Loci]
) -> None:
    before = contents(loci.database, rich, without=NUMBERED)
    index = loci.rows(INDEX, rich)
    kinds = json.loads(lines(file)[0])["counts"]
    assert [kind for kind, count in kinds.items() if count == 0] == []  # the namespace has something of everything
    result = over(empty)("import", str(file), "--json")
    assert result.exit_code == 0, result.stderr
    reply = json.loads(result.stdout)
    assert (reply["namespace"], reply["created"], reply["kept"], reply["written"]) == (rich, True, [], kinds)
    assert contents(empty, rich, without=NUMBERED) == before
    assert Loci(empty).rows(INDEX, rich) == index
    times = moments(loci.database, rich, 40)
    answers = asked(loci.database, rich, times)
    assert asked(empty, rich, times) == answers
    assert sum(1 for rows in answers if rows) > 80
    broken = "select name, broken from loci.verify(%s) where broken > 0"
    assert Loci(empty).rows(broken, rich) == []


def test_an_export_of_what_was_restored_is_the_same_file_but_for_its_moment(
    file: Path, rich: str, empty: Database, over: Callable[[Database], Loci], tmp_path: Path
) -> None:
    loci = over(empty)
    loci("import", str(file))
    again = tmp_path / "again.jsonl"
    assert loci("export", "-n", rich, "-o", str(again)).exit_code == 0
    first, second = lines(file), lines(again)
    assert second[1:] == first[1:]
    assert {**json.loads(second[0]), "exported_at": None} == {**json.loads(first[0]), "exported_at": None}


@pytest.mark.row("X6")
def test_restoring_where_it_came_from_changes_nothing(loci: Loci, rich: str, file: Path) -> None:
    versions = "select count(*) as n, max(xmin::text::bigint) as xmin from loci_data.{}"
    tables = [
        "memories",
        "memory_beliefs",
        "memory_placements",
        "memory_closure",
        "entities",
        "edges",
        "edge_observations",
        "postings",
        "namespaces",
    ]
    before = contents(loci.database, rich, without=NUMBERED), [loci.rows(versions.format(table)) for table in tables]
    result = loci("import", str(file), "--json")
    assert result.exit_code == 0, result.stderr
    reply = json.loads(result.stdout)
    assert sum(reply["written"].values()) == 0
    assert reply["unchanged"] == json.loads(lines(file)[0])["counts"]
    assert (contents(loci.database, rich, without=NUMBERED), [loci.rows(versions.format(table)) for table in tables]) == before


def test_restoring_under_another_name_makes_a_copy_beside_it(loci: Loci, rich: str, file: Path) -> None:
    before = contents(loci.database, rich, without=NUMBERED)
    assert loci("import", str(file), "--namespace", "kopie").exit_code == 0
    assert contents(loci.database, "kopie", without=NUMBERED) == contents(loci.database, rich, without=NUMBERED)
    assert contents(loci.database, rich, without=NUMBERED) == before
    assert loci.rows("select name from loci.verify('kopie') where broken > 0") == []


def test_writing_goes_on_after_restoring(file: Path, rich: str, empty: Database, over: Callable[[Database], Loci]) -> None:
    over(empty)("import", str(file))
    with psycopg.connect(empty.app_url, row_factory=dict_row) as connection:
        act_as(connection, OPERATOR)
        world = World(connection, rich, 0)
        new = world.write("Alice wohnt in Rom", lineage="alice-ort")
        assert world.write(NASTY[0], session_id="s")["duplicate"]
        listed = world.rows("select id from loci.list_memories(%(ns)s, '{}', 1)")
    assert new["superseded"] is not None
    assert [row["id"] for row in listed] == [new["id"]]  # new ones stand before restored ones


def test_contents_of_every_kind_of_text_come_back(file: Path, rich: str, empty: Database, over: Callable[[Database], Loci]) -> None:
    over(empty)("import", str(file))
    found = {row["content"] for row in Loci(empty).rows("select content from loci_data.memories")}
    assert set(NASTY) <= found


def test_an_export_goes_through_a_pipe(loci: Loci, file: Path, rich: str) -> None:
    export = loci("export", "-n", rich)
    assert export.exit_code == 0
    assert export.stdout.encode().split(b"\n")[1:-1] == [line.rstrip(b"\n") for line in lines(file)[1:]]
    back = loci("import", "-", "--json", input=export.stdout)
    assert back.exit_code == 0, back.stderr
    assert sum(json.loads(back.stdout)["written"].values()) == 0


def test_vectors_are_exported_on_request_and_taken_by_the_same_model(
    loci: Loci, file: Path, rich: str, empty: Database, over: Callable[[Database], Loci], tmp_path: Path
) -> None:
    none = loci("export", "-n", rich, "--vectors")
    assert (none.exit_code, none.stderr.splitlines()[0]) == (
        1,
        "error: there is no embedding model here, so there are no vectors to export",
    )
    over(empty)("import", str(file))
    with psycopg.connect(empty.app_url, row_factory=dict_row) as connection:
        act_as(connection, OPERATOR)
        connection.execute("select loci_api.register_model('test/three', 3)")
        ids = [row["id"] for row in connection.execute("select id from loci_data.memories order by id").fetchall()]
        connection.execute(
            """select loci_api.store_memory_vectors(
                   m.id, array_fill((select id from loci_data.namespaces where name = %s), array[2]), %s,
                   array(select concat_ws(': ', source, content) from loci_data.memories where id = any (%s) order by id),
                   '{"[0.1,2,-3]","[1,0,0]"}')
               from loci_data.embedding_models m""",
            [rich, ids[:2], ids[:2]],
        )
    path = tmp_path / "vectors.jsonl"
    exported = Loci(empty)("export", "-n", rich, "--vectors", "-o", str(path))
    assert exported.exit_code == 0, exported.stderr
    assert json.loads(lines(path)[0])["vectors"] == {"model": "test/three", "dimensions": 3}
    assert [json.loads(line)["kind"] for line in lines(path)[-3:]] == ["vector", "vector", "end"]

    copy = json.loads(Loci(empty)("import", str(path), "-n", "kopie", "--json").stdout)
    assert (copy["written"]["vector"], copy["vectors"]) == (2, None)
    vectors = "select embedding::text from loci_data.memory_vectors v join loci_data.namespaces n on n.id = v.namespace_id where n.name = %s order by memory_id"
    assert Loci(empty).rows(vectors, "kopie") == Loci(empty).rows(vectors, rich) != []
    waiting = "select count(*) as n from loci_data.embedding_queue q join loci_data.namespaces n on n.id = q.namespace_id where n.name = %s"
    assert Loci(empty).rows(waiting, "kopie") == [{"n": len(ids) - 2}]

    elsewhere = over(loci.database)("import", str(path))
    assert elsewhere.exit_code == 0
    assert elsewhere.stderr.startswith(
        "note: the vectors of the file are of the model test/three (3 dimensions); there is none here yet;"
    )


# Merging


def test_restoring_into_a_namespace_with_other_rows_adds_to_it_and_keeps_its_settings(
    loci: Loci, namespace: str, file: Path
) -> None:
    loci("import", "-", "-n", namespace, input='{"content": "mine", "lineage": "my-own"}')
    result = loci("import", str(file), "--namespace", namespace)
    assert result.exit_code == 0, result.stderr
    assert [line.split(" keeps ")[1] for line in result.stderr.splitlines()] == [
        "its own description: the file says otherwise",
        "its own language: the file says otherwise",
        "its own settings: the file says otherwise",
    ]
    assert loci.rows("select name from loci.verify(%s) where broken > 0", namespace) == []
    history = json.loads(loci("memory", "history", "my-own", "-n", namespace, "--json").stdout)
    assert [row["content"] for row in history] == ["mine"]


def test_a_lineage_of_the_same_name_is_a_conflict_and_nothing_is_written(loci: Loci, namespace: str, file: Path) -> None:
    loci("import", "-", "-n", namespace, input='{"content": "mine", "lineage": "alice-ort"}')
    before = contents(loci.database, namespace, without=NUMBERED)
    result = loci("import", str(file), "--namespace", namespace)
    assert result.exit_code == 1
    number = next(n for n, line in enumerate(lines(file), 1) if b'"lineage":"alice-ort"' in line)
    assert f"line {number}: lineage is here with other content: id is " in result.stderr
    assert result.stderr.splitlines()[-1].endswith("lines cannot be restored; nothing was written")
    assert contents(loci.database, namespace, without=NUMBERED) == before


def test_a_row_that_has_changed_since_is_a_conflict_with_its_line_and_stays(
    loci: Loci, file: Path, empty: Database, over: Any
) -> None:
    over(empty)("import", str(file))
    with psycopg.connect(empty.admin_url) as admin:
        admin.execute("update loci_data.entities set confidence = 0.125 where name = 'Ada'")
    before = contents(empty, "welt", without=NUMBERED)
    result = over(empty)("import", str(file), "--json")
    assert result.exit_code == 1
    [error] = json.loads(result.stdout)["errors"]
    assert json.loads(lines(file)[error["line"] - 1])["name"] == "Ada"
    assert error["conflict"]
    assert error["reason"].startswith("entity is here with other content: confidence is 0.125 here and 1 in the file")
    assert contents(empty, "welt", without=NUMBERED) == before


# Files that are wrong


def cut(path: Path, keep: Callable[[bytes], bytes]) -> None:
    path.write_bytes(keep(path.read_bytes()))


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "no end line": (lambda p: cut(p, lambda b: b"".join(b.splitlines(keepends=True)[:-1])), "without its end line: it was cut off"),
    "half a line": (lambda p: cut(p, lambda b: b[: len(b) // 2]), "without its end line: it was cut off"),
    "only the first line": (lambda p: cut(p, lambda b: b.splitlines(keepends=True)[0]), "without its end line: it was cut off"),
    "a line is missing": (lambda p: cut(p, lambda b: b"".join(b.splitlines(keepends=True)[:-2] + b.splitlines(keepends=True)[-1:])), "the numbers of lines are not"),
    "a word was changed": (lambda p: cut(p, lambda b: b.replace(b"wohnt in Berlin", b"wohnt in Dublin")), "sha256: the lines are not those"),
    "something after the end": (lambda p: cut(p, lambda b: b + b"{}\n"), "stands after the end line"),
    "a newer version": (lambda p: cut(p, lambda b: b.replace(b'"version":1', b'"version":2', 1)), "line 1: version: the file has version 2 of the format, written by a newer Loci"),
    "another format": (lambda p: cut(p, lambda b: b.replace(b'"format":"loci"', b'"format":"else"', 1)), "line 1: must be the first line of an export"),
    "an unknown field in the first line": (lambda p: cut(p, lambda b: b.replace(b'"format":"loci"', b'"format":"loci","x":1', 1)), "line 1: x: is no known field"),
    "an unknown setting": (lambda p: cut(p, lambda b: b.replace(b'"rrf_k"', b'"rrf_q"', 1)), "line 1: unknown setting 'rrf_q'"),
    "an unknown language": (lambda p: cut(p, lambda b: b.replace(b'"language":"german"', b'"language":"klingon"', 1)), "line 1: language 'klingon' is not"),
    "not JSON": (lambda p: rewrite(p, lambda m: [*m[:5], b"not json\n", *m[5:]]), "line 7: is not JSON"),
    "an empty line": (lambda p: rewrite(p, lambda m: [*m[:5], b"\n", *m[5:]]), "line 7: is empty"),
    "an unknown kind": (lambda p: rewrite(p, lambda m: [*m[:5], b'{"kind": "memmory"}\n', *m[5:]]), "line 7: kind: an export has no lines of kind 'memmory'. Did you mean memory?"),
    "kinds in another order": (lambda p: rewrite(p, lambda m: [*m[1:], m[0]]), "must stand before those of kind"),
    "an unknown field": (lambda p: rewrite(p, changed("memory", colour="red")), "colour: is no field of this kind"),
    "a NUL": (lambda p: rewrite(p, changed("memory", content="a\0b")), "unsupported Unicode escape sequence"),
    "a bad value": (lambda p: rewrite(p, changed("edge", confidence=2)), "confidence"),
    "a bad time": (lambda p: rewrite(p, changed("memory", valid_from="soon")), "soon"),
    "a reference to nothing": (lambda p: rewrite(p, changed("mention", entity_id="00000000-0000-4000-8000-000000000000")), "memory_mentions_entity_fkey"),
    "a successor that is nowhere": (lambda p: rewrite(p, changed("attribute", superseded_by="00000000-0000-4000-8000-000000000000")), "superseded_by: there is no attribute 00000000"),
    "a link that is too strong": (lambda p: rewrite(p, changed("link", strength=7)), "strength"),
}  # fmt: skip


@pytest.mark.sample(6)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_wrong_file_is_refused_with_line_and_reason_and_nothing_is_written(loci: Loci, file: Path, damage: str) -> None:
    do, reason = DAMAGE[damage]
    do(file)
    result = loci("import", str(file), "--namespace", "refused")
    assert result.exit_code == 1, result.stdout
    assert reason in result.stderr
    assert result.stderr.startswith("line ")
    assert loci.rows("select name from loci_data.namespaces where name = 'refused'") == []


def test_a_wrong_line_is_found_by_its_number_in_a_batch_of_any_size(loci: Loci, file: Path) -> None:
    place = next(n for n, line in enumerate(lines(file), 1) if b'"kind":"edge",' in line)
    rewrite(file, changed("edge", confidence=2))
    result = loci("import", str(file), "-n", "refused", "--json")
    assert [error["line"] for error in json.loads(result.stdout)["errors"] if "confidence" in error["reason"]] == [place]


# Files and processes


def test_a_failed_export_leaves_the_target_as_it_was(loci: Loci, tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text("kept")
    result = loci("export", "-n", "nowhere", "-o", str(path))
    assert (result.exit_code, result.stderr.splitlines()[0]) == (1, "error: namespace 'nowhere' does not exist")
    assert path.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_import_leaves_nothing(loci: Loci, namespace: str, tmp_path: Path, empty: Database) -> None:
    many = "\n".join(json.dumps({"content": f"fact {n} " + "word " * 20}) for n in range(100))
    loci("import", "-", "-n", namespace, input=many)
    path = tmp_path / "many.jsonl"
    loci("export", "-n", namespace, "-o", str(path))
    importing = "select from pg_stat_activity where datname = current_database() and query like '%%restore_rows%%' and pid <> pg_backend_pid()"
    behind = "select from pg_stat_activity where %s = any (pg_blocking_pids(pid))"
    with empty.admin() as holder, empty.admin() as watcher:
        with holder.transaction():
            holder.execute("lock table loci_data.name_queue in exclusive mode")  # which comes after the memories
            process = Loci(empty).start("import", str(path), "-n", "killed", LOCI_EMBEDDING__PROVIDER="none")
            eventually(lambda: watcher.execute(behind, [holder.info.backend_pid]).rowcount)
            os.kill(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
        eventually(lambda: not watcher.execute(importing).rowcount)
    assert Loci(empty).rows("select name from loci_data.namespaces where name = 'killed'") == []
    assert Loci(empty).count("memories") == 0


def test_loose_lines_are_imported_as_before(loci: Loci, namespace: str) -> None:
    result = loci("import", "-", "-n", namespace, "--json", input='{"content": "one"}\n{"kind": "entity", "name": "Zoe"}\n')
    assert (json.loads(result.stdout)["memories"], json.loads(result.stdout)["entities"]) == (1, 1)
    assert loci("import", "-", "-n", namespace, "--json", input="").exit_code == 0
