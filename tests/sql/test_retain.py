"""Retain by rules: what becomes of each fact of a text."""

from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from psycopg.errors import InsufficientPrivilege, InvalidParameterValue, NoDataFound, SerializationFailure
from psycopg.types.json import Jsonb

from tests.catalogue import ROOT
from tests.factories import Row, World, act_as, day, grant, stated


def retain(world: World, *facts: str, decisions: list[Row] | None = None, dry_run: bool = False, **fields: Any) -> list[Row]:
    return world.rows(
        "select * from loci_api.retain(%(ns)s, %(items)s, %(decisions)s, %(dry)s)",
        items=Jsonb([stated({"content": fact, **fields}) for fact in facts]),
        decisions=None if decisions is None else Jsonb([stated(row) for row in decisions]),
        dry=dry_run,
    )


def actions(world: World, *facts: str, **fields: Any) -> list[str]:
    return [row["action"] for row in retain(world, *facts, **fields)]


def setting(world: World, **settings: Any) -> None:
    world.rows("select * from loci_api.update_namespace(%(ns)s, %(s)s)", s=Jsonb({"settings": settings}))


def versions(world: World, ref: str | UUID) -> list[tuple[str, bool]]:
    return [(row["content"], row["current"]) for row in world.history(str(ref))]


# What is new, what is known


@pytest.mark.row("L3")
def test_a_fact_that_nothing_is_like_becomes_a_memory_of_layer_2(world: World) -> None:
    (made,) = retain(
        world, "Alice lives in Berlin", category="people/alice", tags=["home"], source="Bob", session_id="s1", metadata={"a": None}
    )
    memory = world.get(made["memory_id"])
    assert (made["action"], made["superseded"], made["target_id"], made["links"]) == ("create", None, None, [])
    assert {key: memory[key] for key in ("content", "layer", "category", "tags", "source", "session_id", "metadata")} == {
        "content": "Alice lives in Berlin",
        "layer": 2,
        "category": "people/alice",
        "tags": ["home"],
        "source": "Bob",
        "session_id": "s1",
        "metadata": {"a": None},
    }


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    "again",
    [
        "Alice lives in Berlin",
        "Alice lives in Berlin.",
        "alice  resides in Berlin",
        "Alice still really lives in Berlin",
    ],
)
def test_a_fact_that_is_known_reinforces_what_is_there(world: World, again: str) -> None:
    known = world.write("Alice lives in Berlin")
    (decision,) = retain(world, again)
    assert (decision["action"], decision["memory_id"], decision["target_id"]) == ("nothing", known["id"], known["id"])
    assert world.get(known["id"])["observations"] == 2
    assert world.visible() == ["Alice lives in Berlin"]


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("Bob reports to Alice", "Alice reports to Bob"),
        ("Alice works at Acme", "Alice worked at Acme"),
        ("Alice knows C", "Alice knows C++"),
        ("The limit is 5", "The limit is -5"),
        ("Alice flew from Rome to Oslo", "Alice flew to Rome from Oslo"),
        ("Alice likes tea", "Alice might like tea"),
        ("我住在柏林", "我住在波尔图"),
    ],
)
def test_words_that_change_what_is_said_make_no_duplicate(world: World, known: str, told: str) -> None:
    world.write(known)
    assert actions(world, told) != ["nothing"]


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    "asked",
    ["Which broker does the billing service use?", "Wo wohnt Bob?", "「ボブはどこですか？」", "Is it?  "],  # noqa: RUF001
)
def test_a_question_is_no_fact(world: World, asked: str) -> None:
    (decision, told) = retain(world, asked, "Bob lives in Ulm, right?")
    assert (decision["action"], decision["memory_id"], decision["target_id"]) == ("nothing", None, None)
    assert decision["reason"] == "it is a question and states nothing"
    assert (told["action"], world.visible()) == ("create", ["Bob lives in Ulm, right?"])


@pytest.mark.row("L3")
@pytest.mark.parametrize("marks", ["...", "!!!", "🙂", "?", "—", "\u200b . ", "🇩🇪 ❤️", "。。。", "(_)"])
def test_marks_alone_are_no_fact(world: World, marks: str) -> None:
    (decision,) = retain(world, marks)
    assert (decision["action"], decision["memory_id"], world.visible()) == ("nothing", None, [])
    assert decision["reason"] == "it has no letter and no digit, and states nothing"
    assert retain(world, marks, spoken=True) == [decision]


