"""Logins of the embedded server: pg_hba.conf and pg_ident.conf, written by Loci at each start.

`postgres` and `loci_app` are for processes of the user who owns the data, and of root: the kernel says who is at the other end of
the socket (peer), so there is no password to keep. A process of one of these users could read the files anyway. All other logins,
analysts among them, need the password of their role (SCRAM), whoever asks. Where the server listens on TCP, it does for
those others alone.
"""

import os
import pwd
from contextlib import suppress
from pathlib import Path

OWN_ROLES = ("postgres", "loci_app")
MAP = "loci"
NOTE = "# Written by Loci at each start; changes are lost.\n"


def write_logins(cluster: Path, owner: int, *, tcp: bool = False) -> bool:
    """Write both files of a cluster whose files belong to the user `owner`; whether they said something else before.

    `tcp`: whether there are lines for the loopback address.
    """
    users = "".join(f"{MAP} {_quote_name(name)} {role}\n" for name in _list_trusted_logins(owner) for role in OWN_ROLES)
    rules = f"local all {','.join(OWN_ROLES)} peer map={MAP}\nlocal all all scram-sha-256\n"
    if tcp:
        rules += f"host all {','.join(OWN_ROLES)} all reject\nhost all all 127.0.0.1/32 scram-sha-256\n"
    changed = [
        _replace_file(cluster / name, NOTE + text, owner) for name, text in (("pg_ident.conf", users), ("pg_hba.conf", rules))
    ]
    return any(changed)


def _list_trusted_logins(owner: int) -> list[str]:
    """Names of who reads the files anyway: their owner, and root."""
    names = []
    for number in sorted({0, owner}):
        with suppress(KeyError):  # a machine without the name; the owner's is needed by the server too, which will say so
            names.append(pwd.getpwuid(number).pw_name)
    return names


def _quote_name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _replace_file(path: Path, text: str, owner: int) -> bool:
    """Replace a file as a whole, if it says something else."""
    if path.exists() and path.read_text() == text:
        return False
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600, exist_ok=False)
    new.write_text(text)
    os.chown(new, owner, -1)
    new.replace(path)
    return True
