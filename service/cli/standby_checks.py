"""Report of `loci doctor` about the standbys of LOCI_READ_URL: whether each answers, is a standby, and how far it is behind."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg.rows import dict_row

from db.health import Check
from db.pool import Connection, position_of, without_head
from db.standbys import PLACE, name_of
from service.cli.framework import first_line

ANSWER = 3  # seconds in which a standby must answer
LONGEST_WAIT_SECONDS = 10.0  # seconds that one is waited for at most
LOOK_EVERY = 0.05


@dataclass(frozen=True)
class Place:
    """Where a server is in the log, and in which timeline; 0: that is not known."""

    standby: bool
    position: int
    timeline: int


async def check_standbys(urls: Sequence[str], staleness: float, primary: Connection | None) -> list[Check]:
    """A check of each standby; `primary`: where to ask how far the log is, if that answers."""
    if not urls:
        return [Check("standbys", True, "none is named: the primary answers all reads")]
    asked = time.monotonic()
    head = None if primary is None else await _read_log_position(primary)
    return list(await asyncio.gather(*(_check_standby(url, nth, staleness, head, asked) for nth, url in enumerate(urls))))


async def _check_standby(url: str, nth: int, staleness: float, head: Place | None, asked: float) -> Check:
    try:
        name = f"standby {name_of(url, nth)}"
    except psycopg.ProgrammingError:  # whose words may hold a password
        return Check(f"standby {nth + 1}", False, "what LOCI_READ_URL has there is no address of a database")
    opening = psycopg.AsyncConnection.connect(url, autocommit=True, row_factory=dict_row, connect_timeout=ANSWER)
    try:
        async with await opening as standby:
            fine, said = await _compare_positions(standby, staleness, head, asked)
    except (psycopg.OperationalError, TimeoutError) as error:
        return Check(name, False, f"does not answer: {first_line(error)}")
    except psycopg.Error as error:
        return Check(name, False, f"cannot be asked: {first_line(error)}")
    return Check(name, fine, said if fine else f"{said}; reads leave it out")


async def _compare_positions(standby: Connection, staleness: float, head: Place | None, asked: float) -> tuple[bool, str]:
    """Whether reads may go to a standby: it must reach in time the position that the primary had when that was `asked`."""
    while True:
        async with asyncio.timeout(ANSWER):
            place = await _read_log_position(standby)
        waited = time.monotonic() - asked
        if not place.standby:
            return False, "is no standby: it takes writes itself"
        if head is None:
            return True, "is a standby; how far it is behind is not known while the primary does not answer"
        if place.timeline < head.timeline:
            known = f"in timeline {place.timeline}" if place.timeline else "in no timeline that is known"
            return False, f"does not follow the primary's log: it is {known}, and the primary in {head.timeline}"
        if place.position >= without_head(head.position):
            return waited <= staleness, f"is a standby, at most {waited:.1f} s behind"
        if waited >= min(staleness, LONGEST_WAIT_SECONDS):
            lacks = f"it lacks {head.position - place.position:,} bytes of log{await _read_last_commit(standby)}"
            return waited < staleness, f"is a standby, more than {waited:.1f} s behind: {lacks}"
        await asyncio.sleep(LOOK_EVERY)


async def _read_log_position(connection: Connection) -> Place:
    row = await (await connection.execute(PLACE, prepare=False)).fetchone()
    assert row is not None  # noqa: S101 (one row always)
    return Place(row["standby"], position_of(row["position"] or "0/0"), row["timeline"] or 0)


async def _read_last_commit(standby: Connection) -> str:
    """When what a standby has replayed last was committed; nothing where that is not known."""
    statement = "select pg_last_xact_replay_timestamp() at time zone 'UTC' as at"
    async with asyncio.timeout(ANSWER):
        row = await (await standby.execute(statement, prepare=False)).fetchone()
    return f", and has what was committed until {row['at']:%Y-%m-%d %H:%M:%S} UTC" if row and row["at"] else ""