@pytest.mark.parametrize("told", ["42", "٤٢", "茶", "お茶 🙂", "चाय", "ชา", "שלום", "ß", "차"])
def test_a_letter_or_a_digit_of_any_script_is_a_fact(world: World, told: str) -> None:
    assert actions(world, told) == ["create"]


PAIRS = [line.split("\t") for line in (ROOT / "tests/data/retain_pairs.tsv").read_text().splitlines()]
BECOMES = {"update": "ends", "nothing": "same", "link": "apart", "create": "apart"}


SMALL_TALK = """Hi! / Hello there / Hey Bob! / Thanks a lot! / thank you so much for your help / Ok, sounds good. / Sure! / Got it, thanks.
You're welcome! / No problem / Great / Haha / Have a nice day! / I'm happy to help with that. / Let me know if you need anything else.
Feel free to ask me anything / I hope this helps! / I'll keep that in mind. / Can you tell me the weather / Please write me a poem about cats.
Tell me about Oslo. / Explain quantum physics / how do I install it / I want you to act as a pirate / Let's start over
Guten Morgen! / Vielen Dank! / Alles klar, danke. / Kannst du mir helfen / Schreib mir ein Gedicht / Das merke ich mir."""
FACTS = """Hi, I'm Bob. / Thanks to Alice the build is green. / Sure things bore me. / Write access is limited to admins. / I live in Oslo
Please remember that I prefer tea. / Remember: the door code is 1234. / Create a ticket because the pump is broken. / Yes, I work at Acme.
Good mornings begin with coffee for me. / Bob is fine. / Great Expectations is my favourite book. / Let me know is a song that Ada likes.
Can is a town. / OK Go is a band. / I will move to Rome in May. / Ich wohne in Ulm. / Danke, ich heiße Eva. / Check-in is at noon."""


@pytest.mark.row("L3")
@pytest.mark.parametrize("said", SMALL_TALK.replace(" / ", "\n").split("\n"))
def test_small_talk_and_requests_of_a_conversation_are_no_facts(world: World, said: str) -> None:
    assert [row["reason"] for row in retain(world, said, spoken=True)] == [
        "it is small talk, or asks for something, and states nothing"
    ]
    assert world.visible() == []
    assert actions(world, said) == ["create"]  # in a text that is no conversation nothing is left out


def test_a_sentence_that_tells_something_is_a_fact_of_a_conversation(world: World) -> None:
    told = FACTS.replace(" / ", "\n").split("\n") + sorted({fact for pair in PAIRS for fact in pair[2:4] if not fact.endswith("?")})
    decided = [
        row for start in range(0, len(told), 150) for row in retain(world, *told[start : start + 150], spoken=True, dry_run=True)
    ]
    idle = [fact for fact, row in zip(told, decided, strict=True) if "small talk" in row["reason"]]
    assert (idle, len(decided) > 300) == ([], True)


def became(world: World, known: str, told: str) -> str:
    """What a fact becomes beside another that is known, in a namespace of their own."""
    with world.connection.transaction(force_rollback=True):
        if known.endswith("?"):  # which retain does not keep
            world.write(known)
        else:
            retain(world, known)
        (decision,) = retain(world, told, dry_run=True)
    return "apart" if told.endswith("?") else BECOMES[decision["action"]]


