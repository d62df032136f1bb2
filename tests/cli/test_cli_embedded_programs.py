"""Root starts the embedded server as somebody else, who reaches its programs however they were installed."""

import os
import pwd
import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from db.embedded import DoesNotStart, EmbeddedServer, system_user
from db.embedded.cluster import let_through
from tests.databases import VERSION, data_folder

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts a server as somebody else")
NEEDED = (
    "pgserver/pginstall18/bin/postgres",
    "pgserver/pginstall18/lib/vector.so",
    "pgserver/pginstall18/share/timezone/Europe/Berlin",
    "pgserver.libs/libpq.so.5",
)
Closing = Callable[[Path], bool]


@pytest.fixture
def packages() -> Iterator[Path]:
    """A folder of packages with programs of PostgreSQL, which everybody may read."""
    with data_folder() as made:
        for name in NEEDED:
            path = made / "environment" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
            path.chmod(0o755 if path.name == "postgres" else 0o644)
        yield made / "environment"


def close(packages: Path, which: Closing) -> None:
    """As under a umask of 077."""
    for path in (packages, *packages.rglob("*")):
        if which(path):
            path.chmod(path.stat().st_mode & ~0o077)


def read_by_nobody(packages: Path) -> str:
    """What somebody who has no rights of his own reads of what a server needs."""
    nobody = pwd.getpwnam("nobody")
    command = ["cat", *(str(packages / name) for name in NEEDED)]
    done = subprocess.run(
        command, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "which",
    [
        lambda _: True,
        Path.is_dir,
        Path.is_file,
        lambda path: path.name in {"share", "pgserver.libs"},
        lambda path: path.suffix == ".so",
    ],
    ids=["everything", "folders", "files", "some folders", "a library"],
)
def test_programs_installed_for_root_alone_are_opened_to_the_user_of_the_server(packages: Path, which: Closing) -> None:
    close(packages, which)
    data = packages.parent / "data"
    data.mkdir(mode=0o700)
    let_through(data, packages / "pgserver" / "pginstall18" / "bin")
    assert read_by_nobody(packages) == "".join(NEEDED)
    assert (packages / NEEDED[0]).stat().st_mode & 0o005 == 0o005
    assert data.stat().st_mode & 0o777 == 0o701  # it is passed, and not listed


@pytest.mark.parametrize("linked", ["the package", "its files"])
def test_programs_that_are_links_into_a_store_are_reached(packages: Path, linked: str) -> None:
    here = packages.parent / "here"
    here.mkdir()
    if linked == "the package":
        (here / "pgserver").symlink_to(packages / "pgserver")
    else:
        for name in NEEDED:
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).symlink_to(packages / name)
    close(packages, lambda _: True)
    let_through(packages.parent, here / "pgserver" / "pginstall18" / "bin")
    assert read_by_nobody(packages) == "".join(NEEDED)


def test_the_user_is_made_where_the_path_lacks_the_programs_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As after `su` without `-`."""
    name = f"loci{secrets.token_hex(4)}"
    with monkeypatch.context() as patched:
        patched.setattr(system_user, "NAME", name)
        patched.setenv("PATH", str(tmp_path))
        number = system_user.system_user().pw_uid
    try:
        assert pwd.getpwnam(name).pw_uid == number
    finally:
        subprocess.run(["userdel", name], check=True, capture_output=True)


def test_a_missing_program_that_makes_users_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(system_user, "NAME", f"loci{secrets.token_hex(4)}")
    monkeypatch.setattr(system_user, "PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DoesNotStart, match="no useradd is here to make the user loci"):
        EmbeddedServer(tmp_path, VERSION)
