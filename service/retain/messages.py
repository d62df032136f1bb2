"""Messages of a conversation: kept as turns, and cut into facts that are retained with who said them."""

from dataclasses import dataclass, field
from functools import partial

from db.graph import entities
from db.pool import JsonObject, Transaction
from db.sessions import conversations
from loci.models.messages import Message
from loci.models.retain import Remember
from service.resources import Resources
from service.retain import facts
from service.retain.rules_or_model import Read, Step, T, Write
from service.text.facts import split

TELLING = {"user", "assistant"}  # who tells facts; systems instruct, and tools bring data
NAMED = 100_000  # characters in which entities are looked for


@dataclass(frozen=True)
class Said:
    """What is new in messages: turns, facts with the place of their message, and words in which entities are looked for."""

    turns: list[JsonObject] = field(default_factory=list)
    facts: list[JsonObject] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    words: str = ""
    known: int = 0


async def read_messages(tx: Transaction, body: Remember) -> Said:
    """What is new in messages: those after the turns that the session has already, where it begins with just these."""
    turns = [message.turn() for message in body.messages]
    known = await _known(tx, body.session, [turn for turn in turns if turn]) if body.session is not None else 0
    new, passed = [], 0
    for place, turn in enumerate(turns):
        if turn is not None and passed < known:
            passed += 1
        elif turn is not None:
            new.append((place, turn))
    told = [(place, body.messages[place]) for place, _ in new if body.messages[place].speaker in TELLING]
    stated = [(place, fact) for place, message in told for fact in _facts(message, body)]
    return Said(
        turns=[turn for _, turn in new],
        facts=[fact for _, fact in stated],
        places=[place for place, _ in stated],
        words="\n".join(message.prose for _, message in told)[:NAMED],
        known=known,
    )


async def _known(tx: Transaction, session: str, turns: list[JsonObject]) -> int:
    """How many of these turns a session has: all of its own, in order, or none."""
    kept = await conversations.list_turns(tx, session_id=session, limit=len(turns) + 1)
    if len(kept) > len(turns):
        return 0
    same = all((a["role"], a["content"]) == (b["role"], b["content"]) for a, b in zip(kept, turns, strict=False))
    return len(kept) if same else 0


def _facts(message: Message, body: Remember) -> list[JsonObject]:
    """The facts of a message, as items of loci_api.remember; who said them is their source."""
    stated = body.stated()
    about = {name: stated[name] for name in ("category", "tags", "valid_from") if stated.get(name) is not None}
    if message.said_at is not None:
        about = {"valid_from": message.said_at.isoformat(), **about}
    if body.session is not None:
        about["session_id"] = body.session
    source = "assistant" if message.speaker == "assistant" else message.name or body.source or "user"
    return [{**about, "content": text, "source": source, "spoken": True} for text in split(message.prose)]


async def remember(resources: Resources, said: Said, body: Remember, *, read: Read, write: Write[T]) -> T:
    """Keep turns and retain facts, in one transaction; a dry run keeps nothing."""
    finish = partial(_finished, said=said, body=body)
    if not said.facts:
        return await write(finish)
    prepared = await facts.prepare_items(resources, said.facts, read)
    return await facts.retain_facts(
        resources, prepared, body.decide, read=read, write=lambda work: write(partial(finish, work=work)), dry_run=body.dry_run
    )


async def _finished(tx: Transaction, *, said: Said, body: Remember, work: Step | None = None) -> JsonObject:
    """Turns, decisions and entities, as the reply has them."""
    if body.session is not None and said.turns and not body.dry_run:
        await conversations.add_turns(tx, session_id=body.session, turns=said.turns)
    nothing = {"decisions": [], **dict.fromkeys(facts.ACTIONS.values(), 0), "dry_run": body.dry_run, "skipped": {}}
    done: JsonObject = nothing if work is None else await work(tx)
    for decision, place, fact in zip(done["decisions"], said.places, said.facts, strict=True):
        decision.update(message=place, source=fact["source"])
    named = await entities.match_entities(tx, text=said.words) if said.words.strip() else []
    return {
        **done,
        "session": body.session,
        "turns": len(said.turns) if body.session is not None else 0,
        "known_turns": said.known,
        "entities": [{"id": one["id"], "name": one["name"], "type": one["type"]} for one in named],
    }
