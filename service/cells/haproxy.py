"""What HAProxy needs to find the cell of a request: a map of namespaces, one of keys, and a back end for each cell."""

import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

from db.cells.database import CellError, Session, rows

Maps = dict[str, list[tuple[str, str]]]
BACKEND = """
backend cell_{number}
    option httpchk GET /readyz
    http-check expect status 200
    server cell_{number} {address} check inter 1s fall 2 rise 1 init-addr last,libc,none{tls}
"""
# In capitals, as HAProxy writes a hash. A key that names no namespace works in its default one.
KEYS = """
select upper(encode(k.hash, 'hex')) as key, c.cell_id as cell
from loci_data.api_keys k join loci_data.namespace_cells c on c.namespace_id = k.default_namespace_id
where k.revoked_at is null order by k.id"""


def read_maps(session: Session) -> Maps:
    """Namespaces and hashes of keys with the back end of their cell, and the back ends with their addresses."""
    cells = rows(session, "select id, url from loci_data.cells where url is not null order by id")
    spaces = rows(session, "select name, cell_id from loci_data.namespace_cells order by name, moves")
    keys = session.execute(KEYS.encode()).fetchall()
    return {
        "namespaces.map": [(row["name"], f"cell_{row['cell_id']}") for row in spaces],
        "keys.map": [(row["key"], f"cell_{row['cell']}") for row in keys],
        "cells.cfg": [(str(row["id"]), row["url"]) for row in cells],
    }


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
    return BACKEND.format(
        number=number, address=address, tls=f" ssl verify required ca-file @system-ca sni str({parts.hostname})" if tls else ""
    )


def tell_haproxy(place: Path, folder: Path, maps: Maps) -> None:
    """Give a running HAProxy the maps over its socket, each in one step. A new cell needs a reload. Raises CellError."""
    for name, pairs in maps.items():
        if name.endswith(".map"):
            path = folder / name
            said = _ask(place, f"prepare map {path}")
            version = re.search(r"New version created: (\d+)", said)
            if version is None:
                raise CellError(f"HAProxy does not take {path}: {said.strip()}", "Start it with the maps in this folder.")
            for start in range(0, len(pairs), 100):
                lines = "".join(f"{key} {value}\n" for key, value in pairs[start : start + 100])
                _ask(place, f"add map @{version[1]} {path} <<\n{lines}")
            _ask(place, f"commit map @{version[1]} {path}")


def _ask(place: Path, command: str) -> str:
    """What HAProxy says to a command."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(place))
        client.sendall(command.encode() + b"\n")
        said = b""
        while part := client.recv(65536):
            said += part
    return said.decode(errors="replace")
