"""Small namespaces cut from question sets, and foreign questions with the names of speakers here."""

import random
import re

from bench.quality.sets import APART, NEAR, QuestionSet, Row

SIZES = (10, 30, 80)
EACH = 4  # namespaces of a size from one namespace
MOST = 8  # questions of a namespace
TRIES = 30


def cut_set(questions: QuestionSet, seed: int = 5) -> QuestionSet:
    """Namespaces of a few documents that hold all the evidence of some questions: turns in a row, or evidence and other paragraphs."""
    chance, documents, queries = random.Random(seed), [], []
    for namespace, held in questions.namespaces.items():
        own = [
            q for q in questions.queries if q["namespace"] == namespace and q["evidence_ids"] and q["category"] not in {APART, NEAR}
        ]
        for size in (size for size in SIZES if size < len(held) for _ in range(EACH)):
            kept, inside = max((_drawn(held, own, size, questions, chance) for _ in range(TRIES)), key=lambda drawn: len(drawn[1]))
            name = f"{questions.name}_cut-{len(documents)}"
            if inside:
                documents += [{**document, "namespace": name} for document in kept]
                chosen = chance.sample(inside, min(MOST, len(inside)))
                queries += [{**q, "namespace": name, "id": f"{name}/{q['id']}", "from": namespace} for q in chosen]
    return QuestionSet(f"{questions.name}_cut", documents, queries)


def _drawn(
    held: list[Row], own: list[Row], size: int, questions: QuestionSet, chance: random.Random
) -> tuple[list[Row], list[Row]]:
    """Some documents of a namespace, and the questions whose evidence is all among them."""
    places, first = {document["id"]: place for place, document in enumerate(held)}, chance.choice(own)
    evidence = [places[key] for key in first["evidence_ids"] if key in places] or [0]
    if questions.dialogue:
        start = max(0, min(evidence[0] - chance.randrange(size), len(held) - size))
        kept = held[start : start + size]
    else:
        others = chance.sample(range(len(held)), size)
        kept = [held[place] for place in dict.fromkeys([*evidence, *others])][: max(size, len(evidence))]
    there = {document["id"] for document in kept}
    return kept, [query for query in own if set(query["evidence_ids"]) <= there]


def is_foreign(query: Row, questions: QuestionSet, namespace: str) -> bool:
    """Whether a question is about another conversation than this namespace, or its evidence is not here."""
    if not questions.dialogue and questions.name.endswith("_cut"):
        return not {document["id"] for document in questions.namespaces[namespace]} & set(query["evidence_ids"])
    here = {q.get("from", namespace) for q in questions.queries if q["namespace"] == namespace} | {namespace}
    return not {series(name) for name in here} & {series(query["namespace"]), series(query.get("from", query["namespace"]))}


def series(namespace: str) -> str:
    """What foreign questions may not share with a namespace: meetings of a series have one subject."""
    return "-".join(namespace.split("-")[:2]) if namespace.startswith("qmsum-") else namespace


def renamed(text: str, theirs: list[str], ours: list[str], chance: random.Random) -> str:
    """A question with our speakers' names in place of theirs, one for one as far as they go."""
    free = chance.sample(ours, len(ours))
    names: dict[str, str] = {}

    def ours_for(found: re.Match[str]) -> str:
        name = found.group().lower()
        names[name] = names.get(name) or (free.pop() if free else chance.choice(ours))
        return names[name]

    either = "|".join(re.escape(name) for name in sorted(theirs, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{either})(?!\w)", ours_for, text, flags=re.IGNORECASE)
