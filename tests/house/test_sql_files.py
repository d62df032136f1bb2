"""How SQL files look."""

import re

from migrations.sql_files import split, sql_files
from tests.catalogue import OBJECTS
from tests.house.figures import names_its_behaviour
from tests.sql_style import problems

FILES = dict(sql_files())


def test_what_is_wrong_in_a_file_is_found_by_line() -> None:
    text = "SELECT 1;\n" + "-- " + "x" * 118 + "\nselect 2; \n\n"
    found = [(number, problem.split(",")[0]) for number, problem in problems(text, length=2)]
    assert found == [
        (1, "begins without a comment that says what it is for"),
        (5, "does not end with exactly one line end"),
        (4, "is longer than 2 lines: split it by idea"),
        (1, "has keywords in capitals"),
        (2, "has 121 columns"),
        (3, "has a tab"),
    ]


def test_a_file_says_what_behaviour_it_holds_or_is_named_after_what_it_declares() -> None:
    named = {path: {item.name.split(".")[-1] for item in OBJECTS if item.path == path} for path, _ in FILES.items()}
    strange = [
        path
        for path, names in named.items()
        if names
        and path.split("/")[-1].removesuffix(".sql") not in names
        and not path.endswith(("triggers.sql", "views.sql"))
        and not names_its_behaviour(path)
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
