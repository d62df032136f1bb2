"""The socket at which a service answers the owner of its data folder, left there for commands and `loci mcp` to find.

It is a socket and no address with a secret: nobody but the owner of the files can open it, so neither end has to prove itself, no
page of a browser reaches it, and one that nobody serves any more refuses at once, also after a kill. A service on a database of a
server leaves it in the data folder too, under the digest of the URL, where that folder is there already.
"""

import os
import socket
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

FOLDER, EMBEDDED = "services", "embedded"
LONGEST_PATH = 100  # bytes: an address of a Unix socket has room for 104 to 108
DESCRIPTORS = Path("/proc/self/fd")
BACKLOG, OK = 2048, 200
ANSWER_SECONDS = 5.0  # for a connection; nobody there is refused at once


def folder_of(data_folder: Path, database_url: str | None) -> Path:
    """The folder for the sockets of services on one database: the embedded one, or that of a URL."""
    name = EMBEDDED
    if database_url:
        from hashlib import sha256

        name = sha256(database_url.encode()).hexdigest()[:16]
    return data_folder.expanduser().resolve() / FOLDER / name


def find_service(folder: Path) -> Path | None:
    """The socket of a service that answers, the newest first; None where there is none, or it is another user's."""
    for path in _list_sockets(folder):
        with suppress(OSError):
            if path.stat().st_uid == os.geteuid():
                connect_to_socket(path).close()
                return path
    return None


def port_of(path: Path) -> str:
    """The TCP port of the service that left a socket: its name begins with it."""
    return path.name.partition("-")[0]


def connect_to_socket(path: Path, timeout: float | None = ANSWER_SECONDS) -> socket.socket:
    """A connection. Raises OSError where nobody listens."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        _with_short_path(path, connection.connect)
    except BaseException:
        connection.close()
        raise
    return connection


def answers_request(path: Path, route: str, headers: Mapping[str, str]) -> bool:
    """Whether the service there says yes to a request."""
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection("localhost")
    try:
        connection.sock = connect_to_socket(path)
        connection.request("GET", route, headers={name: value.encode() for name, value in headers.items()})
        return connection.getresponse().status == OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


class OwnerSocket:
    """A socket of a service that is about to serve. It is found once it is shown, and taken away when it is closed."""

    def __init__(self, folder: Path, port: int) -> None:
        self._path = folder / f"{port}-{os.getpid()}"
        self._hidden = folder / f".{self._path.name}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.stat()
        if about.st_uid != os.geteuid() or stat.S_IMODE(about.st_mode) & 0o077:
            raise PermissionError(None, "others may write to the folder of the socket", str(folder))
        _remove_unserved(folder)
        self._hidden.unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _with_short_path(self._hidden, self.listener.bind)
            self._hidden.chmod(0o600)
        except BaseException:
            self.close()
            raise

    def publish_socket(self) -> None:
        """Let it be found, under a name that was never there without somebody listening."""
        self.listener.listen(BACKLOG)
        self._hidden.rename(self._path)

    def close(self) -> None:
        """Take it away."""
        self.listener.close()
        for path in (self._hidden, self._path):
            path.unlink(missing_ok=True)


def leave_socket(data_folder: Path, database_url: str | None, port: int) -> OwnerSocket | None:
    """Make the socket of this service; None where there is no place for one, which is logged: then commands open the database."""
    if database_url and not data_folder.expanduser().is_dir():
        return None
    try:
        return OwnerSocket(folder_of(data_folder, database_url), port)
    except OSError as error:
        import logging

        logging.getLogger(__name__).warning("commands will not find this service, and open the database themselves: %s", error)
        return None


def _list_sockets(folder: Path) -> list[Path]:
    """The sockets of a folder, the newest first."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISSOCK(about.st_mode) and not entry.name.startswith("."):
                    found.append((about.st_mtime_ns, entry.name))
    return [folder / name for _, name in sorted(found, reverse=True)]


def _remove_unserved(folder: Path) -> None:
    """Take away what services that were killed have left."""
    for path in _list_sockets(folder):
        try:
            connect_to_socket(path).close()
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        except OSError:
            continue


def short_path(path: Path) -> str:
    """The path of a socket for other libraries, as long as this process lives: its folder stays open where the path is too long."""
    kept: list[str] = []
    _with_short_path(path, kept.append, close=False)
    return kept[0]


def _with_short_path(path: Path, act: Callable[[str], None], *, close: bool = True) -> None:
    """Act on the path of a socket. One that is too long goes by a descriptor of its folder, where the system names those."""
    if len(os.fsencode(path)) <= LONGEST_PATH or not DESCRIPTORS.is_dir():
        act(str(path))
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        act(f"{DESCRIPTORS}/{folder}/{path.name}")
    finally:
        if close:
            os.close(folder)
