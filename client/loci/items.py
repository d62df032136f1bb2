"""Items of a session: an append-only list of JSON objects, as agent frameworks keep their messages, calls and results.

An item is a turn of the conversation: what it says is the turn's content, so that contexts replay it and searches find it; the
item itself stands whole in the turn's metadata, and comes back as it was. Turns that others wrote come back as role and content.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loci.client import AsyncLociClient, LociClient
from loci.errors import NotFound
from loci.models.sessions import Turn, TurnPage, Turns
from loci.requests import Request, delete, get, post

Item = dict[str, Any]
MOST = 1000  # turns of a request
ROUTE = "/conversations/{session}/turns"
LONGEST = 4000  # characters of what a call or a result shows of itself
KEPT = "item"


class SessionItems:
    """The items of a session."""

    def __init__(self, client: LociClient, session_id: str) -> None:
        self._client, self.session_id = client, session_id

    def get(self, limit: int | None = None) -> list[Item]:
        """The last `limit` items, or all, oldest first."""
        found: list[Item] = []
        cursor: str | None = None
        while limit is None or len(found) < limit:
            page = self._client.send(_listing(self.session_id, limit, len(found), cursor))
            found, cursor = [*map(item_of, page.items), *found], page.next_cursor
            if cursor is None:
                break
        return found

    def add(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Append items, in requests of 1,000."""
        for request in _adding(self.session_id, items):
            self._client.send(request)

    def pop(self) -> Item | None:
        """Take the last item away; None if there is none."""
        try:
            return item_of(self._client.send(_popping(self.session_id)))
        except NotFound:
            return None

    def clear(self) -> None:
        """Take all items away."""
        self._client.send(_clearing(self.session_id))


class AsyncSessionItems:
    """The items of a session, to be awaited; see SessionItems."""

    def __init__(self, client: AsyncLociClient, session_id: str) -> None:
        self._client, self.session_id = client, session_id

    async def get(self, limit: int | None = None) -> list[Item]:
        """The last `limit` items, or all, oldest first."""
        found: list[Item] = []
        cursor: str | None = None
        while limit is None or len(found) < limit:
            page = await self._client.send(_listing(self.session_id, limit, len(found), cursor))
            found, cursor = [*map(item_of, page.items), *found], page.next_cursor
            if cursor is None:
                break
        return found

    async def add(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Append items, in requests of 1,000."""
        for request in _adding(self.session_id, items):
            await self._client.send(request)

    async def pop(self) -> Item | None:
        """Take the last item away; None if there is none."""
        try:
            return item_of(await self._client.send(_popping(self.session_id)))
        except NotFound:
            return None

    async def clear(self) -> None:
        """Take all items away."""
        await self._client.send(_clearing(self.session_id))


def item_of(turn: Turn) -> Item:
    """The item that a turn keeps; of a turn that keeps none, role and content."""
    kept = turn.metadata.get(KEPT)
    return kept if isinstance(kept, dict) else {"role": turn.role, "content": turn.content}


def turn_of(item: Mapping[str, Any]) -> Item:
    """The turn that keeps an item."""
    text = text_of(item).strip() or f"({item.get('type') or 'nothing said'})"
    return {"role": role_of(item), "content": text, "metadata": {KEPT: dict(item)}}


def role_of(item: Mapping[str, Any]) -> str:
    """Speaker of an item: its role. A result is the tool's; any other item without a role is the assistant's."""
    role = item.get("role")
    if isinstance(role, str) and role.strip():
        return role[:64]
    return "tool" if "output" in item else "assistant"


def text_of(item: Mapping[str, Any]) -> str:
    """Text of an item: its texts, the name and arguments of a call, or the output of a result."""
    said = [*_texts(item.get("content")), *_texts(item.get("blocks")), *_texts(item.get("contents")), *_texts(item.get("summary"))]
    if not said and isinstance(item.get("text"), str):
        said = [item["text"]]
    if not said and item.get("name"):
        said = [f"{item['name']}({_short(item.get('arguments', ''))})"]
    if not said and item.get("output") is not None:
        said = _texts(item["output"]) or [_short(item["output"])]
    return "\n".join(said)


def _texts(parts: Any) -> list[str]:
    if isinstance(parts, str):
        return [parts]
    if not isinstance(parts, Sequence):
        return []
    found = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, (str, Mapping))]
    return [text for text in found if isinstance(text, str) and text.strip()]


def _short(value: Any) -> str:
    return str(value)[:LONGEST]


def _listing(session: str, limit: int | None, found: int, cursor: str | None) -> Request[TurnPage]:
    wanted = MOST if limit is None else min(MOST, limit - found)
    return get(TurnPage, ROUTE, {"session": session}, limit=wanted, cursor=cursor)


def _adding(session: str, items: Iterable[Mapping[str, Any]]) -> list[Request[Turns]]:
    turns = [turn_of(item) for item in items]
    parts = [turns[start : start + MOST] for start in range(0, len(turns), MOST)]
    return [post(Turns, ROUTE, {"session": session}, turns=part) for part in parts]


def _popping(session: str) -> Request[Turn]:
    return delete(Turn, f"{ROUTE}/last", {"session": session})


def _clearing(session: str) -> Request[Any]:
    return delete(dict[str, Any], ROUTE, {"session": session})
