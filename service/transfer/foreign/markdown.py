"""What all Markdown notes share: front matter, links, tags, and which text is code."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import yaml

from service.transfer.foreign.records import Json
from service.transfer.foreign.values import WrongValue

LONGEST = 64 * 1024  # of front matter
FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
QUOTED_CODE = re.compile(r"`[^`\n]+`")
COMMENT = re.compile(r"%%.*?%%|<!--.*?-->", re.DOTALL)
WIKI = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
INLINE = re.compile(r"(?<!!)\[([^\[\]\n]*)\]\(<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\)")
TAG = re.compile(r"(?<![\w#/&])#([\w/-]*[^\W\d][\w/-]*)")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML without anchors, of which a few lines could make a text without end."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("anchors are not read")
        return super().compose_node(parent, index)


def split(text: str) -> tuple[str | None, str]:
    """Front matter as it stands, None where there is none, and the body. Raises WrongValue where it does not end."""
    text = text.removeprefix("\ufeff")
    if not re.match(r"---[ \t]*\r?\n", text):
        return None, text
    end = re.compile(r"^(---|\.\.\.)[ \t]*(\r?\n|\Z)", re.MULTILINE).search(text, text.index("\n") + 1)
    if end is None:
        raise WrongValue("the front matter does not end")
    return text[text.index("\n") + 1 : end.start()], text[end.end() :]


def front_matter(text: str) -> tuple[Json, str]:
    """The properties of a note and its body. Raises WrongValue where they cannot be read."""
    matter, body = split(text)
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


def lenient(text: str) -> tuple[Json, str, str | None]:
    """The same; where the properties cannot be read, the whole is plain text, and why."""
    try:
        return *front_matter(text), None
    except WrongValue as error:
        return {}, text.removeprefix("\ufeff"), str(error)


def prose(text: str) -> str:
    """A text without its code and its comments."""
    return COMMENT.sub("", QUOTED_CODE.sub("", FENCED.sub("", text)))


def without_comments(text: str) -> str:
    """A text without what its author hid, which is kept inside of code."""
    return re.sub(r"%%.*?%%", "", text, flags=re.DOTALL).strip()


def tags_in(text: str) -> list[str]:
    """Tags in a text: `#a/b`, with something that is no digit."""
    return list(dict.fromkeys(TAG.findall(prose(text))))


def wiki_links(text: str) -> Iterator[tuple[str, bool]]:
    """Targets of `[[…]]` without heading and other text, and whether it is an embed."""
    for embed, inner in WIKI.findall(text):
        target = re.split(r"[#|^]", inner, maxsplit=1)[0].strip()
        if target:
            yield target, bool(embed)


def inline_links(text: str) -> Iterator[str]:
    """Targets of Markdown links to other notes: paths without their heading."""
    for _, target in INLINE.findall(text):
        path = unquote(target.split("#", 1)[0]).strip()
        if path and not SCHEME.match(path) and not path.startswith("//"):
            yield path
