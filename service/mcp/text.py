"""What tools say: a few plain lines for the model, and the same as data without what is empty.

Every value comes into a line by `written`: a name stays on it, further lines of a text are indented, so nothing stored can look
like another result. Long texts are cut, and the line says where the rest is.
"""

import json
from collections.abc import Iterable
from typing import Any

from service.text.subject import statement

JsonObject = dict[str, Any]
Shown = tuple[str, JsonObject]
LONG = 4000  # characters of a content, or a value, among others
SEPARATORS = {0x2028: "\\u2028", 0x2029: "\\u2029"}  # those that service/text/visible.py leaves
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


def written(value: object, *, text: bool = False, longest: int | None = LONG, rest: str = "") -> str:
    """A value within its line: a name on one line, a `text` with its further lines indented, what is no string as JSON.

    A text is cut after the `longest` number of characters (None: never); `rest` says how to see all of it.
    """
    plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not text:
        return " ".join(line.strip() for line in plain.splitlines())
    more = 0 if longest is None else len(plain) - longest
    cut = plain if more <= 0 else f"{plain[:longest]} … ({more:,} more characters{rest and ': ' + rest})"
    return "\n  ".join(cut.splitlines())


def on_its_lines(text: str) -> str:
    r"""A text whose lines are told apart by \n alone, in formats that have lines of their own: other separators are shown."""
    return text.translate(SEPARATORS)


def about(*parts: str | None) -> str:
    """What is said of something, in brackets; nothing if there is nothing."""
    said = ", ".join(written(part) for part in parts if part)
    return f" ({said})" if said else ""


def times(row: JsonObject) -> str:
    """Since when, and until when."""
    return f"valid since {moment(row['valid_from'])}" + (f" until {moment(row['valid_to'])}" if row.get("valid_to") else "")


def memory_line(row: JsonObject) -> str:
    """One memory: `[id] (category, valid since …, said by …, relevance …): content`; relevance is how likely it answers.

    Whom it is about stands before the content, where neither that nor the speaker says it.
    """
    whole = f'memory_history("{row["id"]}")'
    source = f"said by {row['source']}" if row.get("source") else None
    sure = f"relevance {row['relevance']:.2f}" if row.get("relevance") is not None else None
    said = about(_elsewhere(row), row.get("category"), times(row), source, sure, may_contradict(row))
    return f"[{row['id']}]{said}: {written(statement(row, speaker=True), text=True, rest=whole)}"


def may_contradict(row: JsonObject) -> str | None:
    """Which other memories a result may contradict."""
    others = row.get("contradicts")
    return f"may contradict {', '.join(f'[{other}]' for other in others)}" if others else None


def may_outdate(rows: Iterable[JsonObject]) -> list[str]:
    """What a new memory may outdate, a line each."""
    return [f"May outdate [{row['id']}] (since {moment(row['valid_from'])}): {written(row['content'], text=True)}" for row in rows]


def how_to_settle(rows: Iterable[object]) -> str:
    """How to say which of two memories holds, where there is something to say."""
    return f"\n{SETTLE}" if any(rows) else ""


def entry_line(row: JsonObject) -> str:
    """One entry of working memory: `key (expires …, category, tags): value`."""
    tags = f"tags {', '.join(row['tags'])}" if row.get("tags") else None
    said = about(_elsewhere(row), f"expires {moment(row['expires_at'])}", row.get("category"), tags)
    value = f": {written(row['value'], text=True, rest='get_from_working_memory')}" if "value" in row else ""
    return f"{written(row['key'])}{said}{value}"


def turn_line(row: JsonObject) -> str:
    """One turn of a conversation: `session (role, when): content`."""
    said = about(_elsewhere(row), row["role"], moment(row["said_at"]))
    return f"session {written(row['session_id'])}{said}: {written(row['content'], text=True)}"


def edge_line(row: JsonObject) -> str:
    """One edge: `[id] Alice --works_on--> RockBot (confidence=0.90)`."""
    source, kind = written(row["source"]), written(row["type"])
    target = row["target"] if row.get("literal") is None else json.dumps(row["literal"], ensure_ascii=False)
    return f"[{row['id']}] {source} --{kind}--> {written(target)} (confidence={row['confidence']:.2f})"


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
        text = row[name] if isinstance(row[name], str) else json.dumps(row[name], ensure_ascii=False)
        if len(text) > LONG:
            row[name] = text[:LONG] + "…"
    return row


def waiting(reply: JsonObject) -> str:
    """How many memories have no vector yet, if there are any."""
    waits = reply["waiting"]
    some = "1 memory waits for its vector" if waits == 1 else f"{waits:,} memories wait for their vectors"
    return f"\n{some}, and may change places with others until then." if waits else ""


def more(reply: JsonObject) -> str:
    """How to go on, where there is more."""
    return f'\n… and more: call again with cursor "{written(reply["next_cursor"])}".' if reply["next_cursor"] else ""
