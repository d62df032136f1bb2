"""Retain (facts of a text decided) and reflect (orphans placed)."""

from collections.abc import Iterable

from loci.descriptors import operation
from loci.models.retain import Decide, ReflectOut, RetainOut
from loci.requests import Json, Moment, Request, post


class Retain:
    """Operations that decide what becomes of texts and orphans."""

    @operation
    def retain(
        self,
        content: str,
        *,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        valid_from: Moment | None = None,
        metadata: Json | None = None,
        source: str | None = None,
        session_id: str | None = None,
        dry_run: bool | None = None,
        decide: Decide | None = None,
    ) -> Request[RetainOut]:
        """Take in a text: each fact becomes a memory, a new version of one, a linked one, or reinforces what is known.

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
            source=source,
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
        decide: Decide | None = None,
    ) -> Request[ReflectOut]:
        """Give orphans a place under a concept, and link what is related; go on with `next_cursor`."""
        return post(ReflectOut, "/reflect", dry_run=dry_run, limit=limit, category=category, cursor=cursor, decide=decide)
