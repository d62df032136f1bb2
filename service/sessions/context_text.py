"""The text of a context: its lines, and what fits into a budget of characters. Pure functions.

A line of the text that is not indented is a header, an item, which begins with `- `, or a turn, which begins with `role: `,
whatever an item holds: further lines of a text are indented, names are put on one line, roles hold no blanks. So nothing stored
forges a header. Hidden characters are shown (service/text/hidden_characters.py).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from db.pool import JsonObject
from service.text.hidden_characters import show_hidden_characters
from service.text.passages import LEAST_PASSAGE_CHARACTERS, Passage, mark_passage
from service.text.subject import text_with_subject

Kept = dict[str, list[int]]
NOBODY = "user"  # a speaker who is nobody in particular
MINUTE, HOUR, DAY = 60, 3600, 86_400
NOTED_FROM, NOTE_CHARS = 1000, 250  # characters of a budget that has room for a note, and of the longest note
HEADERS = {
    "profile": "About the one who asks:",
    "memories": "Recalled from long-term memory (relevant to this message):",
    "fallback": "Recalled from long-term memory (the most important, as nothing matches yet):",
    "constraints": "Constraints (these hold, whatever is asked):",
    "unsettled": 'Not settled: which of these holds? settle(new, old, "replaces" | "corrects" | "both true"):',
    "working_memory": "Working memory (scratch space — use search_working_memory or get_from_working_memory to retrieve):",
    "patrol": "Patrol findings in working memory (use get_from_working_memory with the full key to read):",
    "subagents": "Subagent research in working memory (use get_from_working_memory with the full key to read an index):",
    "turns": "Conversation so far (last turns):",
}


@dataclass(frozen=True)
class Section:
    """A header and its items as lines. `from_end`: the last items matter most, and none is left out between two others."""

    name: str
    header: str
    lines: list[str]
    from_end: bool = False


def fit_into_budget(sections: list[Section], budget: int | None) -> Kept:
    """Positions of the items that fit into so many characters (None: all), by section: the text of these is never longer.

    Sections take what they can in their order, items in theirs. One that is too long is left out; shorter ones after it may fit.
    """
    kept: Kept = {}
    used = 0
    for section in sections:
        places: list[int] = []
        positions = range(len(section.lines))
        for place in reversed(positions) if section.from_end else positions:
            opening = 0 if places else len(section.header) + (2 if used else 0)
            length = opening + 1 + len(section.lines[place])
            if budget is None or used + length <= budget:
                places.append(place)
                used += length
            elif section.from_end:
                break
        kept[section.name] = sorted(places)
    return kept


def fit_with_note(sections: list[Section], budget: int) -> Kept:
    """The same, with room for a note where something is left out; a small budget has none."""
    kept = fit_into_budget(sections, budget)
    whole = all(len(kept[section.name]) == len(section.lines) for section in sections)
    return kept if whole or budget < NOTED_FROM else fit_into_budget(sections, budget - NOTE_CHARS)


def note_omissions(text: str, left_out: list[JsonObject], budget: int) -> str:
    """The text, and how much of what is left out of it for its length."""
    short = [f"{item['left_out']} of {item['section']}" for item in left_out if item["reason"] == "max_chars"]
    note = f"(Left out for length: {', '.join(short)}. A larger max_chars shows them.)"
    return f"{text}\n\n{note}" if short and budget >= NOTED_FROM else text


def shorten_row(row: JsonObject, longest: int | None) -> JsonObject:
    """A row as it is shown: of a memory its passage, of other contents that are longer than `longest` the beginning."""
    if passage := row.get("passage"):
        rest = f'all of it: memory_history("{row["id"]}")'
        return {**row, "content": mark_passage(Passage(**passage), len(row["content"]), rest)}
    if longest is None:
        return row
    if "newer" in row:
        return {**row, **{name: shorten_row(row[name], longest // 2) for name in ("newer", "older")}}
    more = len(row.get("content", "")) - max(LEAST_PASSAGE_CHARACTERS // 2, longest - LEAST_PASSAGE_CHARACTERS // 2)
    return {**row, "content": f"{row['content'][:-more]} … ({more:,} more characters)"} if more > 0 else row


def render_sections(sections: list[Section], kept: Kept) -> str:
    """The kept items under their headers, a blank line between sections; no header without an item."""
    return "\n\n".join(
        "\n".join([section.header, *(section.lines[place] for place in kept[section.name])])
        for section in sections
        if kept[section.name]
    )


def memory_line(row: JsonObject) -> str:
    """`- [id] (category): content`; with whom it is about in front, where the words do not say that."""
    about = row["about"]
    content = text_with_subject(row["content"], None if about is None or about.lower() == NOBODY else about)
    doubts = "".join(f", may contradict [{other}]" for other in row.get("contradicts") or ())
    return f"- [{row['id']}] ({one_line(row['category'])}{doubts}): {indent_lines(content)}"


def pair_line(pair: JsonObject) -> str:
    """`- [id] content / may outdate [id] content`."""
    newer, older = pair["newer"], pair["older"]
    return f"- [{newer['id']}] {one_line(newer['content'])} / may outdate [{older['id']}] {one_line(older['content'])}"


def constraint_line(row: JsonObject) -> str:
    """`- entity (aspect): content`."""
    return f"- {one_line(row['entity'])} ({one_line(row['aspect'])}): {indent_lines(row['content'])}"


def key_line(row: JsonObject) -> str:
    """`- key: expires in 4m32s, category: x, tags: a, b`."""
    parts = [f"- {one_line(row['key'])}: expires in {format_remaining_seconds(row['expires_in'])}"]
    if row["category"]:
        parts.append(f"category: {one_line(row['category'])}")
    if row["tags"]:
        parts.append("tags: " + ", ".join(one_line(tag) for tag in row["tags"]))
    return ", ".join(parts)


def turn_line(row: JsonObject) -> str:
    """`user: content`."""
    role = re.sub(r"[^\w.-]+", "_", row["role"])
    return f"{role}: {indent_lines(row['content'])}"


LINES: dict[str, Callable[[JsonObject], str]] = {
    "profile": memory_line,
    "memories": memory_line,
    "constraints": constraint_line,
    "unsettled": pair_line,
    "working_memory": key_line,
    "patrol": key_line,
    "subagents": key_line,
    "turns": turn_line,
}


def one_line(text: str) -> str:
    """A text on one line."""
    return " ".join(line.strip() for line in show_hidden_characters(text).splitlines())


def indent_lines(text: str) -> str:
    """A text whose further lines are indented; blank ones are left out."""
    return "\n  ".join(line.rstrip() for line in show_hidden_characters(text).splitlines() if line.strip())


def format_remaining_seconds(seconds: float) -> str:
    """Seconds left, in two units: `2m01s`, `4h12m`, `3d04h`."""
    left = max(0, int(seconds))
    if left < MINUTE:
        return f"{left}s"
    if left < HOUR:
        return f"{left // MINUTE}m{left % MINUTE:02}s"
    if left < DAY:
        return f"{left // HOUR}h{left % HOUR // MINUTE:02}m"
    return f"{left // DAY}d{left % DAY // HOUR:02}h"
