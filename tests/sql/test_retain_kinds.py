"""Kinds of pairs that retain tells apart: what is over, what corrects, who does what to whom, when it was, of what, and whose name it is."""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.factories import World

pytestmark = pytest.mark.row("M11")


def told(world: World, known: str, fact: str) -> str:
    """What a fact of the same source becomes beside one that is known."""
    found: Any = "nothing"
    for text in (known, fact):
        items = Jsonb([{"content": text, "source": "user"}])
        found = world.row("select action from loci_api.retain(%(ns)s, %(items)s)", items=items)["action"]
    return str(found)


def ends(world: World, known: str, fact: str) -> bool:
    """Whether a fact makes a version of the one that is known."""
    return told(world, known, fact) == "update" and world.visible() == [fact]


def stands_beside(world: World, known: str, fact: str) -> bool:
    """Whether a fact is stored, and the one that is known stays."""
    return told(world, known, fact) in {"create", "link"} and world.visible() == [known, fact]


def signal(world: World, older: str, newer: str) -> str | None:
    rows = world.rows("select signal from loci.contradiction(%(o)s, %(n)s)", o=older, n=newer)
    return str(rows[0]["signal"]) if rows else None


# What somebody has stopped doing


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("I smoke.", "I quit smoking."),
        ("I smoke.", "I've stopped smoking."),
        ("Tom smokes.", "Tom quit smoking."),
        ("Tom smokes.", "Tom has given up smoking."),
        ("I play golf.", "I quit playing golf."),
        ("I play golf.", "I gave up playing golf."),
        ("I play golf.", "I no longer play golf."),
        ("We use Jenkins.", "We stopped using Jenkins."),
        ("The service responds.", "The service stopped responding."),
        ("I quit smoking.", "I smoke again."),
        ("Ich rauche.", "Ich habe aufgehört zu rauchen."),
        ("Ich rauche.", "Ich habe mit dem Rauchen aufgehört."),
        ("Tom raucht.", "Tom hört auf zu rauchen."),
        ("Tom spielt Golf.", "Tom hat aufgehört, Golf zu spielen."),
        ("Jan trinkt Bier.", "Jan trinkt kein Bier mehr."),
    ],
)
def test_to_have_stopped_ends_that_it_is_done(world: World, known: str, fact: str) -> None:
    assert ends(world, known, fact)


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("Tom smokes.", "Ann quit smoking."),
        ("Tom smokes.", "Tom quit smoking cigars."),
        ("Tom smokes.", "Tom has to stop smoking."),
        ("Tom smokes.", "Tom is about to quit smoking."),
        ("Tom smokes.", "Tom can't stop smoking."),
        ("I smoke.", "I quit drinking."),
        ("I smoke.", "I stopped to smoke."),
        ("I play golf.", "I want to quit playing golf."),
        ("I play golf.", "I did not quit playing golf."),
        ("I play golf.", "I quit playing golf on Sundays."),
        ("Bob works at Acme", "Bob quit his job at Acme"),
        ("Tom raucht.", "Eva hat aufgehört zu rauchen."),
        ("Tom raucht.", "Tom hat nicht aufgehört zu rauchen."),
    ],
)
def test_somebody_else_something_else_or_a_wish_to_stop_ends_nothing(world: World, known: str, fact: str) -> None:
    assert stands_beside(world, known, fact)


def test_quite_is_not_quit(world: World) -> None:
    assert told(world, "Dana likes tea.", "Dana quite likes tea.") == "nothing"


# Opposites in the first person


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("I love Thai food.", "I hate Thai food."),
        ("I like Thai food.", "I dislike Thai food."),
        ("I enjoy running.", "I hate running."),
        ("I trust the new vendor.", "I distrust the new vendor."),
        ("We support the plan.", "We oppose the plan."),
        ("My brother loves jazz.", "My brother hates jazz."),
        ("Priya loves Thai food.", "Priya hates Thai food."),
        ("Ich liebe Jazz.", "Ich hasse Jazz."),
    ],
)
def test_the_opposite_of_what_a_speaker_said_ends_it(world: World, known: str, fact: str) -> None:
    assert ends(world, known, fact)


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("I love Thai food.", "I hate Thai beer."),
        ("I love Thai food.", "I hate instant Thai food."),
        ("I love Thai food.", "My wife hates Thai food."),
        ("I love Thai food.", "We hate Thai food."),
        ("My wife loves Thai food.", "I hate Thai food."),
        ("My brother loves jazz.", "My sister hates jazz."),
        ("I trust my doctor.", "My doctor distrusts me."),
        ("I like swimming.", "I dislike swimming in winter."),
        ("Ich liebe Jazz.", "Meine Frau hasst Jazz."),
    ],
)
def test_the_opposite_of_somebody_else_or_of_something_else_ends_nothing(world: World, known: str, fact: str) -> None:
    assert stands_beside(world, known, fact)


