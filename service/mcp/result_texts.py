"""Texts of tools: a few plain lines for the model, and the same as data without empty fields.

Every value comes into a line by `format_value`: a name stays on it, further lines of a text are indented, so nothing stored can
look like another result. Long texts are cut, and the line says where the rest is. A list fits the room of its reply: it ends with a
row, and says how many it lacks.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from service.text.passages import LEAST_PASSAGE_CHARACTERS, MOST_PASSAGE_CHARACTERS, Passage, fair_share, mark_passage
from service.text.subject import format_statement

JsonObject = dict[str, Any]
Shown = tuple[str, JsonObject]
Line = Callable[[JsonObject, int | None], str]  # of a row, with so many characters of its content
BESIDE, NOTE = 120, 150  # characters of a line beside its content, and of the note about what is left out
SEPARATORS = {0x2028: "\\u2028", 0x2029: "\\u2029"}  # those that service/text/hidden_characters.py leaves
MIDNIGHT = "T00:00:00Z"
SETTLE = 'If one does, say so: settle(new, old, "replaces" | "corrects" | "both true").'
MEMORY = ("id", "tier", "namespace", "lineage", "content", "about", "category", "tags", "source", "valid_from", "valid_to",
          "score", "relevance", "contradicts")  # fmt: skip
VERSION = ("id", "lineage", "version", "content", "about", "category", "tags", "source", "session_id", "valid_from", "valid_to",
           "status", "recorded_at", "superseded_at")  # fmt: skip
ENTRY = ("key", "tier", "namespace", "value", "category", "tags", "stored_at", "expires_at", "score")
TURN = ("id", "tier", "namespace", "session_id", "role", "content", "said_at", "score")


def keep_telling_fields(row: JsonObject, fields: Iterable[str] | None = None) -> JsonObject:
    """These fields of a row, or all, without empty ones and defaults."""
    plain = {"tier": "memory", "status": "active", "lineage": row.get("id")}
    empty: tuple[object, ...] = (None, "", [], {})
    return {
        name: row[name] for name in fields or row if name in row and (name == "value" or row[name] not in (*empty, plain.get(name)))
    }


def format_moment(time: str) -> str:
    """A time to the second, a midnight as its date."""
    whole = time.partition(".")[0].removesuffix("Z") + "Z" if time.endswith("Z") else time
    return whole.removesuffix(MIDNIGHT)


def format_value(value: object, *, text: bool = False, longest: int | None = MOST_PASSAGE_CHARACTERS, rest: str = "") -> str:
    """A value within its line: a name on one line, a `text` with its further lines indented, what is no string as JSON.

    A text is cut after the `longest` number of characters (None: never); `rest` says how to see all of it.
    """
    plain = _format_plain_value(value)
    if not text:
        return " ".join(line.strip() for line in plain.splitlines())
    more = 0 if longest is None else len(plain) - longest
    cut = plain if more <= 0 else f"{plain[:longest]} … ({more:,} more characters{rest and ': ' + rest})"
    return "\n  ".join(cut.splitlines())


def _format_plain_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def on_its_lines(text: str) -> str:
    r"""A text whose lines are told apart by \n alone, in formats that have lines of their own: other separators are shown."""
    return text.translate(SEPARATORS)


def format_brackets(*parts: str | None) -> str:
    """Notes on something, in brackets; nothing if there are none."""
    said = ", ".join(format_value(part) for part in parts if part)
    return f" ({said})" if said else ""


def format_period(row: JsonObject) -> str:
    """Since when, and until when."""
    return f"valid since {format_moment(row['valid_from'])}" + (
        f" until {format_moment(row['valid_to'])}" if row.get("valid_to") else ""
    )


class Listing(NamedTuple):
    """Lines that fit the room of a reply, how many rows they are of, and after how many characters contents were cut."""

    text: str
    shown: int
    longest: int


def fit_rows(rows: Sequence[JsonObject], line: Line, room: int, otherwise: str = "", *, by: str = "") -> Listing:
    """As many rows as fit into `room`, from the first on: long contents share what short ones leave.

    `otherwise`: what is said where there is none; `by`: how to see what is left out, beside a larger max_chars.
    """
    whole = [line(row, None) for row in rows]
    share = fair_share((len(text) + 1 for text in whole), room)
    longest = max(LEAST_PASSAGE_CHARACTERS // 2, share - BESIDE)
    lines = [text if len(text) < share else line(row, longest) for row, text in zip(rows, whole, strict=True)]
    shown = _count_fitting_lines(lines, room)
    if shown < len(lines):
        shown = max(1, _count_fitting_lines(lines, room - NOTE))
        left = f"… {len(lines) - shown:,} more left out for length: call again with {by and by + ', or '}a larger max_chars."
        return Listing("\n".join([*lines[:shown], left]), shown, longest)
    return Listing("\n".join(lines) or otherwise, shown, longest)


def _count_fitting_lines(lines: list[str], room: int) -> int:
    """How many of the lines, from the first on, fit."""
    for nth, text in enumerate(lines):
        room -= len(text) + 1
        if room < -1:
            return nth
    return len(lines)


def fit_into_room(text: str, room: int) -> str:
    """A text that is no longer than its room, whatever it is."""
    if len(text) <= room:
        return text
    note = f" … (cut after {room:,} characters: call again with a larger max_chars)"
    return (text[: max(0, room - len(note))] + note)[:room]


def cut_strings(value: Any, longest: int) -> Any:
    """Data whose strings are no longer than that."""
    if isinstance(value, str):
        return value if len(value) <= longest else value[:longest] + "…"
    if isinstance(value, list):
        return [cut_strings(item, longest) for item in value]
    return {name: cut_strings(item, longest) for name, item in value.items()} if isinstance(value, dict) else value


def memory_line(row: JsonObject, longest: int | None = MOST_PASSAGE_CHARACTERS) -> str:
    """One memory: `[id] (category, valid since …, said by …, relevance …): content`; relevance is how likely it answers.

    The subject comes before the content, if neither content nor speaker names it. A long one shows its passage.
    """
    whole = f'memory_history("{row["id"]}")'
    source = f"said by {row['source']}" if row.get("source") else None
    sure = f"relevance {row['relevance']:.2f}" if row.get("relevance") is not None else None
    said = format_brackets(_format_origin(row), row.get("category"), format_period(row), source, sure, may_contradict(row))
    return f"[{row['id']}]{said}: {_format_content(row, format_statement(row, speaker=True), longest, whole)}"


def _format_content(row: JsonObject, content: str, longest: int | None, whole: str) -> str:
    """A content cut to its line, or its answering passage."""
    if passage := row.get("passage"):
        return format_value(mark_passage(Passage(**passage), len(content), f"all of it: {whole}"), text=True, longest=None)
    return format_value(content, text=True, longest=longest, rest=whole)


def may_contradict(row: JsonObject) -> str | None:
    """Which other memories a result may contradict."""
    others = row.get("contradicts")
    return f"may contradict {', '.join(f'[{other}]' for other in others)}" if others else None


def may_outdate(rows: Iterable[JsonObject]) -> list[str]:
    """Memories that a new one may outdate, a line each."""
    return [
        f"May outdate [{row['id']}] (since {format_moment(row['valid_from'])}): "
        f"{format_value(row['content'], text=True, longest=MOST_PASSAGE_CHARACTERS // 4)}"
        for row in rows
    ]


def how_to_settle(rows: Iterable[object]) -> str:
    """How to say which of two memories holds, where there is something to say."""
    return f"\n{SETTLE}" if any(rows) else ""


def entry_line(row: JsonObject, longest: int | None = MOST_PASSAGE_CHARACTERS) -> str:
    """One entry of working memory: `key (expires …, category, tags): value`."""
    tags = f"tags {', '.join(row['tags'])}" if row.get("tags") else None
    said = format_brackets(_format_origin(row), f"expires {format_moment(row['expires_at'])}", row.get("category"), tags)
    if "value" not in row:
        return f"{format_value(row['key'])}{said}"
    content = _format_content(row, _format_plain_value(row["value"]), longest, "get_from_working_memory")
    return f"{format_value(row['key'])}{said}: {content}"


def turn_line(row: JsonObject, longest: int | None = MOST_PASSAGE_CHARACTERS) -> str:
    """One turn of a conversation: `session (role, when): content`."""
    said = format_brackets(_format_origin(row), row["role"], format_moment(row["said_at"]))
    return f"session {format_value(row['session_id'])}{said}: {_format_content(row, row['content'], longest, 'the conversation')}"


def edge_line(row: JsonObject, _: int | None = None) -> str:
    """One edge: `[id] Alice --works_on--> RockBot (confidence=0.90)`."""
    source, kind = format_value(row["source"]), format_value(row["type"])
    target = row["target"] if row.get("literal") is None else json.dumps(row["literal"], ensure_ascii=False)
    return f"[{row['id']}] {source} --{kind}--> {format_value(target)} (confidence={row['confidence']:.2f})"


def event_line(row: JsonObject, longest: int | None = MOST_PASSAGE_CHARACTERS) -> str:
    """One event around an entity: `when kind event [id]: details`."""
    said = "; ".join(
        f"{format_value(name)}={format_value(value, text=True, longest=longest)}"
        for name, value in keep_telling_fields(row["detail"]).items()
    )
    return f"{format_moment(row['at'])} {format_value(row['kind'])} {format_value(row['event'])} [{row['id']}]: {said}"


def _format_origin(row: JsonObject) -> str | None:
    """The sign of a result that is no memory, or of another namespace."""
    tier = {"working_memory": "working memory", "conversation": "said"}.get(row.get("tier", "memory"))
    return ", ".join(part for part in (row.get("namespace"), tier) if part)


def shorten_result(row: JsonObject, longest: int = MOST_PASSAGE_CHARACTERS) -> JsonObject:
    """A result whose content or value is no longer than its line shows, and is the passage where that is shown."""
    passage = row.pop("passage", None)
    for name in {"content", "value"} & row.keys():
        text = _format_plain_value(row[name])
        if passage or len(text) > longest:
            row[name] = f"… {passage['text']} …" if passage else text[:longest] + "…"
    return row


def tell_unembedded_count(reply: JsonObject) -> str:
    """How many memories have no vector yet, if there are any."""
    waits = reply["waiting"]
    some = "1 memory waits for its vector" if waits == 1 else f"{waits:,} memories wait for their vectors"
    return f"\n{some}, and may change places with others until then." if waits else ""


def tell_next_page(reply: JsonObject) -> str:
    """Line that says how to read the rest."""
    return f'\n… and more: call again with cursor "{format_value(reply["next_cursor"])}".' if reply["next_cursor"] else ""