@pytest.mark.row("L3")
@pytest.mark.parametrize(("half", "found", "known"), [(0, 0.95, 0.95), (1, 0.85, 0.85)], ids=["tuned", "held out"])
def test_rules_end_a_fact_in_98_of_100_pairs_english_and_german(world: World, half: int, found: float, known: float) -> None:
    counted = Counter((pair[0], became(world, pair[2], pair[3])) for pair in PAIRS[half::2])
    labelled, decided = Counter[str](), Counter[str]()
    for (label, decision), count in counted.items():
        labelled[label] += count
        decided[decision] += count
    assert counted["ends", "ends"] >= 0.98 * decided["ends"]
    assert counted["same", "same"] >= 0.98 * decided["same"]
    assert counted["ends", "ends"] >= found * labelled["ends"]
    assert counted["same", "same"] >= known * labelled["same"]


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("Bob moved to Berlin.", "Bob moved to Munich."),
        ("Bob moved to Berlin.", "Bob lives in Munich."),
        ("Bob lives in Berlin.", "Bob moved to Munich, formerly in Berlin."),
        ("The API listens on port 8080.", "The API listens on port 9090."),
        ("The port is 8080.", "The port is 9090."),
        ("The release is on 2024-03-01.", "The release is on 2024-05-01."),
        ("Bob wohnt in Berlin.", "Bob ist nach München gezogen, früher in Berlin."),
        ("Bob arbeitet bei Acme.", "Bob arbeitet nicht mehr bei Acme."),
    ],
)
def test_a_change_is_told_from_a_fact_beside_it(world: World, known: str, told: str) -> None:
    retain(world, known)
    assert actions(world, told) == ["update"]
    assert world.visible() == [told]


@pytest.mark.parametrize(
    ("known", "told"), [("Bob lives in Munich.", "Bob lives in Munich now."), ("Bob lives in Munich now.", "Bob lives in Munich.")]
)
def test_that_it_is_so_now_is_nothing_new(world: World, known: str, told: str) -> None:
    retain(world, known)
    assert actions(world, told) == ["nothing"]


def test_a_former_state_is_not_lost_where_the_rest_is_known(world: World) -> None:
    retain(world, "Bob lives in Munich.")
    assert actions(world, "Bob lives in Munich, formerly in Berlin.") != ["nothing"]


def test_the_same_fact_of_a_chinese_text_is_known(world: World) -> None:
    world.write("我住在柏林。")
    assert actions(world, "我住在柏林") == ["nothing"]


def test_my_statement_is_no_duplicate_of_anothers(world: World) -> None:
    retain(world, "I live in Berlin", source="alice")
    assert actions(world, "I live in Oslo", source="bob") == ["link"]
    assert actions(world, "I live in Berlin.", source="carol")[0] != "nothing"
    assert actions(world, "I live in Rome", source="alice") == ["update"]


def test_episodes_and_concepts_are_neither_ended_nor_taken_for_the_fact(world: World) -> None:
    world.write("Alice lives in Berlin", layer=3)
    world.write("Bob lives in Berlin", layer=1)
    assert actions(world, "Alice lives in Berlin", "Bob lives in Oslo") == ["create", "create"]


# What is superseded


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("known", "told", "signal"),
    [
        ("Alice lives in Berlin", "Alice lives in Porto", "value_conflict"),
        ("Alice works at Acme as an engineer", "Alice no longer works at Acme", "negation"),
        ("The beta is enabled", "The beta is disabled", "antonym"),
        ("Alice smokes", "Alice used to smoke", "temporal_marker"),
        ("The team uses Jenkins", "The team switched from Jenkins to GitHub Actions", "temporal_marker"),
        ("Alice lives in Berlin", "Alice moved to Porto", "change"),
        ("Bob drinks coffee", "Bob drinks tea instead of coffee", "change"),
        ("Dr. Smith lives in Berlin.", "Dr. Smith lives in Porto.", "value_conflict"),
        ("The price is 3.50 euros", "The price is 4.20 euros", "value_conflict"),
    ],
)
def test_a_contradiction_makes_a_version_of_what_it_contradicts(world: World, known: str, told: str, signal: str) -> None:
    old = world.write(known)
    (decision,) = retain(world, told)
    assert (decision["action"], decision["signal"], decision["superseded"]) == ("update", signal, old["id"])
    assert decision["lineage"] == old["lineage"]
    assert versions(world, old["id"]) == [(known, False), (told, True)]
    assert world.visible() == [told]


