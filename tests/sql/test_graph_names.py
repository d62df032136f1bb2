"""Names of entities in texts, and where they lead when they are changed."""

import re
import unicodedata
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.errors import InvalidParameterValue, NoDataFound, UniqueViolation
from psycopg.types.json import Jsonb

from service.text.proper_nouns import find_names, list_name_phrases
from tests.factories import Row, World, stated
from tests.sql.undoing import observe, operation, undo

LONG = " ".join(f"word{n}" for n in range(36))  # 251 characters


def know(world: World, *names: str | dict[str, Any]) -> list[dict[str, Any]]:
    """Make entities, by name or with more fields."""
    items = [{"name": name} if isinstance(name, str) else name for name in names]
    return world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb(items))


def found(world: World, text: str) -> list[dict[str, Any]]:
    """What a text names, in order."""
    return world.rows("select * from loci.match_entities(%(ns)s, %(text)s)", text=text)


@pytest.mark.row("G5")
@pytest.mark.parametrize(
    ("name", "text", "matched"),
    [
        ("Alice", "alice and ALICE", "alice"),
        ("Alice", "full of Malice", None),
        ("Alice", "Alices", None),
        ("Alice", "malice, then (alice)", "alice"),
        ("Alice", "Alice2", None),
        ("Alice", "Alice_in_chains", "Alice"),
        ("Azure DevOps", "deploy via Azure DevOps pipeline", "Azure DevOps"),
        ("Azure DevOps", "Azure, DevOps", None),
        ("Azure DevOps", "Azure\n\t DevOps", "Azure\n\t DevOps"),
        ("Azure DevOps", "Azure\u00a0DevOps", "Azure\u00a0DevOps"),
        ("Azure DevOps", "Azure\u3000\u2003DevOps", "Azure\u3000\u2003DevOps"),
        ("Azure\n  DevOps", "azure devops", "azure devops"),
        ("C++", "in C++17", "C++"),
        ("C++", "Objective-C++", "C++"),
        ("C++", "ABC++", None),
        ("C++", "C+ +", None),
        (".NET", "ASP.NET", ".NET"),
        (".NET", ".NETs", None),
        ("Node.js", "node.js!", "node.js"),
        ("Node.js", "Node. js", None),
        ("Node", "Node.js", "Node"),
        ("F##", "F###", "F##"),
        ("@home", "me@home", "@home"),
        ("???", "what????", "???"),
        ("'n'", "rock'n'roll", "'n'"),
        ("O'Brien", "O’Brien’s", "O’Brien"),
        ("O’Brien", "o'brien", "o'brien"),
        ("Jean-Luc", "Jean\u2011Luc", "Jean\u2011Luc"),
        ("Jean–Luc", "JEAN-LUC", "JEAN-LUC"),
        ("Jean-Luc", "Jean Luc", None),
        ("Caf\u00e9 Noir", "the cafe\u0301 noir", "cafe\u0301 noir"),
        ("Cafe\u0301", "CAF\u00c9S", None),
        ("Cafe", "cafe\u0301", None),
        ("Cafe\u0301", "in the CAF\u00c9.", "CAF\u00c9"),
        ("Straße", "STRAßE", "STRAßE"),
        ("İstanbul", "istanbul", "istanbul"),
        ("Istanbul", "İSTANBUL", "İSTANBUL"),
        ("ΟΔΟΣ", "η οδός, οδος", "οδος"),
        ("किताब", "मेरी किताब है", "किताब"),
        ("किताब", "किताबें", None),
        ("中华人民", "我在中华人民共和国", "中华人民"),
        ("人民共和国", "中华人民共和国的", "人民共和国"),
        ("กรุงเทพ", "ฉันอยู่กรุงเทพมหานคร", "กรุงเทพ"),
        ("ソニー株式会社", "昔のソニー株式会社は", "ソニー株式会社"),
        ("김철수", "김철수가 왔다", "김철수"),
        ("Azure", "使用Azure云", "Azure"),
        ("😀 Team", "the 😀 team", "😀 team"),
        ("https://example.org/a-b/c.html", "see https://example.org/a-b/c.html.", "https://example.org/a-b/c.html"),
        (LONG, f"it is {LONG}.", LONG),
        ("+" * 60, "+" * 61, "+" * 60),
        ("AI", "AI is here", None),
        ("AI!", "AI! is here", "AI!"),
        ("%_.*", "a %_.* b", "%_.*"),
        ("a\x01b", "the a\x02b", "a\x02b"),
    ],
)
def test_a_name_is_found_as_a_whole_phrase_and_only_so(world: World, name: str, text: str, matched: str | None) -> None:
    know(world, name)
    rows = found(world, text)
    assert [row["matched"] for row in rows] == ([] if matched is None else [matched])
    assert all(text[row["position"] - 1 :].startswith(row["matched"]) for row in rows)


