"""Promises of docs/requirements.md that one caller can ask in a few calls, each asked every month in the midst of everything else.

A question takes a client in a namespace that is in use, and a word that nothing else holds; it returns whether the answer was right, and
what it was.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from loci import Conflict, Invalid, LociClient, LociError, NotFound, RateLimited
from tests.services import eventually
from tests.year.truth import Ledger

Answer = tuple[bool, Any]
Question = Callable[[LociClient, str], Answer]
QUESTIONS: list[tuple[str, Question]] = []


def promise(row: str) -> Callable[[Question], Question]:
    """It asks this row."""

    def listed(question: Question) -> Question:
        QUESTIONS.append((row, question))
        return question

    return listed


def ask_all(client: LociClient, ledger: Ledger, word: str) -> None:
    """Ask everything; an error that nobody expected is a wrong answer."""
    for nth, (row, question) in enumerate(QUESTIONS):
        try:
            right, said = question(client, f"{word}q{nth}")
        except (LociError, httpx.HTTPError, AssertionError, AttributeError, LookupError, TypeError) as error:
            right, said = False, repr(error)
        ledger.ask(row, right, f"{question.__name__}: {said}")


def refusal(kind: type[LociError], call: Callable[[], Any]) -> Answer:
    """Whether a call is refused, and how."""
    try:
        return False, call()
    except kind as error:
        return True, error


@promise("M1")
def every_field(c: LociClient, word: str) -> Answer:
    stated: dict[str, Any] = {
        "category": f"probe/{word}",
        "tags": [word, "probe"],
        "layer": 1,
        "importance": 0.75,
        "confidence": 0.5,
        "metadata": {"n": [1, None]},
    }
    made = c.memories.write(f"Field probe {word}", source="auditor", session_id=word, **stated)
    read = c.memories.get(made.id)
    said = {name: getattr(read, name) for name in stated}
    return {**said, "tags": sorted(said["tags"])} == {**stated, "tags": sorted(stated["tags"])} and read.source == "auditor", said


@promise("M4")
def a_duplicate(c: LociClient, word: str) -> Answer:
    first = c.memories.write(f"Twice told {word}")
    again = c.memories.write(f"Twice told {word}")
    refused, how = refusal(Conflict, lambda: c.memories.write(f"Twice told {word}", on_duplicate="refuse"))
    return again.duplicate and again.id == first.id and again.observations == 2 and refused, (again, how)


@promise("M5")
def a_link(c: LociClient, word: str) -> Answer:
    one, other = (c.memories.write(f"Linked {n} {word}") for n in (1, 2))
    c.memories.link(one.id, other.id, type="explains", strength=0.8)
    there = [(link.type, link.strength) for link in c.memories.list_links(other.id)]
    c.memories.unlink(one.id, other.id, type="explains")
    return there == [("explains", 0.8)] and list(c.memories.list_links(one.id)) == [], there


@promise("M6")
def a_tree(c: LociClient, word: str) -> Answer:
    root = c.memories.write(f"Domain {word}", layer=0)
    middle = c.memories.write(f"Concept {word}", layer=1, parent_id=root.id)
    leaf = c.memories.write(f"Fact {word}", parent_id=middle.id)
    under = {placed.id for placed in c.hierarchy.subtree(root.id)}
    round_, how = refusal(LociError, lambda: c.memories.change(root.id, parent_id=leaf.id))
    return {middle.id, leaf.id} <= under and round_, (under, how)


@promise("M7")
def a_category(c: LociClient, word: str) -> Answer:
    for name in ("a", "a/b", "a/b"):
        c.memories.write(f"In {name} {len(name)} {datetime.now(UTC)} {word}", category=f"{word}/{name}")
    counts = {each.category: (each.memories, each.total) for each in c.memories.list_categories(under=word).items}
    return counts.get(f"{word}/a") == (1, 3) and counts.get(f"{word}/a/b") == (2, 2), counts


@promise("M9")
def what_hangs_on_it(c: LociClient, word: str) -> Answer:
    made = c.memories.write(f"{word}x supplies {word}y", edges=[{"source": f"{word}x", "type": "supplies", "target": f"{word}y"}])
    rests = {each.kind for each in c.memories.list_dependents(made.id)}
    would = c.memories.erase([made.id], dry_run=True)
    there = c.memories.get(made.id).id == made.id
    c.memories.erase([made.id])
    gone, how = refusal(NotFound, lambda: c.graph.get_entity(f"{word}x"))
    return "edge" in rests and would.dry_run and there and gone, (rests, would, how)


@promise("M10")
def a_batch(c: LociClient, word: str) -> Answer:
    items = [{"content": f"Batch {n} {word}"} for n in range(20)]
    items[7] = {"content": ""}
    refused, _ = refusal(Invalid, lambda: c.memories.write_batch(items, atomic=True))
    nothing = c.memories.search(word).results == []
    told = c.memories.write_batch(items).items
    return refused and nothing and [n for n, each in enumerate(told) if each.problem] == [7], told[7]


@promise("G1")
def an_entity(c: LociClient, word: str) -> Answer:
    c.graph.write_entity(f"{word} Works", type="organization", aliases=[f"{word}w"], description="A probe")
    read = c.graph.get_entity(f"{word}w")
    return (read.name, read.type, read.aliases) == (f"{word} Works", "organization", [f"{word}w"]), read


@promise("G2")
def an_edge(c: LociClient, word: str) -> Answer:
    then = datetime.now(UTC) - timedelta(days=100)
    made = c.graph.observe_edge(
        f"{word}a", "works_at", f"{word}b", valid_from=then, valid_to=then + timedelta(days=50), observed_at=then
    )
    inside = [e.id for e in c.graph.list_edges(entity=f"{word}a", as_of=then + timedelta(days=10), faded=True)]
    return inside == [made.id] and list(c.graph.list_edges(entity=f"{word}a", faded=True)) == [], inside


@promise("G5")
def a_known_name(c: LociClient, word: str) -> Answer:
    c.graph.write_entity(f"Harbour {word}", type="place")
    matched = [each.name for each in c.graph.match_entities(f"When does Harbour {word} open?").entities]
    return matched == [f"Harbour {word}"], matched


@promise("G8")
def an_edge_fades(c: LociClient, word: str) -> Answer:
    made = c.graph.observe_edge(f"{word}a", "likes", f"{word}b", confidence=0.9)
    now = c.graph.get_edge(made.id).confidence
    later = c.graph.get_edge(made.id, as_of=datetime.now(UTC) + timedelta(days=90)).confidence
    return 0.85 < now <= 0.9 and later < now, (now, later)


@promise("G9")
def an_edge_is_confirmed(c: LociClient, word: str) -> Answer:
    for session in ("one", "two"):
        made = c.graph.observe_edge(f"{word}a", "likes", f"{word}b", confidence=0.6, session_id=f"{word}{session}")
    return made.observations == 2 and made.confidence >= 0.6, made


@promise("G11")
def an_entity_is_found(c: LociClient, word: str) -> Answer:
    c.graph.write_entity(f"{word} Observatory", type="place")
    found = [each.name for each in c.graph.search_entities(f"{word} Observatry", mode="name").entities]
    return f"{word} Observatory" in found[:1], found


@promise("G12")
def a_merge(c: LociClient, word: str) -> Answer:
    for name in ("kept", "other"):
        c.graph.observe_edge(f"{word}{name}", "uses", f"{word}tool{name}")
    c.graph.merge_entities(f"{word}kept", f"{word}other")
    both = len(list(c.graph.list_edges(entity=f"{word}other")))
    (merge, *_) = c.graph.list_merges(entity=f"{word}kept")
    c.graph.undo_merge(merge.id)
    apart = len(list(c.graph.list_edges(entity=f"{word}other")))
    return (both, apart) == (2, 1), (both, apart)


@promise("S1")
def an_aspect(c: LociClient, word: str) -> Answer:
    c.graph.write_entity(f"{word}p", type="person")
    aspect = c.facts.write_aspect(f"{word}p", "health")
    c.facts.write_attribute(aspect.id, f"{word} runs on Sundays")
    c.facts.write_attribute(aspect.id, f"{word} must avoid nuts", kind="constraint")
    (shown,) = c.facts.list_aspects(f"{word}p").items
    said = [each.content for each in (*shown.attributes, *shown.constraints)]
    return said == [f"{word} runs on Sundays", f"{word} must avoid nuts"], said


@promise("S7")
def a_fact_takes_the_place_of_another(c: LociClient, word: str) -> Answer:
    c.graph.write_entity(f"{word}p", type="person")
    aspect = c.facts.write_aspect(f"{word}p", "home", single_valued=True)
    c.facts.write_attribute(aspect.id, f"{word} lives in Oslo", valid_from=datetime.now(UTC) - timedelta(days=9))
    c.facts.write_attribute(aspect.id, f"{word} lives in Lyon")
    (shown,) = c.facts.list_aspects(f"{word}p").items
    now = [each.content for each in shown.attributes]
    (before,) = c.facts.list_aspects(f"{word}p", as_of=datetime.now(UTC) - timedelta(days=3)).items
    then = [each.content for each in before.attributes]
    return (now, then) == ([f"{word} lives in Lyon"], [f"{word} lives in Oslo"]), (now, then)


@promise("R3")
def a_filter(c: LociClient, word: str) -> Answer:
    kept = c.memories.write(f"The ferry {word} leaves at noon", tags=[word], category=f"ferries/{word}")
    c.memories.write(f"The ferry {word} leaves at night")
    found = [m.id for m in c.recall(f"When does the ferry {word} leave?", tags=[word], category="ferries").memories]
    return found == [kept.id], found


@promise("R4")
def a_recall_is_explained_and_logged(c: LociClient, word: str) -> Answer:
    c.memories.write(f"The lighthouse {word} is green")
    said = c.recall(f"Which colour has the lighthouse {word}?", explain=True, session_id=word, log=True)
    assert said.recall_id is not None
    logged = c.recalls.get(said.recall_id)
    why = said.memories[0].explain or {}
    return [m.memory_id for m in logged.memories] == [m.id for m in said.memories] and "lexical" in why["arms"], why


@promise("R5")
def words_alone(c: LociClient, word: str) -> Answer:
    made = c.memories.write(f"The kiln {word} is cold")
    return [m.id for m in c.recall(f"kiln {word}", arms=["lexical"], k=1).memories] == [made.id], made


@promise("R7")
def many_namespaces(c: LociClient, word: str) -> Answer:
    made = c.memories.write(f"The orchard {word} is old")
    found = c.recall(f"orchard {word}", namespaces="*").memories
    return found[0].id == made.id, found[0]


@promise("R11")
def nothing_is_an_answer(c: LociClient, word: str) -> Answer:
    said = c.recall(f"What does the {word}zz cost per gramme?", min_relevance=0.9)
    return list(said.memories) == [] and said.left_out > 0, (said.left_out, said.relevance)


@promise("R14")
def too_little_to_tune(c: LociClient, word: str) -> Answer:
    made = c.memories.write(f"The mill {word} turns")
    job = c.recalls.tune([{"question": f"Does the mill {word} turn?", "ids": [str(made.id)]}])
    eventually(lambda: c.jobs.get(job.job_id).state not in {"waiting", "running"})
    ended = c.jobs.get(job.job_id)
    return ended.state == "succeeded" and not (ended.result or {}).get("proposed"), ended


@promise("W1")
def an_entry_ends(c: LociClient, word: str) -> Answer:
    c.sessions.save_entry(word, {"n": 1}, ttl_seconds=3600)
    there = c.sessions.get_entry(word).value
    c.sessions.save_entry(word, {"n": 1}, ttl_seconds=0.5)

    def over() -> bool:
        return refusal(NotFound, lambda: c.sessions.get_entry(word))[0]

    eventually(over)
    return there == {"n": 1}, there


@promise("W2")
def an_entry_is_found(c: LociClient, word: str) -> Answer:
    c.sessions.save_entry(word, f"the anvil {word} is hot", tags=[word])
    found = [each.value for each in c.sessions.search_entries(f"anvil {word}").items]
    c.sessions.delete_entry(word)
    return found[:1] == [f"the anvil {word} is hot"], found


@promise("L3")
def a_dry_run_of_retain(c: LociClient, word: str) -> Answer:
    said = c.retain(f"The bakery {word} opens at six.", dry_run=True, decide="rules")
    return said.dry_run and said.created + said.linked == 1 and c.memories.search(word).results == [], said


@promise("L5")
def guards_refuse(c: LociClient, word: str) -> Answer:
    del word
    refused = [each for each in c.dreams.list_passes(name="memories") if each.outcome in {"applied", "unchanged"}]
    return all(any("999999" in str(step) for step in each.refused) for each in refused if each.proposed), [
        each.refused for each in refused[:1]
    ]


@promise("X5")
def a_batch_is_undone(c: LociClient, word: str) -> Answer:
    made = c.memories.write_batch([{"content": f"Undone {n} {word}"} for n in range(5)]).items
    (done, *_) = c.operations.list(subject=made[0].id, limit=1)
    would = c.operations.undo(done.id, dry_run=True)
    there = len(c.memories.search(word).results)
    c.operations.undo(done.id)
    return would.conflicts == [] and there == 5 and c.memories.search(word).results == [], there


@promise("X9")
def a_key_has_its_rate(c: LociClient, word: str) -> Answer:
    made = c.access.create_key(role="reader", name=word, rate_limit=1)
    with LociClient(str(c._http.base_url), key=made.key, retries=0) as slow:
        slow.access.whoami()
        limited, how = refusal(RateLimited, lambda: slow.access.whoami())  # noqa: PLW0108 - a method is looked up when it is called
    c.access.revoke_key(made.id)
    return limited, how


@promise("REST")
def rubbish(c: LociClient, word: str) -> Answer:
    reply = c._http.post("/api/v1/memories", json={"content": 7, word: 1}, headers={"X-Namespace": str(c._options.namespace)})
    return reply.status_code == 422 and reply.headers[
        "content-type"
    ] == "application/problem+json" and word in reply.text, reply.text


@promise("MCP")
def tools_are_there(c: LociClient, word: str) -> Answer:
    head = {"Accept": "application/json, text/event-stream", "X-Namespace": str(c._options.namespace)}
    call = {"name": "save_memory", "arguments": {"content": f"The forge {word} is loud"}}
    reply = c._http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, headers=head, timeout=60)
    return reply.status_code == 200 and c.memories.search(f"forge {word}").results != [], reply.text[:300]
