"""Where hits come from: namespaces and tiers, side by side in one ranking.

A hit is a number: its source in the high bits, in the low 40 the document number of a memory, or the place of an entry or a
turn among what its search returned. The memories of the first namespace are source 0, so where only one is searched a hit is its
document number. Equal scores are in order of these numbers: of namespaces, then of tiers.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from db.pool import JsonObject, ServerKind, Transaction
from db.recall import search
from db.recall.search import Found, Hits
from service.recall.fusion import order_by_score

if TYPE_CHECKING:
    from service.recall.question import Question

Tier = Literal["memory", "working_memory", "conversation"]
TIERS: tuple[Tier, ...] = ("memory", "working_memory", "conversation")
BITS = 40
NUMBER = (1 << BITS) - 1
MOST_TIER_RESULTS = 100  # results that a search of another tier gives at most
LATE = "cut short by its deadline (setting walk_ms): memories and constraints may be missing"
# Which filters another tier knows; any other, and a question about the past, leaves it out.
KNOWN: dict[Tier, frozenset[str]] = {
    "working_memory": frozenset({"category", "tags"}),
    "conversation": frozenset({"session_id"}),
}


@dataclass(frozen=True)
class Source:
    """A namespace that is searched, by its place in the answer: a transaction within it, and its settings."""

    place: int
    name: str
    tx: Transaction
    settings: JsonObject


@dataclass
class Asked:
    """Hits of the arms that start from the question, over all namespaces; hits of other tiers with their rows.

    `settings` are those that fuse. `server`: the kind of server that was asked.
    """

    sources: list[Source]
    settings: JsonObject
    found: Found
    server: ServerKind
    rows: dict[int, JsonObject] = field(default_factory=dict)


def pack_hit(place: int, tier: Tier, number: int) -> int:
    """The number of a hit."""
    return (len(TIERS) * place + TIERS.index(tier)) << BITS | number


def unpack_hit(key: int) -> tuple[int, Tier, int]:
    """Place of the namespace, tier, and number there."""
    place, tier = divmod(key >> BITS, len(TIERS))
    return place, TIERS[tier], key & NUMBER


def is_memory(key: int) -> bool:
    """Whether a hit is a memory."""
    return (key >> BITS) % len(TIERS) == 0


def by_place(keys: list[int]) -> dict[int, list[int]]:
    """Document numbers of the memories among these hits, by the place of their namespace, in the order given."""
    found: dict[int, list[int]] = {}
    for key in keys:
        if is_memory(key):
            found.setdefault((key >> BITS) // len(TIERS), []).append(key & NUMBER)
    return found


def hits_at_place(hits: Hits, place: int) -> Hits:
    """Hits among memories of one namespace, as hits of the ranking."""
    if place == 0:
        return hits
    base = pack_hit(place, "memory", 0)
    return Hits({base | key: score for key, score in hits.scores.items()}, {base | key: path for key, path in hits.paths.items()})


def join_hits(parts: list[Hits], depth: int) -> Hits:
    """Hits of one arm in several namespaces, by score: the best `depth` of all."""
    if len(parts) == 1:
        return parts[0]
    scores = {key: score for part in parts for key, score in part.scores.items()}
    paths = {key: path for part in parts for key, path in part.paths.items()}
    return Hits({key: scores[key] for key in order_by_score(scores)[:depth]}, paths)


async def ask_arms(
    tx: Transaction,
    question: "Question",
    embedding: search.Embedded | None,
    skipped: dict[str, str],
    model: int | None = None,
) -> Asked:
    """Ask all arms that start from the question, in the transaction's namespace or in those that the question names.

    `model` is the number of the model that made the vector; None: not known.
    """
    tiers = _list_other_tiers(question, skipped)
    asked = await (_ask_one if question.namespaces is None else _ask_each)(tx, question, embedding, tiers, model)
    if asked.found.late:
        skipped["walk"] = LATE
    return asked


async def _ask_one(
    tx: Transaction, question: "Question", embedding: search.Embedded | None, tiers: list[Tier], model: int | None
) -> Asked:
    sent = await _send_tiers(tx, question, tiers, MOST_TIER_RESULTS)
    found = await search.recall_arms(
        tx,
        query=question.query,
        embedding=embedding,
        arms=list(question.arms),
        scope=question.scope,
        explain=question.explain,
        model=model,
    )
    entered = await tx.read_caller()
    asked = Asked([Source(0, entered.namespace or "", tx, entered.settings)], entered.settings, found, tx.server_kind)
    await _read_tiers(asked, [(0, sent)], int(entered.settings["depth"]))
    _name_namespace(asked.found, entered.namespace or "")
    return asked


async def _ask_each(
    tx: Transaction, question: "Question", embedding: search.Embedded | None, tiers: list[Tier], model: int | None
) -> Asked:
    """Two round trips, whatever the number of namespaces; a third where other tiers are asked."""
    names = None if question.namespaces == "*" else list(question.namespaces or ())
    sent = await search.send_recall_namespaces(tx, namespaces=names)
    each = await search.recall_arms_in_namespaces(
        tx,
        namespaces=names,
        query=question.query,
        embedding=embedding,
        arms=list(question.arms),
        scope=question.scope,
        explain=question.explain,
        model=model,
    )
    rows = await sent.all()
    searched = [row for row in rows if row["searched"]]
    sources = [
        Source(place, row["namespace"], tx.for_namespace(row["namespace"]), row["settings"]) for place, row in enumerate(searched)
    ]
    settings = next(row["settings"] for row in rows if row["own"])
    depth = int(settings["depth"])
    answered = [(source, each[source.name]) for source in sources if source.name in each]
    asked = Asked(sources, settings, _join_answers(answered, depth), tx.server_kind)
    await _read_tiers(asked, [(s.place, await _send_tiers(s.tx, question, tiers, MOST_TIER_RESULTS)) for s in sources], depth)
    return asked


def _join_answers(answered: list[tuple[Source, Found]], depth: int) -> Found:
    parts: dict[str, list[Hits]] = {}
    together = Found({}, [], [], False)
    for source, found in answered:
        _name_namespace(found, source.name)
        for arm, hits in found.arms.items():
            parts.setdefault(arm, []).append(hits_at_place(hits, source.place))
        together.entities += found.entities
        together.constraints += found.constraints
        together.late |= found.late
        together.model = found.model
        together.waits += found.waits
        together.questions |= dict(zip([source.place], found.questions.values(), strict=False))
        together.mean |= dict(zip([source.place], found.mean.values(), strict=False))
        together.waiting += [{**row, "doc_id": pack_hit(source.place, "memory", row["doc_id"])} for row in found.waiting]
        for step, seconds in found.took.items():
            together.took[step] = together.took.get(step, 0.0) + seconds
    together.arms = {arm: join_hits(hits, 2 * depth if arm == "lexical" else depth) for arm, hits in parts.items()}
    together.constraints = _order_constraints(together.constraints)
    return together


def _order_constraints(constraints: list[JsonObject]) -> list[JsonObject]:
    """The most important first, as loci.walk has them in one namespace; those of several namespaces stand together."""
    return sorted(constraints, key=lambda constraint: (constraint["importance"], constraint["id"]), reverse=True)


def _name_namespace(found: Found, namespace: str) -> None:
    """Say of entities and constraints which namespace they are of."""
    for row in (*found.entities, *found.constraints):
        row["namespace"] = namespace


def _list_other_tiers(question: "Question", skipped: dict[str, str]) -> list[Tier]:
    """The other tiers that the question asks for; one that cannot keep to its filters or times is skipped, and says why."""
    asked: list[Tier] = [tier for tier in TIERS if tier in KNOWN and tier in question.arms]
    scope = question.scope
    past = {name for name in ("as_of", "known_at") if getattr(scope, name) is not None}
    for tier in tuple(asked):
        if unknown := sorted((set(scope.filters) | past) - KNOWN[tier]):
            skipped[tier] = f"it has no {', '.join(unknown)} to restrict it by"
            asked.remove(tier)
    return asked


async def _send_tiers(tx: Transaction, question: "Question", tiers: list[Tier], limit: int) -> dict[Tier, Any]:
    """Ask the other tiers of one namespace. Conversation: the session that a filter names, else the one that asks, else all."""
    filters = question.scope.filters
    sent: dict[Tier, Any] = {}
    if "working_memory" in tiers:
        sent["working_memory"] = await search.send_working_memory(
            tx, query=question.query, category=filters.get("category"), tags=filters.get("tags"), limit=limit
        )
    if "conversation" in tiers:
        session = filters.get("session_id", question.session_id)
        sent["conversation"] = await search.send_turns(tx, query=question.query, session_id=session, limit=limit)
    return sent


async def _read_tiers(asked: Asked, sent: list[tuple[int, dict[Tier, Any]]], depth: int) -> None:
    """Add what other tiers found: an arm each, over all namespaces, and its rows."""
    for tier in TIERS:
        parts = []
        for place, cursors in sent:
            if tier in cursors:
                rows = {pack_hit(place, tier, nth): row for nth, row in enumerate(await cursors[tier].all())}
                parts.append(Hits({key: row.pop("score") for key, row in rows.items()}, {}))
                asked.rows |= {key: {"tier": tier, "namespace": asked.sources[place].name, **row} for key, row in rows.items()}
        if parts:
            asked.found.arms[tier] = join_hits(parts, depth)
