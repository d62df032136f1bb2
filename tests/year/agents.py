"""What an agent does in a day: it reads what it knows, tells what has changed, asks, and now and then is wrong about something."""

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from loci import Conflict, LociClient
from tests.properties.model import Refused
from tests.year.truth import Ledger, Story, Team

MARK = re.compile(r"mk\d\dmk")
FIRST = [
    "Ada",
    "Bram",
    "Cleo",
    "Dario",
    "Edda",
    "Finn",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kira",
    "Lars",
    "Mona",
    "Nils",
    "Olga",
    "Pia",
    "Quin",
    "Rosa",
    "Sven",
    "Tilda",
]
LAST = [
    "Abel",
    "Brandt",
    "Cole",
    "Drew",
    "Ekman",
    "Frost",
    "Grant",
    "Holm",
    "Ivers",
    "Jansen",
    "Krause",
    "Lund",
    "Moss",
    "Nyberg",
    "Orr",
    "Pohl",
    "Quist",
    "Rand",
    "Stone",
    "Thorn",
]
PLACES = [
    "Aarhus",
    "Bergen",
    "Cork",
    "Delft",
    "Exeter",
    "Faro",
    "Genoa",
    "Halle",
    "Izmir",
    "Jena",
    "Kiel",
    "Lyon",
    "Malmo",
    "Nantes",
    "Oslo",
    "Porto",
    "Quimper",
    "Riga",
    "Split",
    "Turku",
]
FIRMS = [
    "Altair",
    "Borealis",
    "Cinder",
    "Dovetail",
    "Ember",
    "Foxglove",
    "Gannet",
    "Heron",
    "Ibis",
    "Juniper",
    "Kestrel",
    "Lapwing",
    "Marlin",
    "Nimbus",
    "Osprey",
    "Petrel",
]
DRINKS = ["espresso", "cocoa", "mate", "cider", "kombucha", "chai", "lemonade", "tonic", "sencha", "buttermilk"]
KINDS: dict[str, tuple[str, str, list[str]]] = {
    "home": ("{} lives in {}", "Where does {} live?", PLACES),
    "employer": ("{} works at {}", "Which company does {} work at?", FIRMS),
    "drink": ("{} drinks {} in the morning", "What does {} drink in the morning?", DRINKS),
    "office": ("The desk of {} stands in the {} office", "In which office stands the desk of {}?", PLACES),
}