# Corrections in so many words


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("I drive a Volvo.", "Actually, no, I drive a Saab."),
        ("I drive a Volvo.", "I meant I drive a Saab."),
        ("I drive a Volvo.", "I don't drive a Volvo, I drive a Saab."),
        ("Tom drives a Volvo.", "Correction: Tom drives a Saab."),
        ("Tom drives a Volvo.", "Tom does not drive a Volvo, he drives a Saab."),
        ("Tom is a nurse.", "Correction: Tom is a teacher."),
        ("My flight is at 9:00.", "Correction: my flight is at 11:00."),
        ("Our office is in Bonn.", "Our office is not in Bonn, it is in Ulm."),
        ("Our office is in Bonn.", "Our office isn’t in Bonn but in Ulm."),
        ("Ich fahre einen Volvo.", "Nein, ich fahre einen Saab."),
        ("Mein Flug ist um 9:00.", "Korrektur: mein Flug ist um 11:00."),
        ("Unser Büro ist in Bonn.", "Unser Büro ist nicht in Bonn, sondern in Ulm."),
        ("Ich trinke Tee.", "Ich trinke keinen Tee, sondern Kaffee."),
        ("I drive a Volvo.", "Sorry, I meant that I drive a Saab."),
        ("I drive a Volvo.", "Actually I drive a Saab."),
        ("I drive a Volvo.", "Oops, I drive a Saab."),
        ("I drive a Volvo.", "Scratch that, I drive a Saab."),
        ("I drive a Volvo.", "No. I drive a Saab."),
        ("I drive a Volvo.", "I drive a Saab, not a Volvo."),
        ("I am 34 years old.", "Sorry, I am 35 years old."),
        ("I was born in 1990.", "I mean, I was born in 1991."),
        ("The meeting is on Monday.", "I was wrong, the meeting is on Tuesday."),
        ("The meeting is on Monday.", "The meeting is on Tuesday, not Monday."),
        ("Ich wohne in Ulm.", "Moment, nein, ich wohne in Bonn."),
        ("Ich fahre einen Volvo.", "Quatsch, ich fahre einen Saab."),
        ("Unser Büro ist in Bonn.", "Unser Büro ist in Ulm, nicht in Bonn."),
    ],
)
def test_a_correction_in_so_many_words_ends_what_it_corrects(world: World, known: str, fact: str) -> None:
    assert ends(world, known, fact)


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("I drive a Volvo.", "I drive a Saab."),
        ("I drive a Volvo.", "Actually, I also drive a Saab."),
        ("I drive a Volvo.", "No, I drive to work."),
        ("I drive a Volvo.", "No, I drive fast."),
        ("I drive a Volvo.", "No, I ride a bike."),
        ("I drive a Volvo.", "No problem, I drive a Saab."),
        ("I like tea.", "Actually, I like coffee."),
        ("I know Ann.", "No, I know Bob."),
        ("I have a dog.", "No, I have a cat."),
        ("Tom drives a Volvo.", "Correction: Ann drives a Saab."),
        ("Tom drives a Volvo.", "Correction: Tom likes tea."),
        ("My sister loves jazz.", "Correction: my sister lives in Ulm."),
        ("Our office is in Bonn.", "Our lab is not in Bonn, it is in Ulm."),
        ("Our office is in Bonn.", "Our office is not only in Bonn, it is also in Ulm."),
        ("Tom works at Acme.", "Tom isn't working at Acme today, he is ill."),
        ("Ich fahre einen Volvo.", "Nein, ich wohne in Ulm."),
        ("I am vegan.", "Sorry, I am late."),
        ("My flight is at 9:00.", "Sorry, my train is at 11:00."),
        ("I drive a Volvo.", "My wife drives a Saab, not a Volvo."),
        ("I drive a Fiat.", "I drive a Saab, not a Volvo."),
    ],
)
def test_a_correction_of_something_else_ends_nothing(world: World, known: str, fact: str) -> None:
    assert stands_beside(world, known, fact)


