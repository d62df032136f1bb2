"""Preferences that conversations show: the model proposes and cites turns; which of them count is decided here."""

from dataclasses import dataclass, field
from datetime import UTC
from typing import Annotated, Any, Literal

from pydantic import Field

from db import dreams, memories
from db.dreams import TurnToRead
from db.memories import MemoryRow
from db.pool import Transaction
from service.dreams.guards import INFERRED
from service.dreams.passes import Applied, Pass, Plan, Refusal, Room, Seen
from service.jobs.job import Job
from service.llm.answer_parsing import Answer
from service.llm.schemas import NOUGHT_IS_NONE, mark_bounded_list, mark_shown_number
from service.text.guards import find_invented_marks, kept_share
from service.text.marks import Read
from service.text.sensitive import is_sensitive

SPEAKER = "user"  # the role of turns that count
USER_CHARACTERS, OTHER_CHARACTERS = 4000, 500  # of a turn that the model is shown; others are there to understand the user
ALL_CHARACTERS = 400_000  # of all turns, about 100,000 tokens; where they are more, each has an equal share at most
SHOWN_BESIDE = 10  # preferences beside as many as there are turns, where there is little room
SESSIONS = 20  # names of sessions that a preference keeps
SPEAKS_OF = ("User", "Users", "Nutzer", "Nutzerin", "Benutzer", "Benutzerin", "Agent", "Assistant", "Assistent")
# Words that stand in any preference, and tell nothing of what is preferred.
_GENERIC = """
    user users user's prefer prefers preferred preference preferences want wants wanted like likes liked dislike dislikes
    need needs should must always never please agent assistant ask asks asked expect expects use uses using nutzer
    nutzerin benutzer benutzerin bevorzugt mag möchte möchten will soll sollen sollte immer nie niemals bitte assistent
    braucht lieber gern gerne wünscht verwendet
"""
GENERIC = frozenset(_GENERIC.split())


class Preference(Answer):
    """One preference that the model sees."""

    content: str = Field(min_length=1, max_length=1000, json_schema_extra={"least": 100})
    strength: Literal["strong", "mild", "minor"]
    turns: list[Annotated[int, mark_shown_number("turns")]]
    existing: Annotated[Annotated[int, mark_shown_number("preferences")] | None, NOUGHT_IS_NONE] = None
    sensitive: bool = False


class Preferences(Answer):
    """The model's answer."""

    preferences: list[Preference] = mark_bounded_list("turns")


@dataclass(frozen=True)
class Known:
    """The data by number: turns, and preferences inferred before."""

    turns: dict[int, TurnToRead]
    preferences: dict[int, MemoryRow]


@dataclass(frozen=True)
class Support:
    """Evidence of a preference: turns of the user that it cites, and those of them that are about it."""

    cited: list[TurnToRead] = field(default_factory=list)
    about: list[TurnToRead] = field(default_factory=list)

    @property
    def turn_ids(self) -> list[str]:
        """Numbers of the cited turns, as a report has them."""
        return [str(turn["id"]) for turn in self.cited]


async def gather_turns(tx: Transaction, job: Job, room: Room) -> Seen:
    """The turns that the pass has not read, by session, and the preferences that were inferred before."""
    waiting = await dreams.turns_to_read(tx, id=job.id, name="preferences")
    read = waiting[: room.things]
    turns = dict(enumerate(read, 1))
    limit = int(job.settings["dream_limit"])
    found = await memories.list_memories(tx, filters={"category": INFERRED, "metadata": {"source": "inferred"}}, limit=limit)
    known = Known(turns, dict(enumerate(reversed(found), 1)))
    too_many = sum(min(len(turn["content"]), _count_characters(turn)) for turn in turns.values()) > ALL_CHARACTERS
    share = ALL_CHARACTERS // len(turns) if too_many else ALL_CHARACTERS
    sessions: dict[str, list[dict[str, Any]]] = {}
    for number, turn in turns.items():
        said = turn["content"][: min(_count_characters(turn), share, room.characters)]
        shown = {"turn": number, "role": turn["role"], "said": said}
        sessions.setdefault(turn["session_id"], []).append(shown)
    newest = list(known.preferences)[-(room.things + SHOWN_BESIDE) :]
    data = {
        "conversations": [{"turns": said} for said in sessions.values()],
        "preferences": [{"preference": number, "content": known.preferences[number]["content"]} for number in newest],
    }
    said_by_user = sum(turn["role"] == SPEAKER for turn in turns.values())
    return Seen(
        data,
        said_by_user and len(turns),
        known=known,
        turns=[turn["id"] for turn in read],
        more=len(read) < len(waiting) or any(turn["more"] for turn in read),
        shown=len(turns),
        numbers={"turns": known.turns, "preferences": newest},
    )


def _count_characters(turn: TurnToRead) -> int:
    return USER_CHARACTERS if turn["role"] == SPEAKER else OTHER_CHARACTERS


