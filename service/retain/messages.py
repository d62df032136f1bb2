"""Messages of a conversation: kept as turns, and cut into facts that are retained with who said them."""

from dataclasses import dataclass, field
from functools import partial

from db.errors import Unavailable
from db.graph import entities
from db.pool import JsonObject, Transaction
from db.sessions import conversations
from db.sessions.conversations import TurnRow
from loci.models.messages import Message
from loci.models.retain import Remember
from service.resources import Resources
from service.retain import retain_text
from service.retain.rules_or_model import Read, Step, T, Write, patience_for_models
from service.text.corrections import complete_correction
from service.text.fact_splitting import split_facts

TELLING = {"user", "assistant"}  # who tells facts; systems instruct, and tools bring data
NAMED = 100_000  # characters in which entities are looked for
TELLTALE = 10  # turns in a row that are no chance: where they stand in messages, the conversation has come that far
MOST_KEPT = 1000  # turns of one look
TAKE_IN_TRIES = 3  # to take in what is new, where others say more meanwhile


@dataclass(frozen=True)
class Said:
    """New parts of messages: turns, facts with the place of their message, and words in which entities are looked for.

    `known`: messages before these, which the session has; `last`: the number of its last turn.
    """

    turns: list[JsonObject] = field(default_factory=list)
    facts: list[JsonObject] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    words: str = ""
    known: int = 0
    last: int = 0


class Overtaken(Exception):
    """Others have said a part of the new messages meanwhile; nothing was written. `said`: what is new now."""

    def __init__(self, said: Said) -> None:
        super().__init__("others said more in this session")
        self.said = said


async def read_messages(tx: Transaction, body: Remember, before: Said | None = None) -> Said:
    """New messages: those after the turns that the session has already. `before`: what was new a moment ago."""
    turns = [message.turn() for message in body.messages]
    kept = await _read_last_turns(tx, body.session, len(turns), before)
    known, last = _count_stored_turns(kept, [turn for turn in turns if turn], before)
    new, passed = [], 0
    for place, turn in enumerate(turns):
        if turn is not None and passed < known:
            passed += 1
        elif turn is not None:
            new.append((place, turn))
    told = [(place, body.messages[place]) for place, _ in new if body.messages[place].speaker in TELLING]
    stated = _complete_corrections([(place, fact) for place, message in told for fact in _make_facts(message, body, place)], kept)
    return Said(
        turns=[turn for _, turn in new],
        facts=[fact for _, fact in stated],
        places=[place for place, _ in stated],
        words="\n".join(message.prose for _, message in told)[:NAMED],
        known=known,
        last=last,
    )


async def _read_last_turns(tx: Transaction, session: str | None, turns: int, before: Said | None) -> list[TurnRow]:
    """The last turns of a session: as many as these messages, or all of one look."""
    if session is None:
        return []
    return await conversations.list_turns(tx, session_id=session, limit=MOST_KEPT if before else turns + 1)


def _count_stored_turns(kept: list[TurnRow], turns: list[JsonObject], before: Said | None) -> tuple[int, int]:
    """How many of these turns a session has, and the number of its last one."""
    last = kept[-1]["id"] if kept else 0
    if before is not None and (before.known or not before.last):  # these are the whole conversation
        added, ahead = [turn for turn in kept if turn["id"] > before.last], turns[before.known :]
        if added and _same_turns(added, ahead):  # another call was quicker; it may even have had more of the conversation
            return before.known + min(len(added), len(ahead)), last
    return _count_shared_prefix(kept, turns), last


def _complete_corrections(stated: list[tuple[int, JsonObject]], kept: list[TurnRow]) -> list[tuple[int, JsonObject]]:
    """Facts with their messages; bare corrections are completed by what the same speaker stated before."""
    before = {turn["role"]: said[-1] for turn in kept if turn["role"] in TELLING and (said := split_facts(turn["content"]))}
    corrected = []
    for place, fact in stated:
        speaker = "assistant" if fact["source"] == "assistant" else "user"
        text = complete_correction(fact["content"], before.get(speaker, "")) or fact["content"]
        corrected.append((place, {**fact, "content": text}))
        before[speaker] = text
    return corrected


