"""Analysts: logins of the server for people who query in SQL, and what each may read.

Logins are made as the role that `url` connects as, which must be allowed to make roles.
"""

from datetime import datetime

from db.access import analysts
from db.access.analysts import AnalystPlace, AnalystRow
from db.pool import Origin, Transaction


def create_analyst(
    url: str, *, login: str, password: str, namespaces: list[str], expires_at: datetime | None, timeout: str, origin: Origin
) -> bool:
    """Make a login that reads `namespaces`, whole or not at all; whether the server also limits its temporary files."""
    return analysts.create_analyst(
        url, login=login, password=password, namespaces=namespaces, expires_at=expires_at, timeout=timeout, origin=origin
    )


def list_places(url: str, *, login: str, origin: Origin) -> list[AnalystPlace]:
    """Cells in which an analyst may read; none where there are no cells."""
    return analysts.list_places(url, login=login, origin=origin)


def drop_analyst(url: str, *, login: str, origin: Origin) -> None:
    """End an analyst's sessions and remove login, agent and grants."""
    analysts.drop_analyst(url, login=login, origin=origin)


def set_password(url: str, *, login: str, password: str, origin: Origin) -> None:
    """Give an analyst a new password."""
    analysts.set_password(url, login=login, password=password, origin=origin)


async def list_analysts(tx: Transaction) -> list[AnalystRow]:
    """Analysts by login, with the namespaces that they may read now."""
    return await analysts.list_analysts(tx)


async def grant_analyst(tx: Transaction, *, login: str, expires_at: datetime | None) -> None:
    """Let an analyst read the transaction's namespace."""
    await analysts.grant_analyst(tx, login=login, expires_at=expires_at)


async def revoke_analyst(tx: Transaction, *, login: str) -> None:
    """Take an analyst's grant in the transaction's namespace away."""
    await analysts.revoke_analyst(tx, login=login)


def uri_of(url: str, login: str, address: str | None = None) -> str:
    """The URI of a login: the server and the database of the service's, or those of `address`; the password is asked for."""
    from sqlalchemy.engine import URL, make_url

    parts = make_url(address or url)
    other = URL.create("postgresql", login, None, parts.host, parts.port, parts.database or make_url(url).database, parts.query)
    return other.render_as_string(hide_password=False).replace(" ", "%20")  # the one character that it leaves as it is
