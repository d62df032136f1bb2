"""What short memories say, and what their lineages said before."""

from tests.factories import Row, World, day


def said(world: World, *rows: Row, **more: object) -> list[tuple[str, list[str]]]:
    """Contents with earlier versions, in the order of the documents."""
    documents = [world.value("select doc_id from loci_data.memories where id = %(id)s", id=row["id"]) for row in rows]
    found = world.rows(
        "select * from loci_api.short_statements(%(ns)s, %(documents)s, %(known_at)s)",
        documents=documents,
        known_at=more.get("known_at"),
    )
    return [(row["content"], row["earlier"]) for row in sorted(found, key=lambda row: row["doc_id"])]


def test_a_version_comes_with_what_its_lineage_said_before(world: World) -> None:
    first = world.write("Nadia eats vegan food", lineage="diet", valid_from=day(0))
    world.write("Nadia turned vegetarian", lineage="diet", valid_from=day(1))
    last = world.write("Nadia has gone low-salt", lineage="diet", valid_from=day(2))
    other = world.write("Nadia has a horse", valid_from=day(3))
    assert said(world, first, last, other) == [
        ("Nadia eats vegan food", []),
        ("Nadia has gone low-salt", ["Nadia turned vegetarian", "Nadia eats vegan food"]),
        ("Nadia has a horse", []),
    ]


def test_a_long_or_forgotten_version_adds_no_earlier_words(world: World) -> None:
    long = world.write("Nadia eats vegan food " * 20, lineage="diet", valid_from=day(0))
    gone = world.write("Nadia turned vegetarian", lineage="diet", valid_from=day(1))
    last = world.write("Nadia has gone low-salt", lineage="diet", valid_from=day(2))
    world.forget(gone["id"])
    assert said(world, long, last) == [("Nadia has gone low-salt", [])]
