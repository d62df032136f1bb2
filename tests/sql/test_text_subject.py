"""Whom a statement is about, in front of it: the service tells it as the database does."""

from typing import Any

import pytest
from psycopg import Connection

from service.text.subject import is_first_person, text_with_subject

STATEMENTS = [
    ("Lives in Braga", "Rosa", "Rosa: Lives in Braga"),
    ("rosa lives in Braga", "Rosa", "rosa lives in Braga"),
    ("Lives with ROSA's cat", "Rosa", "Lives with ROSA's cat"),
    ("Rosanna lives in Braga", "Rosa", "Rosa: Rosanna lives in Braga"),
    ("The cat of Jean-Luc Picard", "Jean Luc  Picard", "The cat of Jean-Luc Picard"),
    ("Wohnt in Köln, sagt ΟΔΥΣΣΕΥΣ", "Οδυσσευς", "Wohnt in Köln, sagt ΟΔΥΣΣΕΥΣ"),
    ("İdris lives here", "idris", "İdris lives here"),
    ("Lives in Braga", None, "Lives in Braga"),
    ("x " * 1500 + "Rosa", "Rosa", "Rosa: " + "x " * 1500 + "Rosa"),
    ("under_score of Rosa_Lee", "rosa lee", "under_score of Rosa_Lee"),
]
SAID = ["I live in Oslo", "Likes what i like", "So do i", "Part I.", "Made in the US", "The user's tea", "A user", "ich wohne hier",
        "Ask me-too", "Meine Frau", "i. e.", "Lives in Braga", "User likes tea", "x " * 1500 + " I"]  # fmt: skip


@pytest.mark.parametrize(("content", "about", "expected"), STATEMENTS)
def test_a_subject_stands_in_front_where_the_words_do_not_name_it(
    admin: Connection[dict[str, Any]], content: str, about: str | None, expected: str
) -> None:
    told = admin.execute("select loci_internal.text_with_subject(%s, %s) as told", (content, about)).fetchone()
    assert told == {"told": expected}
    assert text_with_subject(content, about) == expected


@pytest.mark.parametrize("content", SAID)
def test_the_first_person_is_told_alike(admin: Connection[dict[str, Any]], content: str) -> None:
    told = admin.execute("select loci.is_first_person(%s) as told", (content,)).fetchone()
    assert told == {"told": is_first_person(content)}
