"""Does the first result tell the right thing about the right one, where many speak and are spoken of in one namespace?

    python -m bench.whose_fact [--misses]

data/whose_fact: 18 small namespaces in two halves, six in English and three in German each. Each mixes facts in the third person, turns
of conversations, messages of several users of one agent, observations whose words do not name whom they are about, and relations. Some
names share a stem, and some entities are renamed. The halves share no name and no question. Right is a first result that has words of
the one memory that answers. The floor is BM25 over the bare texts: it knows no speaker, no subject and no other name. Misses are shown
of the tune half only. The kinds of questions:

- about_named: what is true of somebody, who also speaks and is spoken to;
- said: what somebody said in a conversation;
- first_person: asked by a user about himself, where others told the same of themselves;
- told_of_self: what a user told of himself, asked by his name;
- observation: what is kept about somebody in words that do not name him;
- namesake: about one of two whose names share a stem;
- role: who does it to whom;
- renamed: what was told under one name, asked by another.
"""

import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import httpx
from psycopg import Connection

from bench.database import Database, database
from bench.measure import Figure, Options, options, report
from bench.quality.asking import wait
from bench.quality.baselines import Index
from bench.server import running

MISSES = "--misses"
DATA = Path(__file__).parent / "data" / "whose_fact"
HALVES = {"tune": "first half", "held_out": "half that was held out"}
SHOWN = ("tune",)
WORDS_ALONE = {"arms": ["lexical"]}
Row = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """A question, who asks it, and words that only the right memories have."""

    text: str
    kind: str
    right: tuple[str, ...]
    user: str | None = None

    def answered_by(self, content: str) -> bool:
        """Whether a text has the words of a right memory."""
        return any(words.casefold() in content.casefold() for words in self.right)


@dataclass
class World:
    """A small namespace: what is written into it, in order, and what is asked."""

    name: str
    language: str
    writes: list[Row] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def texts(self) -> list[str]:
        """What its memories are made of."""
        return [row.get("content") or row["message"] for row in self.writes if "rename" not in row]


@dataclass(frozen=True)
class Answer:
    """What came back for a question: the contents of the best results, with every arm, by words alone, and from the floor."""

    world: World
    question: Question
    found: list[str]
    by_words: list[str]
    floor: list[str]

    def right(self, contents: list[str]) -> bool:
        """Whether the very first of these contents is right."""
        return bool(contents) and self.question.answered_by(contents[0])


def read_worlds(half: str) -> list[World]:
    """The namespaces of a half; each right text must be in exactly one write."""
    worlds: dict[str, World] = {}
    for line in (DATA / f"{half}.jsonl").open(encoding="utf-8"):
        row: Row = json.loads(line)
        name = row.pop("world")
        if "language" in row:
            worlds[name] = World(name, row["language"])
        elif "question" in row:
            worlds[name].questions.append(Question(row["question"], row["kind"], tuple(row["right"]), row.get("user")))
        else:
            worlds[name].writes.append(row)
    for world in worlds.values():
        check_right_texts(world)
    return list(worlds.values())


def check_right_texts(world: World) -> None:
    """Refuse a world in which what is right is said nowhere, or twice."""
    texts = world.texts()
    for question in world.questions:
        for words in question.right:
            if sum(words.casefold() in text.casefold() for text in texts) != 1:
                raise SystemExit(f"{world.name}: {words!r}, the answer to {question.text!r}, must be in exactly one text")