@pytest.mark.parametrize("prefix", ["", "e\u0301 ", "  \n", "’ ", "中", "각 ", "\u1100\u1161\u11a8 ", "İ Å\u212b "])
def test_matched_and_position_are_those_of_the_text_whatever_stands_before(world: World, prefix: str) -> None:
    know(world, "Zoë Ray", "Bob-2")
    text = f"{prefix}zoe\u0308   ray,Zoë met \u2011 bob\u20112"
    assert [(row["matched"], text.index(row["matched"]) + 1) for row in found(world, text)] == [
        ("zoe\u0308   ray", len(prefix) + 1),
        ("bob\u20112", len(text) - 4),
    ]
    assert [row["position"] for row in found(world, text)] == [len(prefix) + 1, len(text) - 4]


def test_names_inside_and_across_each_other_are_all_found(world: World) -> None:
    know(world, "New York", "New York Times", "York", "Times Square")
    assert [row["matched"] for row in found(world, "New York Times Square")] == [
        "New York Times",
        "New York",
        "York",
        "Times Square",
    ]


def test_an_entity_comes_once_at_its_first_place_with_the_longest_name_there(world: World) -> None:
    know(world, {"name": "Microsoft", "aliases": ["Microsoft Corporation", "MSFT"]})
    rows = found(world, "msft: Microsoft Corporation, Microsoft")
    assert [(row["matched"], row["is_alias"], row["position"]) for row in rows] == [("msft", True, 1)]
    rows = found(world, "a Microsoft Corporation of MSFT")
    assert [(row["matched"], row["is_alias"], row["position"]) for row in rows] == [("Microsoft Corporation", True, 3)]


@pytest.mark.parametrize("text", ["", " ", "\n", "...", "no name here", "x" * 5000, "! " * 1000])
def test_a_text_without_names_names_nothing(world: World, text: str) -> None:
    know(world, "Alice")
    assert found(world, text) == []


