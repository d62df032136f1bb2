"""Working memory and conversations: what agents share for minutes, and what was said."""

from collections.abc import Iterable
from typing import Any

from loci.operations import listing, operation
from loci.requests import API, Json, Moment, Page, Request, change, delete, get, nothing, page, post
from service.schemas_tiers import Conversation, EntriesFound, Entry, EntryOut, TurnInput, TurnPage, Turns, TurnsDeleted


class Tiers:
    """Operations on working memory and conversations. A key without a slash stands under the client's own space."""

    @operation
    def save_entry(
        self,
        key: str,
        value: Any,
        *,
        ttl_seconds: float | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
    ) -> Request[Entry]:
        """Write an entry of working memory, or replace it; its time to live begins anew."""
        stated = {
            name: given
            for name, given in {"ttl_seconds": ttl_seconds, "category": category, "tags": tags}.items()
            if given is not None
        }
        return change("PUT", Entry, "/working-memory/{key}", {"key": key}, value=value, **stated)

    @operation
    def get_entry(self, key: str) -> Request[EntryOut]:
        """Get an entry, from any space. What has expired is not there."""
        return get(EntryOut, "/working-memory/{key}", {"key": key})

    @operation
    def delete_entry(self, key: str) -> Request[None]:
        """Delete an entry of your own."""
        return Request(method="DELETE", route=API + "/working-memory/{key}", parts={"key": key}, read=nothing, gone=True)

    @listing
    def list_entries(
        self, *, prefix: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Request[Page[Entry]]:
        """List entries in order of their keys, without values."""
        return page(Entry, "/working-memory", prefix=prefix, limit=limit, cursor=cursor)

    @operation
    def search_entries(
        self,
        query: str | None = None,
        *,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        prefix: str | None = None,
        limit: int | None = None,
    ) -> Request[EntriesFound]:
        """Find entries by words, category and tags, best first; without words the newest first."""
        shape, route = EntriesFound, "/working-memory/search"
        return post(shape, route, query=query, category=category, tags=tags, prefix=prefix, limit=limit)

    @listing
    def list_conversations(self, *, limit: int | None = None, cursor: str | None = None) -> Request[Page[Conversation]]:
        """List sessions that have turns, in order of their names."""
        return page(Conversation, "/conversations", limit=limit, cursor=cursor)

    @operation
    def add_turn(
        self, session: str, role: str, content: str, *, metadata: Json | None = None, said_at: Moment | None = None
    ) -> Request[Turns]:
        """Append a turn to a conversation."""
        shape, route, parts = Turns, "/conversations/{session}/turns", {"session": session}
        return post(shape, route, parts, role=role, content=content, metadata=metadata, said_at=said_at)

    @operation
    def add_turns(self, session: str, turns: Iterable[TurnInput | Json]) -> Request[Turns]:
        """Append up to 1,000 turns to a conversation, all or none."""
        return post(Turns, "/conversations/{session}/turns", {"session": session}, turns=turns)

    @operation
    def list_turns(self, session: str, *, limit: int | None = None, cursor: str | None = None) -> Request[TurnPage]:
        """The last turns of a conversation, oldest first; `next_cursor` leads to those before them."""
        return get(TurnPage, "/conversations/{session}/turns", {"session": session}, limit=limit, cursor=cursor)

    @operation
    def delete_turns(self, session: str) -> Request[TurnsDeleted]:
        """Delete the turns of a session, those that wait for later passes included."""
        return delete(TurnsDeleted, "/conversations/{session}/turns", {"session": session})