class Agent:
    """One agent with a key of its own, in its team's namespace."""

    def __init__(self, number: int, team: Team, connect: Callable[[], LociClient], ledger: Ledger, seed: int) -> None:
        self.number, self.team, self.ledger = number, team, ledger
        self.dice = random.Random(f"{seed} {number}")
        self._connect = connect
        self.stories: list[Story] = []
        self.secrets: list[tuple[Story, str]] = []
        for n in range(4):
            person = f"{FIRST[(number * 7 + n * 3) % 20]} {LAST[(number + n * 5) % 20]}"
            for kind, (_, question, _) in KINDS.items():
                self.stories.append(Story(f"{person} {kind} {number}", question.format(person)))
        team.stories += self.stories

    @contextmanager
    def calling(self, verb: str) -> Iterator[LociClient]:
        """A client for one call, which is timed."""
        client = self._connect()
        began = time.perf_counter()
        yield client
        self.ledger.took(verb, time.perf_counter() - began)

    def seen(self, reply: Any) -> Any:
        """Whatever comes back is of this team."""
        strange = set(MARK.findall(reply.model_dump_json())) - {self.team.mark}
        self.ledger.ask("X1", not strange, f"{self.team.name} was shown {strange}")
        return reply

    def live(self, day: datetime, nth: int) -> None:
        """A day: a session, from its context to its end."""
        session, at = f"a{self.number}-d{nth}", day + timedelta(hours=8, minutes=self.number)
        self.prepare(session)
        for _ in range(self.dice.choice((1, 2, 2, 3))):
            self.tell(self.dice.choice(self.stories), at + timedelta(minutes=self.dice.randrange(400)))
        self.chat(session, at)
        self.question(self.dice.choice(self.stories), session)
        self.desk(nth)
        odd = self.dice.random()
        for chance, act in (
            (0.04, self.correct),
            (0.08, self.backdate),
            (0.11, self.forget),
            (0.14, self.undo),
            (0.17, self.erase),
        ):
            if odd < chance:
                act(at)
                break
        self.graph(at)
        with self.calling("end") as client:
            client.sessions.end(session)

    def prepare(self, session: str) -> None:
        """Ask for what to begin with; what a session was shown is not shown again."""
        message = self.dice.choice(self.stories).question
        with self.calling("context") as client:
            shown = self.seen(client.context(message, session_id=session))
        again = self.seen(self._connect().context(message, session_id=session))
        both = {str(m.id) for m in shown.memories} & {str(m.id) for m in again.memories}
        self.ledger.ask("W4", not both, f"{session} was shown {both} twice")

    def sentence(self, story: Story, value: str | None = None) -> str:
        """Something that may be true of it."""
        person, _, kind = story.lineage.rsplit(" ", 1)[0].rpartition(" ")
        words, _, values = KINDS[kind]
        return f"{words.format(person, value or self.dice.choice(values))} ({self.team.mark})"

    def tell(self, story: Story, at: datetime) -> None:
        """Say what is true from a moment on, after all that was said."""
        last = max((v.start for v in story.state.versions), default=at - timedelta(days=1))
        if at <= last:
            return
        content = self.sentence(story)
        with self.calling("write") as client:
            made = client.memories.write(
                content, lineage=story.lineage, valid_from=at, category=f"people/{story.lineage.split()[-2]}"
            )
        self.noted(story, made, at)

    def noted(self, story: Story, made: Any, at: datetime, wrong: Any = None) -> None:
        """A version was acknowledged."""
        self.team.ids.add(str(made.id))
        story.tell(made.id, made.content, at, made.recorded_at, wrong)
        versions = len([v for v in story.state.versions if v.id.int])
        self.ledger.ask("M2", made.version >= versions or not story.told_again, f"{made.lineage} {made.version} of {versions}")

    def chat(self, session: str, at: datetime) -> None:
        """Turns of a conversation, and what is retained of them."""
        self.team.chatter += 1
        n = self.team.chatter
        firm, place = self.dice.choice(FIRMS), self.dice.choice(PLACES)
        told = f"The review of order {n} for {firm} is held in {place} on a Tuesday ({self.team.mark})."
        with self.calling("remember") as client:
            client.remember(
                [{"role": "user", "content": told}, {"role": "assistant", "content": "Noted."}], session=session, valid_from=at
            )
        turns = self.seen(self._connect().sessions.list_turns(session))
        said = [turn.content for turn in turns.items]
        self.ledger.ask("W3", said[-2:] == [told, "Noted."], said)
        if n % 5 == 0:
            found = self.seen(self._connect().recall(f"Where is the review of order {n} for {firm}?", k=10))
            self.ledger.ask("R12", any(f"order {n} " in m.content for m in found.memories), told)

    def question(self, story: Story, session: str) -> None:
        """Ask about somebody, and say of what use the answer was."""
        with self.calling("recall") as client:
            found = self.seen(client.recall(story.question, session_id=session))
        open_ = story.now()
        if open_ is None:
            return
        contents = [memory.content for memory in found.memories]
        self.ledger.ask("R1", open_.content in contents, f"{story.question} {open_.content!r} is not in {contents[:3]}")
        gone = {v.content for v in story.state.versions} - {open_.content}
        ours = {memory.content for memory in found.memories if memory.lineage == story.lineage}
        self.ledger.ask("R8", not ours & gone, f"{story.question} brought what is over: {ours & gone}")
        if found.recall_id and self.dice.random() < 0.2 and found.memories:
            rating = {"memory_id": str(found.memories[0].id), "useful": open_.content == contents[0]}
            self._connect().sessions.note_feedback(session, recall_id=found.recall_id, ratings=[rating])

    def desk(self, nth: int) -> None:
        """Working memory: what was put there is there, with its time to live."""
        with self.calling("working memory") as client:
            client.sessions.save_entry("today", {"day": nth, "mark": self.team.mark}, ttl_seconds=3600)
        found = self.seen(self._connect().sessions.get_entry("today"))
        self.ledger.ask("W1", found.value["day"] == nth, found.value)

    def correct(self, at: datetime) -> None:
        """What was said last was wrong, from its beginning."""
        del at
        story = self.dice.choice(self.stories)
        wrong = story.now()
        if wrong is None:
            return
        made = self._connect().memories.write(
            self.sentence(story), lineage=story.lineage, corrects=wrong.id, valid_from=wrong.start
        )
        self.noted(story, made, wrong.start, wrong)

    def backdate(self, at: datetime) -> None:
        """Something was so long ago, too, and nobody had said it."""
        story = self.dice.choice(self.stories)
        then = at - timedelta(days=self.dice.randrange(2, 60), seconds=self.dice.randrange(80_000))
        made = self._connect().memories.write(self.sentence(story), lineage=story.lineage, valid_from=then)
        self.noted(story, made, then)

    def forget(self, at: datetime) -> None:
        """Forget what holds, and restore it, or not."""
        del at
        story = self.dice.choice(self.stories)
        version = story.now()
        if version is None:
            return
        client, story.told_again = self._connect(), False
        client.memories.forget(version.id)
        story.state.change(version, status="forgotten")
        found = self.seen(client.memories.search(version.content))
        self.ledger.ask("M8", version.id not in [m.id for m in found.results], f"{version.content!r} was forgotten")
        if self.dice.random() < 0.7:
            try:
                story.state.change(version, status="active")
                client.memories.restore(version.id)
            except (Refused, Conflict) as error:
                self.ledger.ask("M8", isinstance(error, Refused), error)

    def undo(self, at: datetime) -> None:
        """Write, and take it back."""
        story = self.dice.choice(self.stories)
        before = story.at(at + timedelta(days=1))
        client = self._connect()
        made = client.memories.write(self.sentence(story), lineage=story.lineage, valid_from=at + timedelta(hours=9))
        self.team.ids.add(str(made.id))
        (done, *_) = client.operations.list(subject=made.id, limit=1)
        client.operations.undo(done.id)
        story.told_again = False
        after = {m.lineage: m.content for m in client.memories.current([story.lineage], as_of=at + timedelta(days=1)).items}
        self.ledger.ask("X5", after.get(story.lineage) == before, f"{before!r} is {after.get(story.lineage)!r} after an undo")

    def erase(self, at: datetime) -> None:
        """Tell something that must never be seen again, twice, or erase what was told."""
        client = self._connect()
        if self.secrets and self.dice.random() < 0.6:
            story, word = self.secrets.pop(0)
            client.memories.erase([v.id for v in story.state.versions if v.id.int][:1])
            self.team.erased.append(word)
            self.team.ids -= {str(v.id) for v in story.state.versions}
            return
        word = f"zq{self.number}x{self.dice.getrandbits(40):x}zq"
        story = Story(f"secret {word}", "")
        for nth in range(2):
            content = f"The pass phrase of door {nth} is {word} ({self.team.mark})"
            made = client.memories.write(
                content, lineage=story.lineage, valid_from=at + timedelta(minutes=nth), entities=[{"name": word, "type": "tool"}]
            )
            self.noted(story, made, at + timedelta(minutes=nth))
        self.secrets.append((story, word))

    def graph(self, at: datetime) -> None:
        """Observe an edge, and look around it."""
        del at
        one, other = self.dice.sample(FIRMS, 2)
        with self.calling("edge") as client:
            client.graph.observe_edge(one, "supplies", other)
        with self.calling("traverse") as client:
            reached = client.graph.traverse([one], max_hops=1)
        names = {each.name for each in reached.entities}
        self.ledger.ask("G7", {one, other} <= names, f"{other} is not reached from {one}: {names}")
