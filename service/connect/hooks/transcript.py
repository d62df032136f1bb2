"""Words in a transcript of Claude Code: a file of JSON lines that grows, as the program writes it.

Taken are the words of the user, and of the assistant what it said last before the user spoke again. The assistant's words between
calls of tools are narration, and tools, subagents, summaries and the program's own notes are nobody's words.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from service.connect.hooks.redaction import redact_secrets

LONGEST_MESSAGE_CHARACTERS = 20_000  # characters of a message; what is longer was pasted
_PROGRAMS = re.compile(
    r"<(command-[a-z]+|local-command-[a-z]+|bash-[a-z]+|system-reminder|task-notification)>.*?</\1>"
    r"|\[Request interrupted by user[^\]]*\]",
    re.DOTALL,
)
NOTES = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")


@dataclass(frozen=True)
class Said:
    """A message: by whom, what, when; the id of its line, and where that ends in the file."""

    role: str
    content: str
    said_at: str | None
    uuid: str
    end: int

    def as_message(self) -> dict[str, Any]:
        """The message as `/remember` takes it."""
        return {"role": self.role, "content": self.content, **({"said_at": self.said_at} if self.said_at else {})}


def read_said(path: Path, start: int, end: int | None = None) -> tuple[list[Said], int]:
    """Words from a byte of the file on, and the byte behind the last whole line (at most `end`)."""
    found: list[Said] = []
    place = start
    with path.open("rb") as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n") or (end is not None and place >= end):
                break
            place += len(line)
            found.extend(_read_line(line, place))
    return list(_without_narration(found)), place


def _read_line(line: bytes, end: int) -> Iterator[Said]:
    try:
        entry = json.loads(line)
    except ValueError:
        return
    if not isinstance(entry, dict) or entry.get("type") not in {"user", "assistant"} or any(entry.get(note) for note in NOTES):
        return
    message = entry.get("message")
    text = _join_text_parts(message.get("content")) if isinstance(message, dict) else ""
    content = redact_secrets(_PROGRAMS.sub("", text)[:LONGEST_MESSAGE_CHARACTERS]).strip()
    if content:
        said_at = entry.get("timestamp")
        yield Said(entry["type"], content, said_at if isinstance(said_at, str) else None, str(entry.get("uuid") or end), end)


def _join_text_parts(content: object) -> str:
    """Words of a message: a text, or its parts of that type."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _without_narration(said: list[Said]) -> Iterator[Said]:
    """The last of several messages of the assistant in a row counts."""
    for one, following in zip_longest(said, said[1:]):
        if one is not None and (one.role == "user" or following is None or following.role == "user"):
            yield one
