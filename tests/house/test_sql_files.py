"""How SQL files look."""

import re

from migrations.sql_files import split, sql_files
from tests.catalogue import OBJECTS, ROOT

FILES = dict(sql_files())
REVISIONS = {str(path.relative_to(ROOT)): path.read_text() for path in sorted(ROOT.glob("migrations/schema/*.sql"))}


def test_a_line_has_at_most_120_columns() -> None:
    long = [
        f"{path}:{number}"
        for path, text in {**FILES, **REVISIONS}.items()
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > 120
    ]
    assert long == []


def test_a_file_begins_with_the_question_that_it_answers() -> None:
    assert [path for path, text in FILES.items() if not text.startswith("-- ")] == []


def test_a_file_is_short_enough_to_be_read_at_once() -> None:
    assert {path: text.count("\n") for path, text in FILES.items() if text.count("\n") > 150} == {}


def test_a_file_is_named_by_what_it_declares() -> None:
    named = {path: {item.name.split(".")[-1] for item in OBJECTS if item.path == path} for path, _ in FILES.items()}
    strange = [
        path
        for path, names in named.items()
        if names and path.split("/")[-1].removesuffix(".sql") not in names and not path.endswith(("triggers.sql", "views.sql"))
    ]
    assert strange == []


def test_every_function_and_view_has_a_comment_in_its_file() -> None:
    bare = [
        item.name
        for item in OBJECTS
        if item.kind != "trigger" and not any(s.startswith(f"comment on {item.kind} {item.name}") for s in item.statements)
    ]
    assert bare == []


def test_a_comment_gives_reasons_and_not_callers() -> None:
    found = [path for path, text in FILES.items() if re.search(r"^--.*\b[Cc]alled by\b", text, re.MULTILINE)]
    assert found == []


def test_a_text_is_split_where_its_statements_end() -> None:
    text = "-- a; b\nselect ';', \"x;y\", $$ ; $$, $q$ ' $$ ; $q$; -- after\nselect 'it''s', -1;"
    assert split(text) == ["select ';', \"x;y\", $$ ; $$, $q$ ' $$ ; $q$", "select 'it''s', -1"]
