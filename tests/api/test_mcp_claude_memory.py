"""The profile claude-memory: six commands over files that are lineages; nothing leads out of /memories."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.factories import OPERATOR, act_as
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok
from tests.tools import Tools, over_http

EMPTY = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n0B\t/memories"
NOTES = "/memories/notes.md"


@pytest.fixture
def tools(api: Api) -> Iterator[Tools]:
    with over_http(api.service, profile="claude-memory", **{"X-Namespace": api.namespace}) as connected:
        yield connected


def lines(tools: Tools, path: str) -> list[str]:
    """The lines of a file as it is shown, without the headline and the numbers."""
    return [line.split("\t", 1)[1] for line in tools.text("view", path=path).splitlines()[1:]]


def test_the_six_commands_are_there_and_the_folder_can_be_viewed_before_anything_is_in_it(tools: Tools) -> None:
    assert list(tools.listed()) == ["view", "create", "str_replace", "insert", "delete", "rename"]
    assert tools.text("view", path="/memories") == EMPTY


def test_a_file_is_created_once_and_shown_with_numbers(tools: Tools) -> None:
    assert tools.text("create", path=NOTES, file_text="one\ntwo\nthree\n") == f"File created successfully at: {NOTES}"
    assert tools.error("create", path=NOTES, file_text="other") == f"File {NOTES} already exists"
    assert tools.text("view", path=NOTES) == (
        f"Here's the content of {NOTES} with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\t"
    )
    assert tools.text("view", path=NOTES, view_range=[2, 3]).endswith("numbers:\n     2\ttwo\n     3\tthree")
    assert tools.text("view", path=NOTES, view_range=[3, -1]).endswith("numbers:\n     3\tthree\n     4\t")


def test_a_folder_shows_two_levels_with_sizes_and_hides_what_is_hidden(tools: Tools) -> None:
    for path, size in (("a.txt", 100), ("p/b.txt", 2048), ("p/q/c.txt", 512), ("p/q/r/d.txt", 1), (".hidden/e.txt", 9)):
        tools.text("create", path=f"/memories/{path}", file_text="x" * size)
    assert tools.text("view", path="/memories").splitlines()[1:] == [
        "2.6K\t/memories", "100B\t/memories/a.txt", "2.5K\t/memories/p/", "2K\t/memories/p/b.txt", "513B\t/memories/p/q/",
    ]  # fmt: skip
    assert tools.error("view", path="/memories/z") == "The path /memories/z does not exist. Please provide a valid path."


def test_a_text_is_replaced_where_it_stands_once(tools: Tools) -> None:
    tools.text("create", path=NOTES, file_text="tea\nmilk\ntea\n")
    shown = tools.text("str_replace", path=NOTES, old_str="milk", new_str="oats")
    assert shown.endswith("(with line numbers):\n     1\ttea\n     2\toats\n     3\ttea\n     4\t")
    assert tools.error("str_replace", path=NOTES, old_str="tea", new_str="x").endswith("in lines: 1, 3. Please ensure it is unique")
    assert "did not appear verbatim" in tools.error("str_replace", path=NOTES, old_str="Oats", new_str="x")
    assert tools.error("str_replace", path="/memories", old_str="a", new_str="b") == "The path /memories is not a file."
    assert lines(tools, NOTES) == ["tea", "oats", "tea", ""]


def test_a_text_is_inserted_behind_an_existing_line(tools: Tools) -> None:
    tools.text("create", path=NOTES, file_text="one\ntwo\n")
    tools.text("insert", path=NOTES, insert_line=0, insert_text="zero\n")
    assert tools.text("insert", path=NOTES, insert_line=3, insert_text="three") == f"The file {NOTES} has been edited."
    assert lines(tools, NOTES) == ["zero", "one", "two", "three", ""]
    assert "within the range [0, 4]" in tools.error("insert", path=NOTES, insert_line=5, insert_text="x")


def test_deleting_takes_a_folder_with_all_in_it_but_never_the_root(tools: Tools) -> None:
    for path in ("p/a", "p/q/b", "pq"):
        tools.text("create", path=f"/memories/{path}", file_text="x")
    assert tools.text("delete", path="/memories/p") == "Successfully deleted /memories/p"
    assert tools.error("delete", path="/memories/p") == "The path /memories/p does not exist"
    assert tools.error("delete", path="/memories") == "Cannot delete the /memories directory itself"
    assert lines(tools, "/memories") == ["/memories", "/memories/pq"]
    tools.text("create", path="/memories/p/a", file_text="again")
    assert lines(tools, "/memories/p/a") == ["again"]


def test_renaming_moves_a_folder_and_overwrites_nothing(tools: Tools) -> None:
    for path in ("p/a", "p/q/b", "c"):
        tools.text("create", path=f"/memories/{path}", file_text=path)
    assert tools.error("rename", old_path="/memories/p", new_path="/memories/c") == "The destination /memories/c already exists"
    assert "into itself" in tools.error("rename", old_path="/memories/p", new_path="/memories/p/z")
    moved = tools.text("rename", old_path="/memories/p", new_path="/memories/new/p")
    assert moved == "Successfully renamed /memories/p to /memories/new/p"
    assert lines(tools, "/memories/new/p/q/b") == ["p/q/b"]
    assert "does not exist" in tools.error("view", path="/memories/p")


@pytest.mark.row("X10")
def test_every_edit_is_a_version_and_what_was_deleted_is_still_history(api: Api, tools: Tools) -> None:
    tools.text("create", path=NOTES, file_text="I like tea")
    tools.text("str_replace", path=NOTES, old_str="tea", new_str="coffee")
    assert api.found("What do I like?")[0] == "I like coffee"
    tools.text("delete", path=NOTES)
    versions = ok(api.get(f"/memories/{NOTES.replace('/', '%2F')}/history"))["items"]
    assert [(row["content"], row["status"]) for row in versions] == [("I like tea", "active"), ("I like coffee", "forgotten")]


@pytest.mark.parametrize("text", ["", "\n", "  "])
def test_a_file_may_be_blank(tools: Tools, text: str) -> None:
    tools.text("create", path=NOTES, file_text=text)
    assert lines(tools, NOTES) == text.split("\n")
    tools.text("insert", path=NOTES, insert_line=0, insert_text="said")
    assert lines(tools, NOTES)[0] == "said"


@pytest.fixture(scope="module")
def nowhere(service: Service) -> Iterator[Tools]:
    """Tools of a namespace where nothing is ever written."""
    with new_api(service) as api, over_http(service, profile="claude-memory", **{"X-Namespace": api.namespace}) as connected:
        yield connected


@pytest.mark.row("X10")
@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/memoriesX/a", "memories/a", "/memories/../a", "/memories/%2e%2e/a", "/memories/a/%252e%252e/b",
     "/memories/a%2fb", "/memories//a", "/memories/./a", "/memories/a\\b", "/memories/a\nb", "/memories/" + "x" * 250],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_is_refused(nowhere: Tools, path: str) -> None:
    for name, rest in (("create", {"file_text": "x"}), ("view", {}), ("delete", {})):
        assert "ath" in nowhere.error(name, path=path, **rest)
    assert "ath" in nowhere.error("rename", old_path=NOTES, new_path=path)
    assert nowhere.text("view", path="/memories") == EMPTY


def test_no_file_stands_where_another_is_a_folder(tools: Tools) -> None:
    tools.text("create", path="/memories/a/b", file_text="x")
    assert "already exists" in tools.error("create", path="/memories/a", file_text="x")
    assert "is a file, not a directory" in tools.error("create", path="/memories/a/b/c", file_text="x")


def test_concurrent_edits_are_all_kept(api: Api, tools: Tools) -> None:
    tools.text("create", path=NOTES, file_text="begin\n")

    def add(number: int) -> int:
        body = {"path": NOTES, "insert_line": 1, "insert_text": f"line {number}"}
        return api.post("/profiles/claude-memory/insert", body).status_code

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(add, range(8))) == {200}
    assert sorted(lines(tools, NOTES)) == sorted(["begin", *(f"line {n}" for n in range(8)), ""])


WAITING = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and strpos(query, %s) > 0"


def test_a_file_beside_a_folder_of_its_name_is_refused(api: Api, tools: Tools) -> None:
    """The first waits for somebody who reads an old file of that name, and looked whether the path is free before."""
    tools.text("create", path="/memories/a", file_text="old")
    tools.text("delete", path="/memories/a")
    make = lambda path: api.post("/profiles/claude-memory/create", {"path": path, "file_text": "new"}).status_code  # noqa: E731
    database = api.service.database
    with database.app() as reading, database.admin() as watcher, ThreadPoolExecutor(2) as threads:
        waits = lambda at: watcher.execute(WAITING, [at]).rowcount > 0  # noqa: E731
        act_as(reading, OPERATOR)
        reading.execute("select from loci_api.lock_files(%s, '/memories/a')", [api.namespace])
        file = threads.submit(make, "/memories/a")
        eventually(lambda: waits("loci_api.remember"))
        in_folder = threads.submit(make, "/memories/a/b")
        eventually(lambda: in_folder.done() or waits("lock_folders"))
        reading.commit()
        assert (file.result(PATIENCE), in_folder.result(PATIENCE)) == (200, 422)