@pytest.mark.row("G5")
@pytest.mark.parametrize(("length", "matched"), [(1, ["AI", "Bob"]), (2, ["AI", "Bob"]), (3, ["Bob"]), (4, [])])
def test_names_shorter_than_the_namespaces_match_length_are_not_looked_for(world: World, length: int, matched: list[str]) -> None:
    know(world, "AI", "Bob")
    world.rows("select * from loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"match_length": length}}))
    assert [row["matched"] for row in found(world, "AI says Bob")] == matched


@pytest.mark.row("G1")
@pytest.mark.parametrize("names", [("O'Brien", "O’Brien"), ("Zoe\u0308", "Zoë"), ("A  B", "a\u00a0b"), ("Ann-Lee", "ann–lee")])
def test_two_spellings_of_one_name_are_one_entity(world: World, names: tuple[str, str]) -> None:
    first, second = know(world, *names)
    assert (second["id"], second["name"], second["created"]) == (first["id"], names[0], False)


# Names that change


def get(world: World, ref: Any, known_at: datetime | None = None) -> Row:
    """The entity with this id, name or alias, as known at a moment."""
    return world.row("select * from loci.get_entity(%(ns)s, %(ref)s, p_known_at => %(at)s)", ref=str(ref), at=known_at)


def change(world: World, ref: Any, **changes: Any) -> Row:
    """Change the entity with this id, name or alias; returns it."""
    return world.row(
        "select * from loci_api.update_entity(%(ns)s, %(id)s, %(c)s)", id=get(world, ref)["id"], c=Jsonb(stated(changes))
    )


def called(entity: Row) -> tuple[str, list[str]]:
    """The name and the aliases of an entity."""
    return entity["name"], entity["aliases"]


def test_the_old_name_of_a_renamed_entity_leads_to_it(world: World) -> None:
    (made,) = know(world, {"name": "Facebook", "aliases": ["FB"]})
    memory = world.write("Ann likes it", entities=[{"name": "Facebook"}])
    assert called(change(world, "Facebook", name="Meta")) == ("Meta", ["FB", "Facebook"])
    assert [(row["name"], row["matched"], row["is_alias"]) for row in found(world, "at FACEBOOK")] == [("Meta", "FACEBOOK", True)]
    assert (get(world, "facebook")["id"], world.visible(entity="facebook")) == (made["id"], [memory["content"]])
    observe(world, {"source": "Facebook", "type": "owns", "target": "WhatsApp"})
    for statement in (
        "select source, target from loci.traverse(%(ns)s, array['facebook'])",
        "select source, target from loci.list_edges(%(ns)s, 'facebook')",
    ):
        assert world.rows(statement) == [{"source": "Meta", "target": "WhatsApp"}]
    events = "select event, detail from loci.entity_timeline(%(ns)s, 'facebook') where event = 'changed'"
    assert world.row(events)["detail"] == {"name": "Meta", "aliases": ["FB", "Facebook"]}


def test_a_write_to_an_old_name_reaches_the_renamed_entity(world: World) -> None:
    (made,) = know(world, "Facebook")
    change(world, "Facebook", name="Meta")
    (written,) = know(world, {"name": "FACEBOOK", "description": "a firm"})
    assert (written["id"], written["name"], written["created"]) == (made["id"], "Meta", False)
    assert called(get(world, made["id"])) == ("Meta", ["Facebook"])


@pytest.mark.parametrize(
    ("stated_ones", "kept"),
    [
        ([], ["Facebook"]),
        (["FB"], ["FB", "Facebook"]),
        (["facebook", "FB"], ["facebook", "FB"]),
        (["META", "FB"], ["FB", "Facebook"]),
    ],
)
def test_aliases_stated_with_a_new_name_hold_and_the_old_name_joins_them(
    world: World, stated_ones: list[str], kept: list[str]
) -> None:
    know(world, {"name": "Facebook", "aliases": ["The Book of Faces"]})
    assert called(change(world, "Facebook", name="Meta", aliases=stated_ones)) == ("Meta", kept)


def test_an_old_name_is_given_up_by_stating_aliases_without_it(world: World) -> None:
    know(world, {"name": "Facebook", "aliases": ["The Book of Faces"]})
    change(world, "Facebook", name="Meta")
    assert called(change(world, "Meta", aliases=[])) == ("Meta", [])
    assert [row["matched"] for row in found(world, "facebook, the book of faces, meta")] == ["meta"]
    assert know(world, "Facebook")[0]["created"]


@pytest.mark.parametrize(
    ("name", "spelling"), [("Zoë", "ZOE\u0308"), ("O'Brien", "O’Brien"), ("new york", "New  York"), ("Ann", "Ann")]
)
def test_another_spelling_of_one_name_leaves_no_alias(world: World, name: str, spelling: str) -> None:
    know(world, {"name": name, "aliases": ["x y"]})
    assert called(change(world, name, name=spelling)) == (spelling, ["x y"])


def test_every_name_that_an_entity_had_leads_to_it_in_the_order_in_which_it_had_them(world: World) -> None:
    know(world, "one")
    for name in ("two", "three", "four"):
        change(world, "one", name=name)
    assert called(get(world, "one")) == ("four", ["one", "two", "three"])


def test_a_name_taken_back_is_an_alias_no_more_and_the_one_between_is(world: World) -> None:
    know(world, "Facebook")
    change(world, "Facebook", name="Meta")
    assert called(change(world, "Meta", name="facebook")) == ("facebook", ["Meta"])


def test_a_new_name_that_would_leave_more_than_a_hundred_aliases_is_refused_and_changes_nothing(world: World) -> None:
    aliases = [f"alias {n}" for n in range(100)]
    know(world, {"name": "full", "aliases": aliases})
    before = get(world, "full")
    with (
        pytest.raises(InvalidParameterValue, match="'fuller' would have 101 aliases, with its old name") as raised,
        world.connection.transaction(),
    ):
        change(world, "full", name="fuller")
    assert raised.value.diag.column_name == "name"
    assert get(world, "full") == before
    with pytest.raises(NoDataFound), world.connection.transaction():
        get(world, "fuller")


def test_an_entity_with_a_hundred_aliases_is_renamed_to_one_of_them_or_with_fewer_of_them(world: World) -> None:
    aliases = [f"alias {n}" for n in range(100)]
    know(world, {"name": "full", "aliases": aliases})
    assert called(change(world, "full", name="alias 0")) == ("alias 0", [*aliases[1:], "full"])
    assert called(change(world, "full", name="fuller", aliases=aliases[1:])) == ("fuller", [*aliases[1:], "alias 0"])


def test_an_entity_given_an_old_name_is_meant_by_it_from_then_on(world: World) -> None:
    first, second = know(world, "Facebook", "a book of faces")
    change(world, "Facebook", name="Meta")
    world.write("however often the other one is mentioned", entities=[{"name": "Meta"}])
    assert called(change(world, second["id"], name="Facebook")) == ("Facebook", ["a book of faces"])
    assert get(world, "facebook")["id"] == second["id"]
    (edge,) = observe(world, {"source": "Facebook", "type": "is", "target": "printed"})
    assert world.value("select source_id from loci_data.edges where id = %(id)s", id=edge["id"]) == second["id"]
    assert called(get(world, first["id"])) == ("Meta", ["Facebook"])


def test_a_part_of_a_renamed_entity_may_have_the_old_name_alone(world: World) -> None:
    know(world, "Facebook")
    change(world, "Facebook", name="Meta")
    world.rows("""select * from loci_api.split_entity(%(ns)s, 'Meta', '{"name": "Facebook"}')""")
    assert [called(get(world, name)) for name in ("Meta", "Facebook")] == [("Meta", []), ("Facebook", [])]


def test_undoing_a_merge_leaves_the_names_that_the_kept_entity_had_since(world: World) -> None:
    know(world, "Facebook", {"name": "Instagram", "aliases": ["Insta"]})
    merged = world.row("select * from loci_api.merge_entities(%(ns)s, 'Facebook', 'Instagram')")["merge_id"]
    assert called(change(world, "Instagram", name="Meta")) == ("Meta", ["Instagram", "Insta", "Facebook"])
    world.rows("select * from loci_api.undo_merge(%(ns)s, %(id)s)", id=merged)
    assert [called(get(world, name)) for name in ("facebook", "insta")] == [("Meta", ["Facebook"]), ("Instagram", ["Insta"])]


def test_undoing_a_new_name_gives_back_the_name_and_the_aliases_as_they_were(world: World) -> None:
    (made,) = know(world, {"name": "Facebook", "aliases": ["FB"]})
    _, done = operation(world, lambda: change(world, "Facebook", name="Meta", aliases=["M"]))
    undone = undo(world, done)["operation_id"]
    assert called(get(world, made["id"])) == ("Facebook", ["FB"])
    with pytest.raises(NoDataFound), world.connection.transaction():
        get(world, "Meta")
    undo(world, undone)
    assert called(get(world, "Facebook")) == ("Meta", ["M", "Facebook"])


def test_a_moment_before_a_new_name_knows_the_old_one_and_the_aliases_of_then(world: World) -> None:
    (made,) = know(world, {"name": "Facebook", "aliases": ["FB"]})
    before = world.now()
    change(world, "Facebook", name="Meta", aliases=["M"])
    renamed = world.now()
    change(world, "Meta", aliases=[])
    assert called(get(world, made["id"], before)) == called(get(world, "Facebook", before)) == ("Facebook", ["FB"])
    assert called(get(world, "facebook", renamed)) == ("Meta", ["M", "Facebook"])
    assert called(get(world, made["id"])) == ("Meta", [])


def test_a_shared_alias_finds_its_owner_and_as_many_others_as_the_setting_says(world: World) -> None:
    know(world, "Robot")
    made = know(world, *({"name": f"bot {n}"} for n in range(30)))
    for row in made:
        change(world, row["id"], aliases=["ROBOT"])
    world.rows("select * from loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"match_namesakes": 5}}))
    rows = found(world, "a robot")
    assert len(rows) == 5
    assert "Robot" in {row["name"] for row in rows}


@pytest.mark.row("G5")
def test_names_that_begin_alike_cost_nothing_but_their_own_place(world: World) -> None:
    """However many entities share their first words, the index is asked for those that the text has."""
    know(world, *(f"Project Alpha {n}" for n in range(6000)), "Project Alpha", "Project Alpha 7 beta", "Project", "zebra", "ant")
    text = "ant: project alpha 7 beta, Project Alpha 5999 and project alpha 6000 zebra"
    read = "select pg_stat_get_xact_tuples_returned('loci_data.entity_names_head'::regclass)"
    before = world.value(read)
    rows = found(world, text)
    assert [row["matched"] for row in rows] == [
        *("ant", "project alpha 7 beta", "project alpha 7", "project alpha", "project"),
        *("Project Alpha 5999", "zebra"),
    ]
    assert world.value(read) - before <= 2100


@pytest.mark.release
def test_more_crowded_beginnings_than_are_skipped_one_by_one_are_all_found(world: World) -> None:
    words = ["red", "green", "blue", "black", "white", "brown"]
    know(world, *(f"the {word} {n}" for word in words for n in range(2001)))
    assert [row["matched"] for row in found(world, "; ".join(f"The {word} 2000" for word in words))] == [
        f"The {word} 2000" for word in words
    ]


# A brute-force oracle: every place of every name, by the rule as it is stated.

APART = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
SAME = str.maketrans({"\u2019": "'", "\u2018": "'", "\u2011": "-", "\u2013": "-", "\u2212": "-", "İ": "i", "ς": "\u03c3", "“": '"'})
SPACE = re.compile(r"[\s\u0001-\u001f]+")


def folded(text: str) -> str:
    return SPACE.sub(" ", unicodedata.normalize("NFC", text).translate(SAME).lower().translate(SAME))


def joins(character: str) -> bool:
    """Whether a name may not end beside it in the middle of a word."""
    return (character.isalnum() or unicodedata.combining(character) > 0) and not APART.match(character)


def stands_in(name: str, text: str) -> bool:
    name, text = folded(name).strip(), folded(text)
    for place in range(len(text) - len(name) + 1):
        end = place + len(name)
        if (
            text[place:end] == name
            and not (joins(name[0]) and place > 0 and joins(text[place - 1]))
            and not (joins(name[-1]) and end < len(text) and joins(text[end]))
        ):
            return True
    return False


PIECES = st.sampled_from(["\u2011", *"abAB19 .+-'’\n中国한é", "e\u0301", "ß", "Σ", "ς", "İ", "  ", "\u00a0", "ab", "a b", "ab."])
TEXTS = st.lists(PIECES, max_size=40).map("".join)
NAMES = st.lists(PIECES, min_size=2, max_size=6).map("".join).filter(lambda name: len(folded(name).strip()) >= 3)


@pytest.mark.row("G5")
@given(names=st.lists(NAMES, min_size=1, max_size=12), text=TEXTS)
def test_a_search_of_names_finds_what_a_look_at_every_position_finds(world: World, names: list[str], text: str) -> None:
    with world.connection.transaction(force_rollback=True):
        know(world, *names)
        rows = found(world, text)
    assert {folded(row["name"]).strip() for row in rows} == {folded(name).strip() for name in names if stands_in(name, text)}
    for row in rows:
        assert folded(row["matched"]) == folded(row["name"]).strip()
        assert text[row["position"] - 1 :].startswith(row["matched"])
    assert [row["position"] for row in rows] == sorted(row["position"] for row in rows)


def note(world: World, *names: str) -> None:
    """Two memories in which the worker finds these names."""
    ids = [world.write(f"memory {n} of {names}")["id"] for n in range(2)]
    pairs = [(memory, name) for memory in ids for name in names]
    world.rows(
        "select loci_api.store_found_names(array_fill(%(ns_id)s::integer, array[%(count)s]), %(ids)s, %(names)s)",
        count=len(pairs),
        ids=[memory for memory, _ in pairs],
        names=[name for _, name in pairs],
    )


def types(world: World) -> dict[str, str]:
    return {
        row["name"]: row["type"] for row in world.rows("select name, type from loci_data.entities where namespace_id = %(ns_id)s")
    }


@pytest.mark.row("R9")
def test_stated_entities_are_found_in_memories_however_they_are_spelt(world: World) -> None:
    note(world, "Anna")
    know(world, {"name": "RabbitMQ", "aliases": ["the bus"]}, "田中太郎")
    texts = (
        "we moved to rabbitmq",
        "The bus is slow, and RabbitMQ is the bus",
        "田中太郎さんは東京にいます",
        "anna is here",
        "nothing",
    )
    ids = [world.write(text)["id"] for text in texts]
    noted = "select loci_api.store_found_names('{}', '{}', '{}', array_fill(%(ns_id)s::integer, array[5]), %(ids)s)"
    assert world.value(noted, ids=ids) == 3
    assert world.value(noted, ids=ids) == 0
    rows = world.rows(
        """select e.name, m.memory_id from loci_data.memory_mentions m join loci_data.entities e using (namespace_id)
           where m.namespace_id = %(ns_id)s and e.id = m.entity_id and m.memory_id = any (%(ids)s)""",
        ids=ids,
    )
    assert {(row["name"], row["memory_id"]) for row in rows} == {("RabbitMQ", ids[0]), ("RabbitMQ", ids[1]), ("田中太郎", ids[2])}


def read(world: World, *texts: str) -> list[Any]:
    """Write memories and read them for names, one after the other, as the worker does; their ids."""
    ids = []
    for text in texts:
        ids.append(world.write(text)["id"])
        names = list_name_phrases(find_names(text))
        world.rows(
            """select loci_api.store_found_names(array_fill(%(ns_id)s::integer, array[%(count)s]), array_fill(%(id)s::uuid,
                      array[%(count)s]), %(names)s, array[%(ns_id)s::integer], array[%(id)s::uuid])""",
            count=len(names),
            id=ids[-1],
            names=names,
        )
    return ids


def mentioned(world: World) -> dict[str, list[Any]]:
    """Which memories mention which entity, in the order of their writing."""
    rows = world.rows(
        """select e.name, array_agg(m.memory_id order by m.memory_id) as ids, min(e.mentions) as mentions
           from loci_data.memory_mentions m join loci_data.entities e using (namespace_id)
           where m.namespace_id = %(ns_id)s and e.id = m.entity_id group by e.name"""
    )
    assert all(row["mentions"] == len(row["ids"]) for row in rows)
    return {row["name"]: row["ids"] for row in rows}


@pytest.mark.row("R9")
@pytest.mark.parametrize("first", ["Yesterday", "Presumably", "Professor", "On Monday"])
def test_a_name_behind_another_capitalised_word_counts_and_links(world: World, first: str) -> None:
    texts = (f"{first} Maria Gonzalez presented the plan", "Today Maria Gonzalez called", "maria gonzalez, and Maria Gonzalez")
    ids = read(world, *texts)
    assert mentioned(world) == {"Maria Gonzalez": ids}


@pytest.mark.row("R9")
def test_the_longest_shared_phrase_becomes_the_name(world: World) -> None:
    ids = read(world, *(f"{n}: we walked on the Great Wall of China, and The Great Wall of China is long" for n in range(3)))
    assert mentioned(world) == {"The Great Wall of China": ids}


@pytest.mark.row("R9")
def test_a_known_name_of_any_type_is_found_in_every_text(world: World) -> None:
    known = {"Oslo": "place", "Will Fox": "extracted", "Anna": "extracted", "田中太郎": "extracted"}
    know(world, *({"name": name, "type": type_} for name, type_ in known.items()))
    ids = read(
        world, "the will fox in oslo", "Will Fox came", "Anna, says Will Fox", "田中太郎さん", "é will fox, Will Fox", "é will fox"
    )
    assert mentioned(world) == {"Oslo": ids[:1], "Will Fox": [ids[1], ids[2], ids[4]], "Anna": [ids[2]], "田中太郎": [ids[3]]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Will you come? I hope so, may I ask?", []),
        ("Hope this helps.\n- May I go?", []),
        ("Will is here. Hope asked about it.", ["Hope"]),  # the first is a little word wherever a sentence begins
        ("Hope\n- Hope is one\n## Hope: a plan\n1. Hope is two\nx=Hope", []),
        ("Presumably Hope called", ["Hope"]),
        ("Berlin Hope called, so did King Hope and Hope Diamond", []),
        ("I saw Hope; Will you come? Ask Will.", ["Hope", "Will"]),
        ("Thanks, Will!", ["Will"]),
        ("WILL YOU COME", []),
        ("Die Bank hat zu, aber Berlin schläft nie.", ["Berlin"]),
        ("Berlin is far. Am Ufer steht die Bank", ["Berlin"]),
        ("we went to the Bank of it all, to berlin", ["Bank"]),
        ("Caroline's plan for Berlin", ["Berlin", "Caroline"]),
        ("Caroline that is", []),
        ("Caroline, come!", ["Caroline"]),
    ],
)
def test_a_single_word_that_was_only_read_counts_where_it_is_spelt_as_a_name(world: World, text: str, names: list[str]) -> None:
    know(world, *({"name": name, "type": "extracted"} for name in ("Will", "Hope", "May", "Bank", "Berlin", "Caroline")))
    world.write(text)
    world.rows(
        "select loci_api.store_found_names('{}', '{}', '{}', array[%(ns_id)s::integer], array[%(id)s::uuid])",
        id=world.rows("select id from loci_data.memories where namespace_id = %(ns_id)s")[0]["id"],
    )
    assert sorted(mentioned(world)) == names


@pytest.mark.row("G3", "R9")
@pytest.mark.parametrize(("length", "kept"), [(None, ["Anna"]), (3, ["Anna", "Bob"]), (2, ["Anna", "Bob", "UN"]), (5, [])])
def test_names_shorter_than_the_setting_are_refused_when_extracted(world: World, length: int | None, kept: list[str]) -> None:
    if length is not None:
        world.rows("select * from loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"extracted_length": length}}))
    note(world, "UN", "Bob", "Anna")
    assert types(world) == dict.fromkeys(kept, "extracted")


@pytest.mark.row("G3")
def test_a_short_name_may_be_written_by_hand(world: World) -> None:
    know(world, "X", "Bob")
    assert types(world) == {"X": "unknown", "Bob": "unknown"}


@pytest.mark.row("G3")
def test_an_extracted_type_gives_way_to_one_written_by_hand_and_never_the_reverse(world: World) -> None:
    note(world, "Anna", "Oslo")
    know(world, {"name": "anna", "type": "person"}, {"name": "Oslo", "type": "unknown"}, {"name": "Rome", "type": "city"})
    note(world, "Anna", "Rome")
    know(world, {"name": "Anna", "type": "extracted"})
    assert types(world) == {"Anna": "person", "Oslo": "extracted", "Rome": "city"}


def test_a_question_holds_names_of_entities_and_of_single_memories_but_none_inside_a_longer_one(owned: World) -> None:
    world = owned
    know(world, "New York", "York", "New York Times")
    alone = world.write("a memory that alone mentions Grace O’Hara")["id"]
    world.rows("select loci_api.store_found_names(array[%(ns_id)s::integer], array[%(id)s], array['Grace O’Hara'])", id=alone)
    world.connection.execute("reset session authorization")
    text = "Did grace  o'hara read the New York Times in york?"
    rows = world.rows("select * from loci_internal.question_names(%(ns_id)s, %(text)s)", text=text)
    assert {(row["name"], row["memory_id"]) for row in rows} == {("new york times", None), ("york", None), ("grace o'hara", alone)}


# Found by an alias


def upsert(world: World, *items: dict[str, Any]) -> list[dict[str, Any]]:
    return world.rows("select * from loci_api.upsert_entities(%(ns)s, %(items)s)", items=Jsonb(list(items)))


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("spelling", ["Ada Lovelace", "ada  lovelace"])
def test_an_entity_is_found_by_its_name_among_the_aliases_of_a_new_one(world: World, together: bool, spelling: str) -> None:
    items = [{"name": "Ada Lovelace"}, {"name": "Countess", "aliases": [spelling, "Lady L"]}, {"name": "Countess"}]
    made = upsert(world, *items) if together else [row for item in items for row in upsert(world, item)]
    assert len({row["id"] for row in made}) == 1
    assert [(row["name"], row["created"]) for row in made] == [
        ("Ada Lovelace", True),
        ("Ada Lovelace", False),
        ("Ada Lovelace", False),
    ]
    row = world.row("select name, aliases from loci.get_entity(%(ns)s, 'countess')")
    assert (row["name"], sorted(row["aliases"])) == ("Ada Lovelace", ["Countess", "Lady L"])


def test_an_alias_that_others_have_as_an_alias_too_may_be_shared(world: World) -> None:
    upsert(world, {"name": "Alexander Smith", "aliases": ["Alex"]})
    assert upsert(world, {"name": "Alexandra Jones", "aliases": ["Alex"]})[0]["created"]


def test_a_name_that_is_known_means_whom_it_meant_whatever_its_aliases(world: World) -> None:
    ada, countess = upsert(world, {"name": "Ada Lovelace"}, {"name": "Countess"})
    assert upsert(world, {"name": "Countess", "aliases": ["Ada Lovelace"]})[0]["id"] == countess["id"] != ada["id"]


def test_aliases_that_are_the_names_of_two_entities_are_refused_with_both(world: World) -> None:
    upsert(world, {"name": "Ada Lovelace"}, {"name": "Ada King"})
    with pytest.raises(UniqueViolation, match="Ada King, Ada Lovelace") as raised, world.connection.transaction():
        upsert(world, {"name": "Zeus"}, {"name": "Countess", "aliases": ["Ada Lovelace", "Ada King"]})
    assert raised.value.diag.column_name == "entities[1].aliases"
    assert world.value("select count(*) from loci.list_entities(%(ns)s)") == 2