@pytest.mark.row("L3")
@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("I live in Oslo.", "I moved to Bergen."),
        ("I moved to Bergen.", "I live in Rome now."),
        ("We are based in Kiel.", "We relocated to Bonn."),
        ("Ich wohne in Kiel.", "Ich bin nach Bonn gezogen."),
        ("Wir sind nach Bonn gezogen.", "Wir wohnen in Kiel."),
    ],
)
def test_a_told_move_ends_the_speakers_former_home(world: World, known: str, told: str) -> None:
    old = world.write(known, source="ann")
    for place in ("Rome", "Lima", "Cairo", "Quito", "Turin", "Porto", "Basel", "Minsk", "Ghent"):  # more than are compared
        world.write(f"{place} is where Bob lives and lived, moved to and moved from", source="bob")
    assert actions(world, "I like tea with milk", source="ann") == ["create"]
    (decision,) = retain(world, told, source="ann")
    assert (decision["action"], decision["superseded"]) == ("update", old["id"])
    assert actions(world, told, source="carol")[0] != "update"


def test_a_version_joins_the_named_lineage_and_keeps_its_category(world: World) -> None:
    world.write("Alice lives in Berlin", lineage="alice-home", category="people/alice")
    (decision,) = retain(world, "Alice lives in Porto")
    assert decision["lineage"] == "alice-home"
    assert world.get(decision["memory_id"])["category"] == "people/alice"


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("Alice uses Vim", "Alice uses Emacs"),
        ("Alice likes tea", "Bob does not like tea"),
        ("My brother lives in Berlin", "I live in Porto"),
        ("He lives in Berlin", "She lives in Porto"),
        ("Alice lives in Berlin", "Lives in Porto"),
        ("Alice lives in Berlin", "Alice lived in Porto"),
        ("Alice lives in Berlin and works at Acme", "Alice lives in Porto"),
        ("Alice lives in Berlin. Bob likes tea.", "Alice lives in Porto"),
        ("Alice lives in Berlin", "Alice may live in Porto"),
        ("Alice lives in Berlin", "Alice moved to the sales team"),
        ("Alice lives in Berlin", "Alice moved to Python 3"),
        ("Alice lives in Berlin", "Alice moved to a bigger flat"),
        ("Alice is based in Madrid", "Alice is based in the finance department"),
        ("Alice works for Carol", "Alice works at Acme"),
        ("Alice has 3 meetings today", "Alice has 2 meetings tomorrow"),
        ("Alice reports to Carol on hardware", "Alice reports to Dan on software"),
        ("Alice likes coffee", "Alice does not like instant coffee"),
    ],
)
def test_in_doubt_a_fact_becomes_a_memory_of_its_own(world: World, known: str, told: str) -> None:
    world.write(known)
    assert actions(world, told)[0] in {"create", "link"}
    assert world.visible() == [known, told]


def test_one_of_several_contradicted_memories_gets_a_version_and_the_others_a_link(world: World) -> None:
    old = [world.write("Alice lives in Berlin"), world.write("Alice lives in Berlin, Germany")]
    (decision,) = retain(world, "Alice lives in Porto")
    (other,) = [row for row in old if row["id"] != decision["superseded"]]
    assert decision["links"] == [{"target_id": str(other["id"]), "type": "contradicts", "strength": 0.75}]
    links = world.rows("select * from loci.list_links(%(ns)s, %(id)s)", id=decision["memory_id"])
    assert [(row["type"], row["strength"]) for row in links] == [("contradicts", 0.75)]


def test_a_fact_ends_a_users_statement_before_a_nearer_one_of_an_assistant(plane: World) -> None:
    asked = plane.write("Alice lives in Oslo", embedding=[0, 1])
    said = plane.write("Alice lives in Rome", embedding=[1, 0], source="assistant")
    (by_assistant,) = retain(plane, "Alice lives in Riga", embedding=[0, 1], source="assistant")
    assert by_assistant["superseded"] == said["id"]
    (by_user,) = retain(plane, "Alice lives in Bergen", embedding=[1, 0])
    assert by_user["superseded"] == asked["id"]


@pytest.mark.parametrize("mode", ["propose", "off"])
def test_a_contradiction_is_linked_where_supersession_does_not_act(world: World, mode: str) -> None:
    setting(world, supersession=mode)
    known = world.write("Alice lives in Berlin")
    (decision,) = retain(world, "Alice lives in Porto")
    assert (decision["action"], decision["links"][0]["type"]) == ("link", "contradicts")
    assert world.get(known["id"])["current"]