def test_a_correction_that_several_facts_fit_ends_none(world: World) -> None:
    assert stands_beside(world, "I drive a Volvo.", "I drive a Fiat.")
    assert told(world, "I drive a Fiat.", "No, I drive a Saab.") == "link"
    assert world.visible() == ["I drive a Volvo.", "I drive a Fiat.", "No, I drive a Saab."]


def test_a_correction_that_says_what_is_known_is_nothing_new(world: World) -> None:
    assert told(world, "I drive a Saab.", "Correction: I drive a Saab.") == "nothing"


# Who does what to whom


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("I teach chemistry.", "I am taught chemistry."),
        ("I am taught chemistry.", "I teach chemistry."),
        ("Tom invites.", "Tom is invited."),
        ("Ann manages Bob.", "Ann is managed by Bob."),
        ("Ann manages Bob.", "Ann is no longer managed by Bob."),
        ("Ann runs Acme.", "Ann is no longer run by Acme."),
        ("I trust Bob.", "I am not trusted by Bob."),
        ("Anna liebt Bob.", "Anna wird von Bob geliebt."),
    ],
)
def test_to_do_it_and_to_have_it_done_are_two_facts(world: World, known: str, fact: str) -> None:
    assert stands_beside(world, known, fact)


@pytest.mark.parametrize(
    ("known", "fact", "action"),
    [
        ("The API is used by Bob.", "The API is currently used by Bob.", "nothing"),
        ("Tom is teaching chemistry.", "Tom teaches chemistry.", "nothing"),
        ("Ann is managed by Bob.", "Ann is not managed by Bob.", "update"),
        ("Ann is managed by Bob.", "Ann is managed by Eve.", "update"),
        ("The beta flag is enabled.", "The beta flag was disabled.", "update"),
    ],
)
def test_statements_in_the_same_voice_are_compared(world: World, known: str, fact: str, action: str) -> None:
    assert told(world, known, fact) == action


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("Ann manages Bob.", "Bob manages Ann."),
        ("Ann manages Bob.", "Bob no longer manages Ann."),
        ("Ann manages Bob.", "Bob used to manage Ann."),
        ("Ann loves Bob.", "Bob hates Ann."),
        ("Acme owns Globex.", "Globex no longer owns Acme."),
        ("The parser calls the lexer.", "The lexer never calls the parser."),
        ("Vera flies from Rome to Oslo.", "Vera does not fly from Oslo to Rome."),
        ("Anna kennt Bob.", "Bob kennt Anna nicht mehr."),
    ],
)
def test_subject_and_object_exchanged_are_two_facts(world: World, known: str, fact: str) -> None:
    assert signal(world, known, fact) is None
    assert stands_beside(world, known, fact)


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("The office is closed on Fridays.", "On Fridays the office is closed."),
        ("I work from home on Fridays.", "On Fridays, I work from home."),
        ("I have a beagle named Rufus.", "My beagle is called Rufus."),
        ("I have a sister called Ann.", "My sister's name is Ann."),
        ("My sister is Ann.", "Ann is my sister."),
        ("The capital of France is Paris.", "Paris is the capital of France."),
        ("I like tea and coffee.", "I like coffee and tea."),
        ("I fly to Oslo tomorrow.", "Tomorrow I fly to Oslo."),
        ("I swim every Monday.", "Every Monday I swim."),
    ],
)
def test_a_fact_told_in_another_order_is_known(world: World, known: str, fact: str) -> None:
    assert told(world, known, fact) == "nothing"


def test_my_statement_is_no_duplicate_of_anothers_whatever_it_begins_with(world: World) -> None:
    said = "On Fridays I work from home."
    for source in ("ann", "bob"):
        world.rows(
            "select * from loci_api.retain(%(ns)s, %(items)s)",
            items=Jsonb([{"content": f"{said}{'' if source == 'ann' else ' '}", "source": source}]),
        )
    assert len(world.visible()) == 2


