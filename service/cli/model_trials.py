"""One call of each purpose, over made-up things: what `loci doctor` tries a language model with."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from service.dreams.consolidation import Consolidation
from service.dreams.contradictions import Verdicts as Contradictions
from service.dreams.enrichment import Entries
from service.dreams.extraction import TYPES, Extraction
from service.dreams.graph_cleanup import Cleanup
from service.dreams.preferences import Preferences
from service.llm.answer_parsing import Answer
from service.llm.context_size import Sizes
from service.llm.model import Message
from service.llm.prompts import Prompts
from service.llm.schemas import Numbers
from service.models.calls import fitting, form_of, messages_of
from service.recall.rewrite import Parts, Passage
from service.retain.judgements import Judgements
from service.retain.placements import Reflection
from service.retain.settle_contradictions import Verdicts as Settlements
from service.settings import LLMSettings

Data = dict[str, Any]
NAMES = ("Ana Ferreira", "Bo Lindqvist", "Chidi Okafor", "Dana Weiss", "Emre Kaya", "Fumiko Sato", "Goran Petrov")
PLACES = ("Lisbon", "Malmö", "Lagos", "Zurich", "Izmir")
THINGS = ("the invoices of the harbour", "the press release", "the test bench", "the fire drill")
FIRST = date(2026, 1, 5)
THINGS_PER_TRIAL = 60  # turns, memories and edges that a trial shows


@dataclass(frozen=True)
class Trial:
    """A purpose, how it is asked for, and the data of a call that shows so many things.

    `shown`: what these are to the answer's schema; `beside`: what could be shown too, and is not. `most`: as many as a trial
    shows. `limit`: the setting for the seconds within which an answer is of use.
    """

    purpose: str
    prompt: str
    answer: type[Answer]
    data: Callable[[int], Data]
    shown: str = ""
    most: int = 1
    limit: str = "deadline"
    beside: tuple[str, ...] = ()

    @property
    def trial_name(self) -> str:
        """The word that tells it from others of its purpose."""
        return self.purpose if self.prompt not in {"decompose.md", "hypothetical.md"} else f"rewrite ({self.prompt[:-3]})"

    def limit_seconds(self, settings: LLMSettings) -> float:
        """The seconds within which an answer is of use."""
        return float(getattr(settings, self.limit))

    def make_messages(self, prompts: Prompts, things: int) -> list[Message]:
        """The messages of a call."""
        return messages_of(prompts, self.prompt, self.data(things))

    def numbers(self, things: int) -> Numbers:
        """The numbers that the answer to a call may name."""
        return {self.shown: range(1, things + 1), **dict.fromkeys(self.beside, range(0))}

    def make_schema(self, prompts: Prompts, things: int, sizes: Sizes, most: int) -> dict[str, Any]:
        """The schema of an answer of `most` tokens to a call."""
        return form_of(self.answer, self.numbers(things), self.make_messages(prompts, things), sizes, sizes.answer_room(most))

    def count_fitting_things(self, prompts: Prompts, sizes: Sizes, settings: LLMSettings) -> int:
        """How many things a prompt shows beside its answer, one at least."""
        things = self.most
        while things > 1 and fitting(self.make_messages(prompts, things), self.answer, self.numbers(things), sizes, settings) < 1:
            things = max(1, things * 3 // 4)
        return things


def make_sentence(number: int) -> str:
    """A sentence about work, another one for each number."""
    who, place, what = NAMES[number % 7], PLACES[number % 5], THINGS[number % 4]
    return f"{who} looks after {what} in {place} since week {number}, and would rather hear of changes by e-mail than by phone."


def make_day(number: int) -> str:
    """A day, later with each number."""
    return (FIRST + timedelta(days=number)).isoformat()


def _number_things(things: int, made: Callable[[int], Data]) -> list[Data]:
    return [made(number) for number in range(1, things + 1)]


def _make_memories(things: int) -> Data:
    def make_memory(n: int) -> Data:
        return {"n": n, "category": "work", "tags": ["team"], "content": make_sentence(n), "importance": 0.5, "saved": make_day(n)}

    return {"memories": _number_things(things, make_memory), "signals": [], "may_remove": things // 4}


def _make_conversations(things: int) -> Data:
    turns = _number_things(things, lambda n: {"turn": n, "role": ("user", "assistant")[n % 2], "said": make_sentence(n)})
    return {"conversations": [{"turns": turns}], "preferences": []}


def _make_texts(things: int) -> Data:
    lines = _number_things(
        things, lambda n: {"n": n, "at": f"{make_day(n)}T09:00:00+00:00", "role": "user", "text": make_sentence(n)}
    )
    return {"texts": [{"conversation": lines}], "catalogue": [], "types": sorted(TYPES), "predicates": ["works_in"]}


def _make_graph(things: int) -> Data:
    def make_entity(n: int) -> Data:
        times = {"created": make_day(n), "age_days": 90, "last_referenced": None}
        return {"id": n, "name": f"{THINGS[n % 4]} {n}", "type": "project", **times, "mentions": 0, "edges": 0}

    return {
        "today": make_day(120),
        "entities": _number_things(things, make_entity),
        "edges": [],
        "may_remove": {"entities": things, "edges": 0},
    }


def _make_pair(n: int) -> Data:
    older, newer = make_sentence(n), make_sentence(n).replace(PLACES[n % 5], PLACES[(n + 1) % 5])
    return {
        "pair": n,
        "older": {"statement": older, "since": make_day(n)},
        "newer": {"statement": newer, "since": make_day(n + 30)},
    }


def _make_claims(things: int) -> Data:
    return {"pairs": _number_things(things, lambda n: {**_make_pair(n), "about": NAMES[n % 7], "aspect": "place"})}


def _make_facts(things: int) -> Data:
    def make_fact(n: int) -> Data:
        known = [{"number": 1, "text": make_sentence(n + 7), "since": make_day(n), "similarity": 0.71}]
        return {"number": n, "text": make_sentence(n), "known": known}

    return {"facts": _number_things(things, make_fact)}


def _make_orphans(things: int) -> Data:
    concepts = [{"number": 1, "title": "Team", "layer": 0, "under": None, "members": [make_sentence(0)]}]
    return {
        "memories": _number_things(things, lambda n: {"number": n, "text": make_sentence(n), "category": "work"}),
        "concepts": concepts,
    }


def _make_memory(_: int) -> Data:
    text = "btw ana moved to porto yesterday and the harbour people want their invoices monthly now"
    return {"memory": {"content": text, "written": make_day(1)}, "dates": [], "near": [], "categories": ["work", "people"]}


def _make_question(_: int) -> Data:
    return {"question": "Where does Ana Ferreira live now, and how does she want to hear of changes to the invoices?"}


TRIALS = (
    Trial("rewrite", "decompose.md", Parts, _make_question, limit="recall_deadline"),
    Trial("rewrite", "hypothetical.md", Passage, _make_question, limit="recall_deadline"),
    Trial("retain", "retain.md", Judgements, _make_facts, "facts", 5, "request_deadline"),
    Trial("reflect", "reflect.md", Reflection, _make_orphans, "memories", 20, "request_deadline"),
    Trial("enrichment", "memory-rules.md", Entries, _make_memory),
    Trial("settle", "settle.md", Settlements, lambda things: {"pairs": _number_things(things, _make_pair)}, "pairs", 10),
    Trial("contradictions", "contradictions.md", Contradictions, _make_claims, "pairs", 10),
    Trial("preferences", "pref-dream.md", Preferences, _make_conversations, "turns", THINGS_PER_TRIAL, beside=("preferences",)),
    Trial("entities", "entity-dream.md", Extraction, _make_texts, "texts", THINGS_PER_TRIAL, beside=("catalogue",)),
    Trial("memories", "dream.md", Consolidation, _make_memories, "memories", THINGS_PER_TRIAL, beside=("signals",)),
    Trial("graph", "graph-consolidation-dream.md", Cleanup, _make_graph, "entities", THINGS_PER_TRIAL, beside=("edges",)),
)
