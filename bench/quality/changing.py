"""Facts that change: a generator of memories as agents write them, and of questions with the version that is right.

data/changing_facts.jsonl holds ten kinds of facts a half, seven of which several are told of each subject, to choose on as well, and eight
that were held out later: subjects, values, ways to tell the first version and later ones, and questions. What is held out shares no
subject and no wording with what was chosen on. Each of the facts, five a kind, has three to six
versions, in one of four ways:

- told: versions of a lineage that the agent names;
- corrected: the same, and one version corrects the one before, which was never true;
- retained: a text for retain, which has to find by itself what it ends;
- turns: what was said, with its time, and nothing that says what has ended.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Row = dict[str, Any]
KINDS = Path(__file__).parent.parent / "data" / "changing_facts.jsonl"
START = datetime(2024, 1, 8, 9, tzinfo=UTC)
WAYS = ("told", "corrected", "retained", "retained", "turns")
ASKED = (("now", "as_of"), ("known_at", "now"), ("as_of", "known_at"))
OPENINGS = ("By the way:", "Before I forget:", "News from today:", "Just so you know:", "You wanted to hear:", "One more thing:")
SMALL_TALK = (
    "The lift was out of order again and {a} had to carry the boxes.",
    "{a} brought plum cake, most of it was gone by noon.",
    "Did you see how early the blossoms are this year?",
    "I could not sleep, the neighbours had a party until four.",
    "{a} and {b} argued about the music in the kitchen.",
    "The train stood in a tunnel for half an hour, without light.",
    "My knee is better, thank you for asking.",
    "{a} says the exhibition about old maps is worth the queue.",
    "We should send {b} a card, the operation went well.",
    "It rained so hard that the cellar door was under water.",
    "I read the last chapter twice and still do not know who did it.",
    "{a} forgot the umbrella on the bus once more.",
    "The new chairs squeak, nobody dares to move in meetings.",
    "{b} told a long story about a goat and a postman.",
    "Can you believe that the bakery sells nothing but muffins now?",
    "{a} is looking for somebody to share a lift to the coast.",
    "The printer ate three pages and then apologised on its display.",
    "I have to water the plants before they give up on us.",
    "{b} sang while soldering, it helped more than the fan.",
    "A pigeon sat in the server room, {a} let it out.",
)


@dataclass
class Version:
    """What was true from a moment on, in words."""

    text: str
    valid_from: datetime
    corrects: bool = False


@dataclass
class Fact:
    """Something that changes, and how it is written down."""

    key: str
    kind: Row
    subject: str
    way: str
    versions: list[Version] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """A question, the moment that it is about, and the version that answers it."""

    fact: Fact
    text: str
    when: str  # now, as_of, known_at
    version: int
    as_of: datetime | None = None


def sentence(template: str, subject: str, value: str) -> str:
    """A telling or a question, with a capital at its start."""
    text = template.format(s=subject, v=value)
    return text[0].upper() + text[1:]


def facts(half: str) -> list[Fact]:
    """The facts of a half."""
    draw = random.Random(f"changing facts, {half}")
    kinds = [kind for kind in map(json.loads, KINDS.open(encoding="utf-8")) if kind["half"] == half]
    made = []
    for place, kind in enumerate(kinds):
        for number, subject in enumerate(kind["subjects"]):
            fact = Fact(f"{kind['kind']}/{number}", kind, subject, WAYS[(number + place) % len(WAYS)])
            fact.versions = versions(draw, fact)
            made.append(fact)
    return made


def versions(draw: random.Random, fact: Fact) -> list[Version]:
    """Three to six versions, two months or so apart, each in words of its own."""
    count = draw.randint(3, 6)
    values = draw.sample(fact.kind["values"], count)
    words = [draw.choice(fact.kind["first"]), *draw.sample(fact.kind["later"], count - 1)]
    wrong = draw.randint(0, count - 2) if fact.way == "corrected" else None
    told: list[Version] = []
    for number, (template, value) in enumerate(zip(words, values, strict=True)):
        moment = START + timedelta(days=60 * number + draw.randint(0, 40), minutes=draw.randint(0, 400))
        corrects = wrong is not None and number == wrong + 1
        told.append(Version(sentence(template, fact.subject, value), told[-1].valid_from if corrects else moment, corrects))
    return told


def questions(half: str, known: list[Fact]) -> list[Question]:
    """Two questions a fact: about now, about a moment of the past, or about what was known then."""
    draw = random.Random(f"questions, {half}")
    asked = []
    for number, fact in enumerate(known):
        for when in ASKED[number % len(ASKED)]:
            last = len(fact.versions) - 1
            past = [n for n in range(last) if when != "as_of" or not fact.versions[n + 1].corrects]
            version = last if when == "now" or not past else draw.choice(past)
            words = draw.choice(fact.kind["questions" if when == "now" else "past"])
            as_of = moment_of(fact, version) if when == "as_of" else None
            asked.append(Question(fact, sentence(words, fact.subject, ""), when, version, as_of))
    return asked


def moment_of(fact: Fact, version: int) -> datetime:
    """A moment in the middle of the time in which a version was true."""
    start = fact.versions[version].valid_from
    later = [v.valid_from for v in fact.versions[version + 1 :] if v.valid_from > start]
    return start + (later[0] - start) / 2 if later else start + timedelta(days=1)


def small_talk(half: str, count: int) -> Iterator[tuple[datetime, str]]:
    """Turns about something else, by the same people."""
    draw = random.Random(f"small talk, {half}")
    people = sorted({fact.subject for fact in facts(half) if fact.subject.istitle()})
    for number in range(count):
        a, b = draw.sample(people, 2)
        yield START + timedelta(hours=26 * number), f"{draw.choice(OPENINGS)} {draw.choice(SMALL_TALK).format(a=a, b=b)} ({number})"