def check_preferences(seen: Seen, answer: Preferences, job: Job) -> Plan:
    """Proposals that the turns bear out, with evidence counted here."""
    plan = Plan(steps=[], proposed=len(answer.preferences))
    taken: set[str] = set()
    for proposal in answer.preferences:
        step = _judge_preference(proposal, seen, job.settings)
        if isinstance(step, Refusal):
            plan.refused.append(step)
        elif taken & {step["id"] or "", step["content"].casefold()} - {""}:
            plan.refused.append(Refusal("twice", "infer", [], "the answer has another preference that says or changes the same"))
        else:
            taken |= {step["id"] or "", step["content"].casefold()}
            plan.steps.append(step)
    return plan


def _judge_preference(proposal: Preference, seen: Seen, settings: dict[str, Any]) -> dict[str, Any] | Refusal:
    """The step that a proposal becomes, or the guard that refuses it. A refusal quotes nothing: it outlives the turns."""
    known: Known = seen.known
    before = known.preferences.get(proposal.existing or 0) or _same_words(proposal.content, known)
    confirms = before is not None and before["content"].casefold() == proposal.content.casefold()
    evidence = before["metadata"] if before and confirms else {}
    support = _find_support(seen.read, proposal, known)

    def refuse_preference(guard: str, reason: str) -> Refusal:
        return Refusal(guard, "infer", support.turn_ids, reason)

    if proposal.existing is not None and proposal.existing not in known.preferences:
        return refuse_preference("unknown", f"there is no preference {proposal.existing}")
    if not support.cited:
        return refuse_preference("unsaid", f"none of the {len(set(proposal.turns))} turns that it cites was said by the user")
    said = [turn["content"] for turn in support.cited]
    if new := find_invented_marks(seen.read, [*said, before["content"]] if before else said, proposal.content, SPEAKS_OF):
        return refuse_preference("invented", f"it names {len(new)} things that no cited turn names")
    if not support.about:
        return refuse_preference("unlike", f"none of the {len(said)} turns that it cites is about it")
    needed = 1 if confirms else int(settings[f"preference_{proposal.strength}"])
    if len(support.about) < needed:
        return refuse_preference(
            "too_few", f"{len(support.about)} of {needed} occurrences that a {proposal.strength} preference needs"
        )
    flagged = proposal.sensitive or is_sensitive(proposal.content, *said)
    return {
        "id": str(before["id"]) if before else None,
        "seen": before["updated_at"].isoformat() if before else None,
        "content": before["content"] if before and confirms else proposal.content,
        "metadata": _make_metadata(proposal, support.about, evidence, flagged=flagged),
    }


def _same_words(content: str, known: Known) -> MemoryRow | None:
    return next((row for row in known.preferences.values() if row["content"].casefold() == content.casefold()), None)


def _find_support(read: Read, proposal: Preference, known: Known) -> Support:
    """Each turn counts once, if the user said it and it has a word that matters."""
    cited = [known.turns[n] for n in sorted(set(proposal.turns)) if n in known.turns and known.turns[n]["role"] == SPEAKER]
    matter = " ".join(word for word in proposal.content.split() if word.strip(".,;:!?\"'()").casefold() not in GENERIC)
    if kept_share(read, matter, "") > 0:  # there is no such word
        return Support(cited)
    return Support(cited, [turn for turn in cited if kept_share(read, matter, turn["content"]) > 0])


def _make_metadata(proposal: Preference, turns: list[TurnToRead], before: dict[str, Any], *, flagged: bool) -> dict[str, Any]:
    """Where the preference comes from: counts and dates of its turns, and of those that spoke for the same words before."""
    times = [turn["said_at"].astimezone(UTC).isoformat() for turn in turns]
    sessions = dict.fromkeys([*before.get("sessions", []), *(turn["session_id"] for turn in turns)])
    sensitive = flagged or before.get("requires_user_permission") == "true"
    return {
        "source": "inferred",
        "strength": proposal.strength,
        "occurrences": int(before.get("occurrences", 0)) + len(turns),
        "first_seen": min([*times, *filter(None, [before.get("first_seen")])]),
        "last_seen": max([*times, *filter(None, [before.get("last_seen")])]),
        "sessions": list(sessions)[-SESSIONS:],
        **({"requires_user_permission": "true"} if sensitive else {}),
    }


async def apply_preferences(tx: Transaction, job: Job, plan: Plan) -> Applied:
    """Write them; rows that changed meanwhile, or are protected, refuse."""
    applied = Applied()
    for step, row in zip(plan.steps, await dreams.write_preferences(tx, items=plan.steps), strict=True):
        ids = [str(found) for found in (row["id"], row["superseded"]) if found is not None]
        if row["guard"]:
            applied.refused.append(Refusal(row["guard"], "infer", ids, row["reason"] or ""))
        else:  # a dry run leaves no memory to look up
            shown = {"content": step["content"], "metadata": step["metadata"]} if job.arguments.get("dry_run") else {}
            applied.changes.append({"action": row["action"], "ids": ids, **shown})
    return applied


PREFERENCES = Pass("preferences", "pref-dream.md", Preferences, gather_turns, check_preferences, apply_preferences)
