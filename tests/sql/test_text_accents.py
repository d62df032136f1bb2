"""Words are found with and without their accents, where accents make no other letter."""

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.factories import Row, World, new_world


def found(world: World, question: str) -> list[str]:
    return [
        row["content"]
        for row in world.rows(
            "select m.content from loci.search_text(%(ns)s, %(q)s) s cross join loci.get_memories(%(ns)s, array[s.id]) m",
            q=question,
        )
    ]


SAME = [
    *(
        ("english", said, asked)
        for said, asked in (("Muñoz", "Munoz"), ("crêpes", "crepe"), ("résumés", "resume"), ("Łódź", "lodz"))
    ),
    *(("simple", said, asked) for said, asked in (("Muñoz", "Munoz"), ("crêpes", "crepes"), ("Zoë", "zoe"))),
    *(("french", said, asked) for said, asked in (("crêpes", "crepe"), ("élèves", "eleve"))),
    *(("spanish", said, asked) for said, asked in (("Muñoz", "Munoz"), ("canciones", "canción"), ("corrió", "correr"))),
    *(("german", said, asked) for said, asked in (("Häuser", "Hauser"), ("schöne", "schon"))),
    ("portuguese", "Conceição", "Conceicao"),
]


@pytest.mark.parametrize(("language", "said", "asked"), SAME)
@pytest.mark.parametrize("turned", [False, True])
def test_a_word_is_found_with_and_without_accents(
    connection: psycopg.Connection[Row], language: str, said: str, asked: str, *, turned: bool
) -> None:
    world = new_world(connection, language)
    said, asked = (asked, said) if turned else (said, asked)
    world.write(f"zzz {said} zzz")
    assert found(world, asked) == [f"zzz {said} zzz"]


@pytest.mark.parametrize(
    ("language", "said", "asked"),
    [("swedish", "får", "far"), ("finnish", "näin", "nain"), ("turkish", "kâr", "kar"), ("russian", "йод", "иод")],
)
def test_accents_that_make_other_letters_stay(connection: psycopg.Connection[Row], language: str, said: str, asked: str) -> None:
    world = new_world(connection, language)
    world.write(said)
    assert (found(world, asked), found(world, said)) == ([], [said])


def test_turns_and_working_memory_are_found_without_accents_as_well(world: World) -> None:
    world.rows("select * from loci_api.add_turns(%(ns)s, 's', %(t)s)", t=Jsonb([{"role": "user", "content": "Señor Muñoz called"}]))
    for question in ("munoz", "Muñoz", "senor"):
        assert len(world.rows("select * from loci.search_turns(%(ns)s, %(q)s)", q=question)) == 1


def kept(owned: World, value: bool | None = None) -> Any:
    """Whether the index is said to hold accents; or say so."""
    owned.connection.execute("reset session authorization")
    if value is not None:
        owned.connection.execute("update loci_data.namespaces set accents_kept = %s where id = %s", [value, owned.id])
    row = owned.connection.execute("select accents_kept from loci_data.namespaces where id = %s", [owned.id]).fetchone()
    owned.connection.execute("set session authorization loci_app")
    return row and row["accents_kept"]


def test_until_it_is_repaired_an_index_made_before_is_asked_in_both_ways(owned: World) -> None:
    old = owned.write("Señor Muñoz called")["id"]
    owned.connection.execute("reset session authorization")
    owned.connection.execute(
        """update loci_data.postings set term = hashtextextended('muñoz', 0)
           where namespace_id = %s and term = hashtextextended('munoz', 0)""",
        [owned.id],
    )
    owned.connection.execute("set session authorization loci_app")
    kept(owned, value=True)
    assert (found(owned, "Muñoz"), found(owned, "Munoz")) == (["Señor Muñoz called"], [])
    assert owned.value("select loci_api.repair_lexical_index(%(ns)s)") == 1
    assert (kept(owned), found(owned, "Munoz")) == (False, ["Señor Muñoz called"])
    owned.erase(old)
    assert found(owned, "Muñoz senor called") == []


def test_an_erased_memory_leaves_no_trace_in_an_older_index(owned: World) -> None:
    old = owned.write("Muñoz crêpes naïve")["id"]
    owned.connection.execute("reset session authorization")
    owned.connection.execute(
        """update loci_data.postings set term = hashtextextended('muñoz', 0)
           where namespace_id = %s and term = hashtextextended('munoz', 0)""",
        [owned.id],
    )
    owned.connection.execute("set session authorization loci_app")
    kept(owned, value=True)
    owned.erase(old)
    owned.connection.execute("reset session authorization")
    left = owned.connection.execute("select count(*) as n from loci_data.postings where namespace_id = %s", [owned.id]).fetchone()
    owned.connection.execute("set session authorization loci_app")
    assert left == {"n": 0}
