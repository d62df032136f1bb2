"""Sessions: working memory, conversations, contexts, and feedback at their end."""

from collections.abc import Iterable
from typing import Any, Literal

from loci.descriptors import C, Group, Methods, listing, operation
from loci.models.dreams import SignalInput
from loci.models.recall import Rating
from loci.models.sessions import (
    ContextOut,
    Conversation,
    EntriesFound,
    Entry,
    EntryOut,
    FeedbackEvent,
    FeedbackNoted,
    SectionName,
    SessionEnd,
    Turn,
    TurnInput,
    TurnPage,
    Turns,
    TurnsDeleted,
)
from loci.requests import API, Id, Json, Moment, Page, Request, change, delete, get, nothing, page, post


class Contexts(Methods[C]):
    """Contexts: the text to inject before an inference."""

    @operation
    def context(
        self,
        message: str | None = None,
        *,
        session_id: str | None = None,
        user: str | None = None,
        space: str | None = None,
        k: int | Literal["auto"] | None = None,
        min_relevance: float | None = None,
        max_chars: int | None = None,
        sections: Iterable[SectionName] | None = None,
        repeat: bool | None = None,
        preview: bool | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
    ) -> Request[ContextOut]:
        """Build what to inject before an inference: memories new to the session, rules, graph, working memory, turns.

        A session is shown a memory once: a second context for the same message leaves it out and counts it in `held_back`, because
        the model has read it. `user` is the one on whose behalf is asked, whose profile stands first. Where your
        messages to the model do not keep earlier contexts, say `repeat=True`.
        """
        return post(
            ContextOut,
            "/context",
            message=message,
            session_id=session_id,
            user=user,
            space=space,
            k=k,
            min_relevance=min_relevance,
            max_chars=max_chars,
            sections=sections,
            repeat=repeat,
            preview=preview,
            as_of=as_of,
            known_at=known_at,
        )


class Sessions(Group[C]):
    """Operations on working memory, conversations, and ends. A key without a slash stands under the client's own space."""

    @operation
    def note_feedback(
        self,
        session_id: str | None = None,
        *,
        injected: Iterable[Id] | None = None,
        confirmed: Iterable[Id] | None = None,
        recall_id: Id | None = None,
        ratings: Iterable[Rating | Json] | None = None,
        signals: Iterable[SignalInput | Json] | None = None,
    ) -> Request[FeedbackNoted]:
        """Say what a session was shown and has used since, of what use a recall was, and what was said about the agent's work."""
        return post(
            FeedbackNoted,
            "/feedback",
            session_id=session_id,
            injected=injected,
            confirmed=confirmed,
            recall_id=recall_id,
            ratings=ratings,
            signals=signals,
        )

    @listing
    def list_feedback(
        self, *, limit: int | None = None, cursor: str | None = None, session_id: str | None = None
    ) -> Request[Page[FeedbackEvent]]:
        """List what ended sessions have changed in the weights of aspects, newest first."""
        return page(FeedbackEvent, "/feedback", limit=limit, cursor=cursor, session_id=session_id)

    @operation
    def end(self, session: str) -> Request[SessionEnd]:
        """End a session: what it was shown and found again confirms aspects. Ending it twice changes nothing more."""
        return post(SessionEnd, "/sessions/{session}/end", {"session": session})

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
        """Find entries by words, meaning, category and tags, best first; without a question the newest first."""
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

    @operation
    def pop_turn(self, session: str) -> Request[Turn]:
        """Take the last turn of a session away: it is returned. Raises NotFound where there is none."""
        return delete(Turn, "/conversations/{session}/turns/last", {"session": session})