# One text


def test_a_text_corrects_itself(world: World) -> None:
    first, second, third = retain(world, "Alice lives in Berlin", "Bob likes tea", "Actually, Alice lives in Porto")
    assert [row["action"] for row in (first, second, third)] == ["create", "create", "update"]
    assert (third["superseded"], third["lineage"]) == (first["memory_id"], str(first["memory_id"]))
    assert versions(world, first["memory_id"]) == [("Alice lives in Berlin", False), ("Actually, Alice lives in Porto", True)]


def test_a_text_may_change_its_mind_about_what_is_stored(world: World) -> None:
    old = world.write("Alice lives in Berlin")
    assert actions(world, "Alice lives in Porto", "Alice lives in Rome", "Alice lives in Rome.") == ["update", "update", "nothing"]
    assert versions(world, old["id"]) == [
        ("Alice lives in Berlin", False),
        ("Alice lives in Porto", False),
        ("Alice lives in Rome", True),
    ]


def test_a_text_that_repeats_itself_makes_one_memory(world: World) -> None:
    rows = retain(world, "Alice likes tea", "Alice likes tea.", "Alice likes tea")
    assert [row["action"] for row in rows] == ["create", "nothing", "nothing"]
    assert len({row["memory_id"] for row in rows}) == 1
    assert world.get(rows[0]["memory_id"])["observations"] == 3


def test_the_same_text_again_changes_nothing_but_counts(world: World) -> None:
    text = ("Alice lives in Berlin", "Alice moved to Porto", "Bob drinks coffee", "Carol's dog is called Rex")
    retain(world, *text)
    before = world.visible()
    assert set(actions(world, *text[1:])) == {"nothing"}
    assert world.visible() == before


@pytest.mark.row("L3")
def test_related_facts_are_linked_by_how_near_they_are(world: World) -> None:
    setting(world, unsettled_named=0)
    known = world.write("The API gateway times out after 30 seconds")
    (decision,) = retain(world, "The API gateway times out often")
    assert (decision["action"], decision["target_id"]) == ("link", known["id"])
    assert [row["type"] for row in world.rows("select * from loci.list_links(%(ns)s, %(id)s)", id=known["id"])] == ["related_to"]


# Times


def test_a_fact_of_the_past_takes_its_place_in_the_chain(world: World) -> None:
    now = world.write("Alice lives in Porto", valid_from=day(200))
    (decision,) = retain(world, "Alice lives in Berlin", valid_from=day(100))
    assert (decision["action"], decision["superseded"], decision["lineage"]) == ("update", None, now["lineage"])
    assert (world.visible(day(150)), world.visible(day(250))) == (["Alice lives in Berlin"], ["Alice lives in Porto"])


def test_a_fact_of_the_past_that_is_known_is_not_written_again(world: World) -> None:
    for _ in range(3):
        retain(world, "Alice lives in Berlin", valid_from=day(100))
    assert len(world.rows("select from loci_data.memories where namespace_id = %(ns_id)s")) == 1


def test_an_earlier_beginning_extends_a_known_fact(world: World) -> None:
    world.write("Alice lives in Porto", lineage="home", valid_from=day(200))
    assert actions(world, "Alice lives in Porto", valid_from=day(100)) == ["update"]
    assert actions(world, "Alice lives in Porto", valid_from=day(100)) == ["nothing"]
    assert world.visible(day(150)) == world.visible(day(250)) == ["Alice lives in Porto"]


# Vectors


@pytest.fixture
def plane(owned: World) -> World:
    """A namespace in a service whose model has two dimensions."""
    owned.connection.execute("reset session authorization")
    owned.connection.execute("update loci_data.embedding_models set active = false where active")
    owned.connection.execute("insert into loci_data.embedding_models (name, dimensions, active) values ('plane', 2, true)")
    owned.connection.execute("set session authorization loci_app")
    return owned