# When it was


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("I live in Rome.", "I lived in Rome as a child."),
        ("Olga lives in Rome.", "As a child, Olga lived in Rome."),
        ("Olga lives in Rome.", "Olga used to live in Rome as a child."),
        ("Olga works at Northwind.", "Olga worked at Contoso before."),
        ("Olga works at Northwind.", "Olga worked at Northwind in 2010."),
        ("Olga worked at Contoso.", "Olga works at Northwind."),
        ("Paul plays the piano.", "Paul played the piano back then."),
        ("Olga owns 3 cars.", "Olga owned 2 cars."),
        ("Olga wohnt in Rom.", "Olga wohnte als Kind in Rom."),
        ("Olga arbeitet bei Northwind.", "Olga arbeitete früher bei Contoso."),
    ],
)
def test_a_past_state_neither_ends_nor_repeats_a_present_one(world: World, known: str, fact: str) -> None:
    assert signal(world, known, fact) is None
    assert stands_beside(world, known, fact)


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("I live in Rome.", "I no longer live in Rome."),
        ("I live in Rome.", "I used to live in Rome."),
        ("I live in Rome.", "I lived in Rome until May."),
        ("Olga lives in Rome.", "Olga formerly lived in Rome."),
        ("Olga wohnt in Rom.", "Olga wohnte bis Mai in Rom."),
    ],
)
def test_a_statement_that_something_is_over_ends_it(world: World, known: str, fact: str) -> None:
    assert ends(world, known, fact)


# What adds up


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("Olga takes 20 mg of Abrol in the morning.", "Olga takes 5 mg of Belta in the morning."),
        ("Olga takes 20 mg of Abrol in the morning.", "Olga takes 10 mg of Abrol in the evening."),
        ("I take 20 mg of Abrol.", "I take 5 mg of Belta."),
        ("Ben has 2 cats.", "Ben has 3 dogs."),
        ("Ben has 2 subscriptions to Wired.", "Ben has 3 subscriptions to Time."),
        ("Ben hat 2 Konten bei der Postbank.", "Ben hat 3 Konten bei der Ingbank."),
    ],
)
def test_a_count_of_something_else_ends_nothing(world: World, known: str, fact: str) -> None:
    assert signal(world, known, fact) is None
    assert stands_beside(world, known, fact)


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("Olga takes 20 mg of Abrol in the morning.", "Olga takes 10 mg of Abrol in the morning."),
        ("I take 20 mg of Abrol.", "I take 10 mg of Abrol."),
        ("Ben has 2 cats.", "Ben has 3 cats."),
        ("Ben hat 2 Konten bei der Postbank.", "Ben hat 3 Konten bei der Postbank."),
    ],
)
def test_another_count_of_the_same_ends_the_one_before(world: World, known: str, fact: str) -> None:
    assert ends(world, known, fact)


# Whose name it is


@pytest.mark.parametrize(
    ("known", "fact"),
    [
        ("Andrea lives in Brno.", "Andreas lives in Oslo."),
        ("Andrea lives in Brno.", "Andreas no longer lives in Brno."),
        ("Andrea lives in Brno.", "Andreas moved to Oslo."),
        ("Andrea loves jazz.", "Andreas hates jazz."),
        ("Luca lives in Brno.", "Lucas lives in Brno."),
        ("luca lives in Brno.", "Lucas lives in Oslo."),
        ("Luca's boss is Ann.", "Lucas's boss is Eve."),
        ("Dr. Hans lives in Ulm.", "Dr. Han lives in Bonn."),
        ("Bob lives with Luca.", "Bob no longer lives with Lucas."),
        ("Andrea wohnt in Brno.", "Andreas wohnt in Oslo."),
    ],
)
def test_a_stem_makes_no_two_names_one(world: World, known: str, fact: str) -> None:
    assert stands_beside(world, known, fact)


@pytest.mark.parametrize(
    ("known", "fact", "action"),
    [
        ("Andreas lives in Brno.", "Andreas lives in Oslo.", "update"),
        ("luca lives in Brno.", "Luca lives in Oslo.", "update"),
        ("James's boss is Ann.", "James' boss is Eve.", "update"),
        ("James lives in Brno.", "james lives in brno", "nothing"),
        ("The backups run daily.", "The backup runs daily.", "nothing"),
        ("The office is open on Fridays.", "The office is closed on Friday.", "update"),
    ],
)
def test_a_name_in_any_case_and_a_word_in_any_form_are_one(world: World, known: str, fact: str, action: str) -> None:
    assert told(world, known, fact) == action