def _count_shared_prefix(kept: list[TurnRow], turns: list[JsonObject]) -> int:
    """How many turns a conversation has come along: to the end of those kept, where it begins with just these.

    Only the last turns of a long one are kept. Earlier ones were said as well; the earliest possible place of the kept ones counts,
    so that nothing is lost.
    """
    if len(kept) <= len(turns) and _same_turns(kept, turns):
        return len(kept)
    tail = kept[-TELLTALE:]
    if len(tail) == TELLTALE:
        for start in range(len(turns) - TELLTALE + 1):
            if _same_turns(tail, turns[start:]):
                return start + TELLTALE
    return 0


def _same_turns(kept: list[TurnRow], turns: list[JsonObject]) -> bool:
    """Whether these are the same turns, as far as the shorter list goes."""
    return all((a["role"], a["content"]) == (b["role"], b["content"]) for a, b in zip(kept, turns, strict=False))


def _make_facts(message: Message, body: Remember, place: int) -> list[JsonObject]:
    """The facts of a message, as items of loci_api.remember; who said them is their source, `spoken` the message's place."""
    stated = body.stated()
    about = {name: stated[name] for name in ("category", "tags", "valid_from") if stated.get(name) is not None}
    if message.said_at is not None:
        about = {"valid_from": message.said_at.isoformat(), **about}
    about |= {name: value for name, value in (("session_id", body.session), ("user", body.user)) if value is not None}
    source = "assistant" if message.speaker == "assistant" else message.name or body.source or "user"
    return [{**about, "content": text, "source": source, "spoken": place} for text in split_facts(message.prose)]


async def remember_messages(resources: Resources, body: Remember, *, read: Read, write: Write[T]) -> T:
    """Keep turns and retain facts, in one transaction; a dry run keeps nothing.

    If another call has taken in a part of the conversation meanwhile, this one begins again with the rest.
    """
    said, until = await read(lambda tx: read_messages(tx, body)), patience_for_models(resources)
    for _ in range(TAKE_IN_TRIES):
        try:
            return await _take_in(resources, said, body, until, read=read, write=write)
        except Overtaken as error:
            said = error.said
    raise Unavailable("turns were added to this session at each attempt; nothing was written", hint="Try again.")


async def _take_in(resources: Resources, said: Said, body: Remember, until: float, *, read: Read, write: Write[T]) -> T:
    finish = partial(_make_reply, said=said, body=body)
    if not said.facts:
        return await write(finish)
    prepared = await retain_text.prepare_items(resources, said.facts, read)
    return await retain_text.retain_facts(
        resources,
        prepared,
        body.decide,
        until,
        read=read,
        write=lambda work: write(partial(finish, work=work)),
        dry_run=body.dry_run,
    )


async def _add_turns(tx: Transaction, session: str, said: Said, body: Remember) -> None:
    """Add what is new to a session. Raises Overtaken where, now that nobody else adds to it, something else is new."""
    if await conversations.add_turns(tx, session_id=session, turns=said.turns, last=said.last):
        return
    now = await read_messages(tx, body, said)
    if now.known != said.known:
        raise Overtaken(now)
    await conversations.add_turns(tx, session_id=session, turns=said.turns)


async def _make_reply(tx: Transaction, *, said: Said, body: Remember, work: Step | None = None) -> JsonObject:
    """Turns, decisions and entities, as the reply has them."""
    if body.session is not None and said.turns and not body.dry_run:
        await _add_turns(tx, body.session, said, body)
    nothing = {"decisions": [], **dict.fromkeys(retain_text.ACTIONS.values(), 0), "dry_run": body.dry_run, "skipped": {}}
    done: JsonObject = nothing if work is None else await work(tx)
    for decision, place, fact in zip(done["decisions"], said.places, said.facts, strict=True):
        decision.update(message=place, source=body.user if body.user and fact["source"] == "user" else fact["source"])
    named = await entities.match_entities(tx, text=said.words) if said.words.strip() else []
    return {
        **done,
        "left_out": retain_text.left_out(done["decisions"]),
        "session": body.session,
        "turns": len(said.turns) if body.session is not None else 0,
        "known_turns": said.known,
        "entities": [{"id": one["id"], "name": one["name"], "type": one["type"]} for one in named],
    }