def test_a_fact_near_another_in_meaning_alone_is_linked_if_they_share_a_word(plane: World) -> None:
    known = plane.write("Alice plays the cello", embedding=[1, 0])
    plane.write("Bob cooks", embedding=[1, 0.1])
    (decision,) = retain(plane, "Every Friday Alice makes music", embedding=[1, 0])
    assert (decision["action"], [row["target_id"] for row in decision["links"]]) == ("link", [str(known["id"])])
    assert decision["links"][0]["strength"] == 1


def test_facts_of_one_text_are_compared_by_meaning_too(plane: World) -> None:
    plane.write("Bob cooks", embedding=[0, 1])
    first, second = retain(plane, "Alice plays the cello", "On Fridays Alice plays quartets", embedding=[1, 0])
    assert (second["action"], second["target_id"]) == ("link", first["memory_id"])


def test_a_vector_serves_at_once_and_is_made_again_where_there_is_more_to_say_than_the_fact(plane: World) -> None:
    (bare,) = retain(plane, "Alice plays the cello", embedding=[1, 0])
    (said,) = retain(plane, "Rain fell in Oslo", embedding=[0, 1], source="Bob")
    near = plane.rows("select id from loci.similar_memories(%(ns)s, array[0, 1]::real[], 1)")
    assert [row["id"] for row in near] == [said["memory_id"]]
    waiting = plane.rows("select loci_data.embedding_queue.memory_id from loci_data.embedding_queue where namespace_id = %(ns_id)s")
    assert [row["memory_id"] for row in waiting] == [said["memory_id"]]
    assert bare["memory_id"] != said["memory_id"]


def test_a_vector_of_another_length_than_the_models_is_left_out(plane: World) -> None:
    assert actions(plane, "Alice plays the cello", embedding=[1, 0, 0]) == ["create"]


# Dry run, given decisions, errors


def test_a_dry_run_says_what_a_run_does_and_writes_nothing(world: World) -> None:
    world.write("Alice lives in Berlin")
    world.write("Bob likes tea")
    text = (
        "Alice lives in Porto",
        "Bob likes tea.",
        "Carol plays the cello",
        "Carol no longer plays the cello",
        "Alice lives in Rome",
    )
    before = world.rows("select * from loci_data.memories where namespace_id = %(ns_id)s order by id")
    planned = retain(world, *text, dry_run=True)
    assert world.rows("select * from loci_data.memories where namespace_id = %(ns_id)s order by id") == before
    done = retain(world, *text)
    same = ("ordinal", "action", "confidence", "reason", "signal")
    assert [[row[key] for key in same] for row in planned] == [[row[key] for key in same] for row in done]
    assert [row["memory_id"] for row in planned if row["action"] != "nothing"] == [None] * 4


def test_decisions_that_are_given_are_followed(world: World) -> None:
    cat, dog = world.write("Alice has a cat"), world.write("Alice has a dog")
    rows = retain(
        world,
        "Alice gave the cat away",
        "Alice walks the dog",
        "Alice has a dog!",
        "It rains",
        decisions=[
            {"ordinal": 0, "action": "update", "target_id": cat["id"], "confidence": 0.9, "reason": "says the model"},
            {"ordinal": 1, "action": "link", "target_id": dog["id"]},
            {"ordinal": 2, "action": "nothing", "target_id": dog["id"]},
            {"ordinal": 3, "action": "create"},
        ],
    )
    assert [row["action"] for row in rows] == ["update", "link", "nothing", "create"]
    assert (rows[0]["superseded"], rows[0]["reason"]) == (cat["id"], "says the model")
    assert world.get(dog["id"])["observations"] == 2


@pytest.mark.parametrize(
    ("decisions", "column"),
    [
        ([], "decisions"),
        ([{"ordinal": 1, "action": "create"}], "decisions.0.ordinal"),
        ([{"ordinal": 0, "action": "forget"}], "decisions.0.action"),
        ([{"ordinal": 0, "action": "update"}], "decisions.0.target_id"),
    ],
)
def test_decisions_that_make_no_sense_are_refused_by_name(world: World, decisions: list[Row], column: str) -> None:
    with pytest.raises(InvalidParameterValue) as refused:
        retain(world, "Alice likes tea", decisions=decisions)
    assert refused.value.diag.column_name == column


