"""Namespaces: made, listed, changed and deleted, with their settings."""

from datetime import UTC, datetime

from db import namespaces
from db.namespaces import NamespaceRow
from db.pool import JsonObject, Transaction
from loci.models.namespaces import NamespaceInput
from service.jobs.schedules import check_settings
from service.paging import Page, make_page


async def create_namespace(tx: Transaction, wanted: NamespaceInput) -> NamespaceRow:
    """Create a namespace; returns it. Only the operator may. Raises Invalid for a schedule that nobody could keep."""
    check_settings(wanted.settings, datetime.now(UTC))
    await namespaces.create_namespace(
        tx, name=wanted.name, description=wanted.description, language=wanted.language, settings=wanted.settings
    )
    return await get_namespace(tx, name=wanted.name)


async def list_namespaces(tx: Transaction, *, limit: int, cursor: str | None = None) -> Page[NamespaceRow]:
    """Namespaces that the caller may read, by name, with counts."""
    return make_page(await namespaces.list_namespaces(tx, limit=limit + 1, cursor=cursor), limit, "name")


async def get_namespace(tx: Transaction, *, name: str) -> NamespaceRow:
    """A namespace: settings in force, and how much it holds."""
    return (await namespaces.list_namespaces(tx, name=name))[0]


async def growth(tx: Transaction, *, weeks: int) -> JsonObject:
    """How the transaction's namespace has grown, oldest week first."""
    return {"items": await namespaces.namespace_growth(tx, weeks=weeks)}


async def change_namespace(tx: Transaction, *, changes: JsonObject) -> bool:
    """Change description or settings of the transaction's namespace; whether edges have to be brought in step with it.

    Raises Invalid for a schedule that nobody could keep.
    """
    check_settings(changes.get("settings"), datetime.now(UTC))
    return await namespaces.update_namespace(tx, changes=changes)


async def delete_namespace(tx: Transaction) -> None:
    """Delete the transaction's namespace and everything in it."""
    await namespaces.delete_namespace(tx)
