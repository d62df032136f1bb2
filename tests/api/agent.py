"""The session of an agent, as a fixed script that any client can run: what it calls, what it must read, and what it must not.

`$name` in arguments is an id that a step before has kept under that name.
"""

from typing import Any, NamedTuple

FIRST, SINCE = "2021-03-01", "2025-06-01"
THEN = "2022-01-01"


class Step(NamedTuple):
    """A call; `reads` stand in its text and `lacks` do not; `keeps` names the id in its data; `fails`: it must be an error."""

    tool: str
    arguments: dict[str, Any]
    reads: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    keeps: str = ""
    fails: bool = False


def save(content: str, keeps: str, **more: Any) -> Step:
    """Save a statement about Petra."""
    return Step("save_memory", {"content": content, "about": "Petra", **more}, ("Saved as [",), keeps=keeps)


STEPS = [
    Step("get_context", {"message": "Hello", "session_id": "s"}),
    # Save and relate, with the time since when it is true.
    save("Petra works at Ilex Labs.", "ilex", valid_from=FIRST),
    Step("relate", {"source": "Petra", "type": "works_at", "target": "Ilex Labs", "memory_id": "$ilex", "valid_from": FIRST},
         ("Petra --works_at--> Ilex Labs",)),
    # It changed: the new one replaces the old one, whose relation ends with it.
    save("Petra works at Orbit.", "orbit", valid_from=SINCE, replaces="$ilex"),
    Step("relate", {"source": "Petra", "type": "works_at", "target": "Orbit", "memory_id": "$orbit", "valid_from": SINCE}),
    # It was wrong: the new one corrects it.
    save("Petra was born in 1980.", "wrong"),
    save("Petra was born in 1981.", "right", corrects="$wrong"),
    # Ask of now, and of then.
    Step("recall", {"query": "Where does Petra work?"}, ("works at Orbit",), ("Ilex",)),
    Step("recall", {"query": "Where does Petra work?", "as_of": THEN}, ("works at Ilex Labs",), ("Orbit",)),
    Step("recall", {"query": "When was Petra born?"}, ("1981",), ("1980",)),
    Step("describe", {"entity": "Petra", "as_of": THEN}, ("works_at--> Ilex Labs",), ("Orbit",)),
    # Settle which of two holds.
    save("Petra lives in Oslo.", "oslo"),
    Step("save_memory", {"content": "Petra lives in Bergen.", "about": "Petra"}, ("May outdate [", "settle("), keeps="bergen"),
    Step("settle", {"new": "$bergen", "old": "$oslo", "verdict": "replaces"}, ("ended",)),
    Step("settle", {}, (), ("Petra lives in Oslo.",)),
    Step("recall", {"query": "Where does Petra live?"}, ("Bergen",), ("Oslo",)),
    # Everything before an answer; a conversation is shown a memory once.
    Step("get_context", {"message": "Where does Petra live and work?", "session_id": "s"}, ("Bergen", "Orbit"), ("Oslo.", "1980")),
    Step("get_context", {"message": "Where does Petra live and work?", "session_id": "s"}, ("shown before",)),
    Step("memory_history", {"ref": "$ilex"}, ("Ilex Labs",)),
    Step("delete_memory", {"id": "$right"}, ("Deleted",)),
    Step("recall", {"query": "When was Petra born?"}, (), ("1981", "1980")),
    # Errors say what is wrong.
    Step("delete_memory", {"id": "00000000-0000-0000-0000-000000000005"}, ("Not found", "recall"), fails=True),
    Step("recall", {"query": "x", "as_of": "soon"}, ("as_of",), fails=True),
]  # fmt: skip