class Written:
    """A world in a namespace of its own."""

    def __init__(self, client: httpx.Client, world: World, namespace: str) -> None:
        self.client, self.world, self.namespace = client, world, namespace

    def _send(self, method: str, path: str, body: Row) -> Any:
        reply = self.client.request(method, path, json=body, headers={"X-Namespace": self.namespace})
        if reply.is_error:
            raise SystemExit(f"{reply.status_code} for {json.dumps(body, ensure_ascii=False)}: {reply.text[:500]}")
        return reply.json()

    def write(self) -> None:
        """Write everything in order, as it would come about."""
        self._send("POST", "/namespaces", {"name": self.namespace, "language": self.world.language})
        for row in self.world.writes:
            if "message" in row:
                self._tell(row)
            elif "rename" in row:
                self._rename(row)
            else:
                self._send("POST", "/memories", row)
        wait(self.client, self.namespace)

    def _tell(self, row: Row) -> None:
        """Take in a message of a user; what was written before has its vectors and names by then."""
        wait(self.client, self.namespace)
        self._send("POST", "/remember", {"messages": [{"role": "user", "content": row["message"]}], "user": row["user"]})

    def _rename(self, row: Row) -> None:
        """Give an entity another name."""
        wait(self.client, self.namespace)
        entity = self._send("POST", "/entities", {"name": row["rename"]})["id"]
        self._send("PATCH", f"/entities/{entity}", {"name": row["name"]})

    def ask(self, question: Question, arms: Row) -> list[str]:
        """Contents of the results, best first."""
        body: Row = {"query": question.text, **arms}
        if question.user is not None:
            body["user"] = question.user
        return [result["content"] for result in self._send("POST", "/recall", body)["results"]]


def search_bare_texts(connection: Connection[Any], world: World) -> list[list[str]]:
    """The texts that BM25 finds for each question."""
    texts = world.texts()
    found = Index(connection, texts, world.language).search([question.text for question in world.questions])
    return [[texts[place] for place in places] for places in found]


def ask_all(owner: Connection[Any], client: httpx.Client, world: World, namespace: str) -> list[Answer]:
    """Write a world and ask its questions in each way."""
    written = Written(client, world, namespace)
    written.write()
    return [
        Answer(world, question, written.ask(question, {}), written.ask(question, WORDS_ALONE), floor)
        for question, floor in zip(world.questions, search_bare_texts(owner, world), strict=True)
    ]


def share_right(answers: list[Answer], contents: Callable[[Answer], list[str]]) -> str:
    """Per cent of answers whose very first content is right."""
    return f"{100 * statistics.fmean(answer.right(contents(answer)) for answer in answers):.1f} %"


def figure(name: str, answers: list[Answer]) -> Figure:
    """Right first, with every arm and by words alone, beside the floor."""
    every_arm, by_words, floor = (
        share_right(answers, contents) for contents in (attrgetter("found"), attrgetter("by_words"), attrgetter("floor"))
    )
    return Figure(name, f"{every_arm} of {len(answers)}; by words alone {by_words}", floor)


def figures_of(name: str, answers: list[Answer]) -> list[Figure]:
    """All questions of a half; then by kind and by language."""
    figures = [figure(f"{name}: right first", answers)]
    for group in (attrgetter("question.kind"), attrgetter("world.language")):
        members: dict[str, list[Answer]] = defaultdict(list)
        for answer in answers:
            members[group(answer)].append(answer)
        figures += [figure(f"… {part}", of_part) for part, of_part in sorted(members.items())]
    return figures


def show_misses(answers: list[Answer]) -> None:
    """Questions whose first result is not right, and what came instead."""
    for answer in answers:
        if not answer.right(answer.found):
            question = answer.question
            asker = f" ({question.user})" if question.user else ""
            print(f"    {answer.world.name}, {question.kind}: {question.text}{asker} → {question.right} | {answer.found[:3]}")


def run(base: Database, given: Options) -> list[Figure]:  # noqa: ARG001 (the set is small)
    """Both halves."""
    figures = []
    with base.owner() as owner, running(base.folder) as (url, _), httpx.Client(base_url=f"{url}/api/v1", timeout=60) as client:
        for half, name in HALVES.items():
            mark = time.time_ns()
            answers = [answer for world in read_worlds(half) for answer in ask_all(owner, client, world, f"{world.name}-{mark}")]
            figures += figures_of(name, answers)
            if MISSES in sys.argv and half in SHOWN:
                show_misses(answers)
        return report("Whose fact it is", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__, [argument for argument in sys.argv[1:] if argument != MISSES])
    with database(chosen) as opened:
        run(opened, chosen)
