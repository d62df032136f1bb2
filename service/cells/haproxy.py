"""What HAProxy needs to find the cell of a request: a map of namespaces, one of keys, and a back end for each cell."""

import logging
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

from db.cells.database import CellError, Session, Unreachable, connect, rows, value

log = logging.getLogger(__name__)
LOOK_EVERY = 0.2  # seconds between two looks at the directory
AGAIN = 1.0  # seconds until a database that is away is asked again

Maps = dict[str, list[tuple[str, str]]]
BACKEND = """
backend cell_{number}
    option httpchk
    http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host {host}
    http-check expect status 200
    server cell_{number} {address} check inter 1s fall 2 rise 1 init-addr last,libc,none{tls}
"""
# In capitals, as HAProxy writes a hash. A key that names no namespace works in its default one.
KEYS: LiteralString = """
select upper(encode(k.hash, 'hex')) as key, c.cell_id as cell
from loci_data.api_keys k join loci_data.namespace_cells c on c.namespace_id = k.default_namespace_id
where k.revoked_at is null order by k.id"""

# What changes whenever a map does: cheap to ask for again and again.
STATE: LiteralString = """
select concat((select string_agg(concat_ws(' ', c.id, c.url), ' ' order by c.id) from loci_data.cells c), ' ',
              (select concat(count(*), ' ', sum(n.moves), ' ', sum(n.namespace_id::bigint)) from loci_data.namespace_cells n), ' ',
              (select concat(count(*), ' ', count(k.revoked_at), ' ', max(k.created_at)) from loci_data.api_keys k))"""


def read_maps(session: Session) -> Maps:
    """Namespaces and hashes of keys with the back end of their cell, and the back ends with their addresses."""
    cells = rows(session, "select id, url from loci_data.cells where url is not null order by id")
    spaces = rows(session, "select name, cell_id from loci_data.namespace_cells order by name, moves")
    keys = rows(session, KEYS)
    return {
        "namespaces.map": [(row["name"], f"cell_{row['cell_id']}") for row in spaces],
        "keys.map": [(row["key"], f"cell_{row['cell']}") for row in keys],
        "cells.cfg": [(str(row["id"]), row["url"]) for row in cells],
    }


def follow_maps(url: str, maps: Maps) -> Iterator[Maps]:
    """The maps whenever they have changed, for ever. A database that is away is asked again: the maps stay as they were."""
    state = ""
    while True:
        try:
            with connect(url, "this cell") as session:
                while True:
                    if (now := str(value(session, STATE))) != state:
                        found, state = read_maps(session), now
                        if found != maps:
                            maps = found
                            yield maps
                    time.sleep(LOOK_EVERY)
        except Unreachable as error:
            log.warning("the maps stay as they are: %s", error)
            time.sleep(AGAIN)


def hand_out(maps: Maps, folder: Path, sockets: list[Path]) -> None:
    """Write the maps and give them to HAProxies that run; one that does not answer reads them when it starts."""
    write_maps(folder, maps)
    for each in sockets:
        try:
            tell_haproxy(each, folder, maps)
        except OSError as error:
            log.warning("HAProxy does not answer at %s: %s", each, error)


def write_maps(folder: Path, maps: Maps) -> None:
    """Write each file whole, or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in maps.items():
        text = "".join(map(_backend, pairs)) if name == "cells.cfg" else "".join(f"{key} {place}\n" for key, place in pairs)
        draft = folder / f".{name}.new"
        draft.write_text(text, encoding="utf-8")
        draft.replace(folder / name)


def _backend(cell: tuple[str, str]) -> str:
    """The back end of a cell."""
    number, url = cell
    parts = urlsplit(url)
    tls = parts.scheme == "https"
    address = f"{parts.hostname}:{parts.port or (443 if tls else 80)}"
    secured = f" ssl verify required ca-file @system-ca sni str({parts.hostname})" if tls else ""
    return BACKEND.format(number=number, host=parts.hostname, address=address, tls=secured)


def tell_haproxy(place: Path, folder: Path, maps: Maps) -> None:
    """Give a running HAProxy the maps over its socket, each in one step. A new cell needs a reload. Raises CellError."""
    for name, pairs in maps.items():
        if name.endswith(".map"):
            path = folder / name
            said = ask_haproxy(place, f"prepare map {path}")
            version = re.search(r"New version created: (\d+)", said)
            if version is None:
                raise CellError(f"HAProxy does not take {path}: {said.strip()}", "Start it with the maps in this folder.")
            for start in range(0, len(pairs), 100):
                lines = "".join(f"{key} {value}\n" for key, value in pairs[start : start + 100])
                ask_haproxy(place, f"add map @{version[1]} {path} <<\n{lines}")
            ask_haproxy(place, f"commit map @{version[1]} {path}")


def ask_haproxy(place: Path, command: str) -> str:
    """What HAProxy says to a command."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(place))
        client.sendall(command.encode() + b"\n")
        said = b""
        while part := client.recv(65536):
            said += part
    return said.decode(errors="replace")
