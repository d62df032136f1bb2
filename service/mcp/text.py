"""What tools say: a few plain lines for the model, and the same as data without what is empty.

Contents are folded into their line (what follows a line break is indented), so that no content can look like another result.
Long ones are cut, and the line says where the rest is.
"""

import json
from collections.abc import Iterable
from typing import Any

from service.text.subject import statement

JsonObject = dict[str, Any]
Shown = tuple[str, JsonObject]
LONG = 4000  # characters of a content, or a value, among others
MIDNIGHT = "T00:00:00Z"
SETTLE = 'If one does, say so: settle(new, old, "replaces" | "corrects" | "both true").'
MEMORY = ("id", "tier", "namespace", "lineage", "content", "about", "category", "tags", "source", "valid_from", "valid_to",
          "score", "relevance", "contradicts")  # fmt: skip
VERSION = ("id", "lineage", "version", "content", "about", "category", "tags", "source", "session_id", "valid_from", "valid_to",
           "status", "recorded_at", "superseded_at")  # fmt: skip
ENTRY = ("key", "tier", "namespace", "value", "category", "tags", "stored_at", "expires_at", "score")
TURN = ("id", "tier", "namespace", "session_id", "role", "content", "said_at", "score")


def kept(row: JsonObject, fields: Iterable[str] | None = None) -> JsonObject:
    """These fields of a row, or all, without those that are empty, or say what is so unless it is said."""
    plain = {"tier": "memory", "status": "active", "lineage": row.get("id")}
    empty: tuple[object, ...] = (None, "", [], {})
    return {
        name: row[name] for name in fields or row if name in row and (name == "value" or row[name] not in (*empty, plain.get(name)))
    }


def moment(time: str) -> str:
    """A time to the second, a midnight as its date."""
    whole = time.partition(".")[0].removesuffix("Z") + "Z" if time.endswith("Z") else time
    return whole.removesuffix(MIDNIGHT)


def folded(text: str, rest: str = "") -> str:
    """A text within its line, cut where it is long; `rest` says how to see all of it."""
    more = len(text) - LONG
    cut = text if more <= 0 else f"{text[:LONG]} … ({more:,} more characters{rest and ': ' + rest})"
    return "\n  ".join(cut.splitlines())


def about(*parts: str | None) -> str:
    """What is said of something, in brackets; nothing if there is nothing."""
    said = ", ".join(part for part in parts if part)
    return f" ({said})" if said else ""


def times(row: JsonObject) -> str:
    """Since when, and until when."""
    return f"valid since {moment(row['valid_from'])}" + (f" until {moment(row['valid_to'])}" if row.get("valid_to") else "")


def memory_line(row: JsonObject) -> str:
    """One memory: `[id] (category, valid since …, said by …, relevance …): content`; relevance is how likely it answers.

    Whom it is about stands before the content, where neither that nor the speaker says it.
    """
    whole = f'memory_history("{row["id"]}")'
    source = f"said by {folded(row['source'])}" if row.get("source") else None
    sure = f"relevance {row['relevance']:.2f}" if row.get("relevance") is not None else None
    said = about(_elsewhere(row), row.get("category"), times(row), source, sure, may_contradict(row))
    return f"[{row['id']}]{said}: {folded(statement(row, speaker=True), whole)}"


def may_contradict(row: JsonObject) -> str | None:
    """Which other memories a result may contradict."""
    others = row.get("contradicts")
    return f"may contradict {', '.join(f'[{other}]' for other in others)}" if others else None


def may_outdate(rows: Iterable[JsonObject]) -> list[str]:
    """What a new memory may outdate, a line each."""
    return [f"May outdate [{row['id']}] (since {moment(row['valid_from'])}): {folded(row['content'])}" for row in rows]


def how_to_settle(rows: Iterable[object]) -> str:
    """How to say which of two memories holds, where there is something to say."""
    return f"\n{SETTLE}" if any(rows) else ""


def entry_line(row: JsonObject) -> str:
    """One entry of working memory: `key (expires …, category, tags): value`."""
    tags = f"tags {', '.join(row['tags'])}" if row.get("tags") else None
    said = about(_elsewhere(row), f"expires {moment(row['expires_at'])}", row.get("category"), tags)
    value = f": {folded(written(row['value']), 'get_from_working_memory')}" if "value" in row else ""
    return f"{row['key']}{said}{value}"


def turn_line(row: JsonObject) -> str:
    """One turn of a conversation: `session (role, when): content`."""
    return f"session {row['session_id']}{about(_elsewhere(row), row['role'], moment(row['said_at']))}: {folded(row['content'])}"


def edge_line(row: JsonObject) -> str:
    """One edge: `Alice --works_on--> RockBot (confidence=0.90)`."""
    target = row["target"] if row.get("literal") is None else json.dumps(row["literal"], ensure_ascii=False)
    return f"{row['source']} --{row['type']}--> {target} (confidence={row['confidence']:.2f})"


def written(value: object) -> str:
    """A value as a model reads it: text as it is, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _elsewhere(row: JsonObject) -> str | None:
    """What tells a result apart that is no memory, or of another namespace."""
    tier = {"working_memory": "working memory", "conversation": "said"}.get(row.get("tier", "memory"))
    return ", ".join(part for part in (row.get("namespace"), tier) if part)


def lines(items: Iterable[str], otherwise: str) -> str:
    """Lines, or what to say if there are none."""
    return "\n".join(items) or otherwise


def shortened(row: JsonObject) -> JsonObject:
    """A result whose content or value is no longer than its line shows."""
    for name in {"content", "value"} & row.keys():
        if len(text := written(row[name])) > LONG:
            row[name] = text[:LONG] + "…"
    return row


def waiting(reply: JsonObject) -> str:
    """How many memories have no vector yet, if there are any."""
    waits = reply["waiting"]
    some = "1 memory waits for its vector" if waits == 1 else f"{waits:,} memories wait for their vectors"
    return f"\n{some}, and may change places with others until then." if waits else ""


def more(reply: JsonObject) -> str:
    """How to go on, where there is more."""
    return f'\n… and more: call again with cursor "{reply["next_cursor"]}".' if reply["next_cursor"] else ""
