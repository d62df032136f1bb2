"""Working memory: scratch entries with a time to live. `space` is the space that the caller declared, if any."""

from db.errors import FieldError, NotFound
from db.pool import Transaction
from db.sessions import working_memory
from db.sessions.working_memory import EntryRow, EntryWithValue
from loci.models.sessions import EntryInput
from service.paging import Page, make_page


async def list_entries(tx: Transaction, *, prefix: str | None, limit: int, cursor: str | None, space: str | None) -> Page[EntryRow]:
    """Entries under a prefix of whole segments, without values, in order of the key."""
    rows = await working_memory.list_working_memory(tx, prefix=prefix, limit=limit + 1, cursor=cursor, space=space)
    return make_page(rows, limit, "key")


async def save_entry(tx: Transaction, stated: EntryInput, *, key: str, space: str | None) -> EntryRow:
    """Write an entry, or replace it; the entry without its value."""
    return await working_memory.save_working_memory(tx, key=key, **stated.model_dump(), space=space)


async def get_entry(tx: Transaction, *, key: str, space: str | None) -> EntryWithValue:
    """An entry that has not expired."""
    return await working_memory.get_working_memory(tx, key=key, space=space)


async def delete_entry(tx: Transaction, *, key: str, space: str | None) -> None:
    """Delete an entry. Raises NotFound where there is none that lives."""
    gone = await working_memory.delete_working_memory(tx, key=key, space=space)
    if not gone["deleted"]:
        message = f"working memory holds no '{gone['key']}', or it has expired"
        raise NotFound(message, [FieldError("key", message)])
