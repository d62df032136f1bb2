"""The user of the system whom root starts a server as, since PostgreSQL refuses to be root."""

import os
import pwd
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from db.embedded.locks import hold_lock

NAME = "pgserver"
LOCK = Path("/etc/.pwd.lock")  # that of the programs that change users, which only root may open; they hold it in another way
PLACES = ("/usr/sbin", "/sbin")  # of those programs; root's PATH lacks them after `su` without `-`


def system_user() -> pwd.struct_passwd:
    """That user, made where there is none.

    Several processes may be the first on a machine at the same time. `useradd` looks whether there is one before it waits for its
    turn, so the second would replace what the first made by one with another number, and the first would have nobody's files.
    Raises FileNotFoundError where nothing is there to make one with.
    """
    with suppress(KeyError):
        return pwd.getpwnam(NAME)
    with hold_lock(LOCK):
        with suppress(KeyError):
            return pwd.getpwnam(NAME)
        program = shutil.which("useradd", path=os.pathsep.join((os.environ.get("PATH", os.defpath), *PLACES)))
        if program is None:
            raise FileNotFoundError(f"PostgreSQL refuses to run as root, and no useradd is here to make the user {NAME}: make it")
        subprocess.run([program, "--shell", "/usr/sbin/nologin", NAME], check=True, capture_output=True)  # noqa: S603
        return pwd.getpwnam(NAME)
