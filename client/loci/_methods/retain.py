"""Retain (facts of a text decided) and reflect (orphans placed)."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Literal

from loci.descriptors import C, Methods, operation
from loci.models.retain import ReflectOut, RememberOut, RetainOut
from loci.requests import Json, Moment, Request, post


class Retain(Methods[C]):
    """Methods that take in texts and place orphans."""

    @operation
    def remember(
        self,
        messages: Any,
        *,
        session: str | None = None,
        source: str | None = None,
        user: str | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        valid_from: Moment | None = None,
        dry_run: bool | None = None,
        decide: Literal["auto", "rules", "model"] | None = None,
    ) -> Request[RememberOut]:
        """Take in messages: they are kept as turns of a session, and what users and assistants tell in them is retained.

        `messages`: a text of the user, a message, or a list of them, as OpenAI, Anthropic or LangChain have them (a role, and a
        text or parts; objects of their libraries too). Questions and small talk are not kept as facts. What an assistant says has
        the source `assistant` and ends nothing that others told. `user`: for whom the call speaks, where nobody else is
        named. The whole conversation may be sent each time: only what is new
        counts.
        """
        return post(
            RememberOut,
            "/remember",
            messages=listed_messages(messages),
            session=session,
            source=source,
            user=user,
            category=category,
            tags=tags,
            valid_from=valid_from,
            dry_run=dry_run,
            decide=decide,
        )

    @operation
    def retain(
        self,
        content: str,
        *,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        valid_from: Moment | None = None,
        metadata: Json | None = None,
        about: str | None = None,
        source: str | None = None,
        user: str | None = None,
        session_id: str | None = None,
        dry_run: bool | None = None,
        decide: Literal["auto", "rules", "model"] | None = None,
    ) -> Request[RetainOut]:
        """Take in a text: each fact becomes a memory, a new version of one, a linked one, or reinforces what is known.

        `user`: for whom the call speaks, where no `source` is named; `about`: whom all of it is about.
        `decide`: auto (a language model if one is configured), rules or model.
        """
        return post(
            RetainOut,
            "/retain",
            content=content,
            category=category,
            tags=tags,
            valid_from=valid_from,
            metadata=metadata,
            about=about,
            source=source,
            user=user,
            session_id=session_id,
            dry_run=dry_run,
            decide=decide,
        )

    @operation
    def reflect(
        self,
        *,
        dry_run: bool | None = None,
        limit: int | None = None,
        category: str | None = None,
        cursor: str | None = None,
        decide: Literal["auto", "rules", "model"] | None = None,
    ) -> Request[ReflectOut]:
        """Give orphans a place under a concept, and link what is related; go on with `next_cursor`."""
        return post(ReflectOut, "/reflect", dry_run=dry_run, limit=limit, category=category, cursor=cursor, decide=decide)


def listed_messages(messages: Any) -> list[Any]:
    """Messages as they are sent: a text is one of the user; objects of libraries are what they dump."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    several = isinstance(messages, Iterable) and not isinstance(messages, Mapping) and not hasattr(messages, "model_dump")
    return [_dumped(message) for message in (messages if several else [messages])]


def _dumped(message: Any) -> Any:
    if hasattr(message, "model_dump"):
        return message.model_dump(mode="json", exclude_none=True)
    return asdict(message) if is_dataclass(message) and not isinstance(message, type) else message
