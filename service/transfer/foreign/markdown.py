"""Common parts of Markdown notes: front matter, links, tags, and which text is code."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import yaml

from service.transfer.foreign.records import Json
from service.transfer.foreign.values import WrongValue

LONGEST, DEEPEST = 64 * 1024, 64  # characters and levels of front matter
FENCES = ("```", "~~~")
COMMENTS = (("%%", "%%"), ("<!--", "-->"))
FRONT, FRONT_END = re.compile(r"---[ \t]*+\r?\n"), re.compile(r"^(?:---|\.\.\.)[ \t]*+(?:\r?\n|\Z)", re.MULTILINE)
QUOTED_CODE = re.compile(r"`[^`\n]++`")
WIKI = re.compile(r"(!?)\[\[([^\[\]\n]++)\]\]")
INLINE = re.compile(r"(?<!!)\[[^\[\]\n]*+\]\(<?([^()\s<>]++)>?(?:\s++\"[^\"]*+\")?\)")
TAG = re.compile(r"(?<![\w#/&])#([\w/-]++)")
LETTER = re.compile(r"[^\W\d]")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML without anchors, as a few lines of them could expand without end, and with few levels, as each costs."""

    def fetch_flow_collection_start(self, kind: type[yaml.tokens.Token]) -> None:
        if self.flow_level >= DEEPEST:
            raise yaml.YAMLError(f"nested more than {DEEPEST} levels deep")
        super().fetch_flow_collection_start(kind)

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("anchors and aliases (& and *) are not read")
        return super().compose_node(parent, index)


def split_front_matter(text: str) -> tuple[str | None, str]:
    """Front matter as it stands, None where there is none, and the body. Raises WrongValue where it does not end."""
    text = text.removeprefix("\ufeff")
    if not FRONT.match(text):
        return None, text
    end = FRONT_END.search(text, text.index("\n") + 1)
    if end is None:
        raise WrongValue("the front matter does not end")
    return text[text.index("\n") + 1 : end.start()], text[end.end() :]


def front_matter(text: str) -> tuple[Json, str]:
    """The properties of a note and its body. Raises WrongValue where they cannot be read."""
    matter, body = split_front_matter(text)
    if matter is None:
        return {}, body
    if len(matter) > LONGEST:
        raise WrongValue(f"the front matter is longer than {LONGEST:,} characters")
    try:
        fields = yaml.load(matter, _Loader)  # noqa: S506 (a safe one)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise WrongValue(f"the front matter is no YAML: {' '.join(str(error).split())[:200]}") from None
    if fields is None:
        return {}, body
    if not isinstance(fields, dict):
        raise WrongValue("the front matter must be properties with values")
    return {str(name): value for name, value in fields.items()}, body


def split_without_errors(text: str) -> tuple[Json, str, str | None]:
    """The same; where the properties cannot be read, the whole is plain text, and why."""
    try:
        return *front_matter(text), None
    except WrongValue as error:
        return {}, text.removeprefix("\ufeff"), str(error)


def strip_code(text: str) -> str:
    """A text without its code and its comments."""
    return strip_between_marks(QUOTED_CODE.sub("", without_fences(text)), *COMMENTS)


def without_fences(text: str) -> str:
    """A text without its blocks of code; one that does not end goes on to the end."""
    kept: list[str] = []
    fence: str | None = None
    for line in text.split("\n"):
        if fence is None:
            fence = next((each for each in FENCES if line.startswith(each)), None)
            kept.append(line if fence is None else "")
        elif line.startswith(fence):
            fence = None
    return "\n".join(kept)


def strip_between_marks(text: str, *pairs: tuple[str, str]) -> str:
    """A text without what stands between two marks, the marks included. A mark that is not closed is text.

    Each place is looked at once, however many marks are open: whether one is closed at all is found out once for all of them.
    """
    kept: list[str] = []
    place = 0
    last = {end: text.rfind(end) for _, end in pairs}
    opening = re.compile("|".join(re.escape(start) for start, _ in pairs))
    ends = dict(pairs)
    while found := opening.search(text, place):
        end = ends[found[0]]
        if last[end] < found.end():
            kept.append(text[place : found.end()])
            place = found.end()
            continue
        kept.append(text[place : found.start()])
        place = text.index(end, found.end()) + len(end)
    kept.append(text[place:])
    return "".join(kept)


def without_comments(text: str) -> str:
    """A text without what its author hid, which is kept inside of code."""
    return strip_between_marks(text, COMMENTS[0]).strip()


def tags_in(text: str) -> list[str]:
    """Tags in a text: `#a/b`, with something that is no digit."""
    return list(dict.fromkeys(tag for tag in TAG.findall(strip_code(text)) if LETTER.search(tag)))


def wiki_links(text: str) -> Iterator[tuple[str, bool]]:
    """Targets of `[[…]]` without heading and other text, and whether it is an embed."""
    for embed, inner in WIKI.findall(text):
        target = re.split(r"[#|^]", inner, maxsplit=1)[0].strip()
        if target:
            yield target, bool(embed)


def inline_links(text: str) -> Iterator[str]:
    """Targets of Markdown links to other notes: paths without their heading."""
    for target in INLINE.findall(text):
        path = unquote(target.split("#", 1)[0]).strip()
        if path and not SCHEME.match(path) and not path.startswith("//"):
            yield path