def test_a_decision_about_a_memory_of_nobody_is_refused(world: World) -> None:
    with pytest.raises(NoDataFound):
        retain(world, "x", decisions=[{"ordinal": 0, "action": "update", "target_id": UUID(int=7)}])


def test_a_given_decision_that_no_longer_stands_is_refused(world: World) -> None:
    old = world.write("Alice lives in Berlin", lineage="home")
    world.write("Alice lives in Rome", lineage="home")
    with pytest.raises(SerializationFailure):
        retain(world, "Alice lives in Porto", decisions=[{"ordinal": 0, "action": "update", "target_id": old["id"]}])


def test_more_facts_than_the_namespace_allows_are_refused(world: World) -> None:
    setting(world, retain_facts=2)
    with pytest.raises(InvalidParameterValue, match="has 3 facts; at most 2") as refused:
        retain(world, "a", "b", "c")
    assert refused.value.diag.column_name == "content"


@pytest.mark.parametrize("function", ["retain", "reflect"])
def test_readers_may_not_change_what_is_known(owned: World, function: str) -> None:
    owned.connection.execute("reset session authorization")
    reader = grant(owned.connection, owned.name, "reader")
    owned.connection.execute("set session authorization loci_app")
    act_as(owned.connection, reader)
    with pytest.raises(InsufficientPrivilege):
        owned.rows(
            'select * from loci_api.retain(%(ns)s, \'[{"content": "x"}]\')'
            if function == "retain"
            else "select * from loci_api.reflect(%(ns)s)"
        )


# What a decision elsewhere needs


def to_decide(world: World, *facts: str, **fields: Any) -> list[Row]:
    items = Jsonb([stated({"content": fact, **fields}) for fact in facts])
    return world.rows("select * from loci_api.facts_to_decide(%(ns)s, %(items)s)", items=items)


def test_decisions_of_the_rules_can_be_given_back_to_them(world: World) -> None:
    world.write("Alice lives in Berlin")
    world.write("Bob likes tea")
    text = ("Alice moved to Porto", "Bob likes tea.", "Carol plays the cello", "Carol no longer plays the cello")
    rows = to_decide(world, *text)
    assert [(row["decision"]["action"], row["is_settled"]) for row in rows] == [
        ("update", False),
        ("nothing", True),
        ("create", False),
        ("update", False),
    ]
    done = retain(world, *text, decisions=[row["decision"] for row in rows])
    assert [row["action"] for row in done] == ["update", "nothing", "create", "update"]
    assert versions(world, done[3]["memory_id"]) == [("Carol plays the cello", False), ("Carol no longer plays the cello", True)]


def test_memories_shown_beside_a_fact_are_numbered_and_say_whether_they_are_protected(world: World) -> None:
    world.write("Alice lives in Berlin", importance=0.9)
    world.write("Alice lives near a park")
    rows = to_decide(world, "Alice lives in Porto", "Alice lives in Rome")
    assert [[one["number"] for one in row["known"]] for row in rows] == [[1, 2], [1, 2, 3]]
    assert {one["content"]: one["is_protected"] for one in rows[1]["known"]} == {
        "Alice lives in Berlin": True,
        "Alice lives near a park": False,
        "Alice lives in Porto": False,
    }
    assert [one["fact"] for one in rows[1]["known"] if one["memory_id"] is None] == [0]


def test_a_given_decision_about_a_later_fact_is_refused(world: World) -> None:
    with pytest.raises(InvalidParameterValue) as refused:
        retain(
            world,
            "Alice likes tea",
            "Alice likes milk",
            decisions=[{"ordinal": 0, "action": "update", "fact": 1}, {"ordinal": 1, "action": "create"}],
        )
    assert refused.value.diag.column_name == "decisions.0.target_id"


def test_a_link_to_what_was_erased_meanwhile_is_decided_again(world: World) -> None:
    old, other = world.write("Alice has a cat"), world.write("Alice has a dog")
    world.erase(other["id"])
    links = [{"target_id": str(end), "type": "related_to", "strength": 0.5} for end in (old["id"], other["id"])]
    with pytest.raises(SerializationFailure):
        retain(world, "Alice has pets", decisions=[{"ordinal": 0, "action": "link", "target_id": old["id"], "links": links}])
