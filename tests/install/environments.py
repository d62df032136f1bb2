"""Environments that hold a wheel and what it asks for, and nothing else: neither the checkout nor what the tests need beside it.

What a wheel asks for is linked from the environment of the tests, so that nothing is downloaded.
"""

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.catalogue import ROOT

OURS = {"loci-pg-client", "loci-pg-server"}
HIDDEN = ("PYTHON", "LOCI_", "MYPY", "VIRTUAL_ENV")  # variables that would lead back to the checkout, or to another database


@dataclass(frozen=True)
class Environment:
    """An environment, and the folder that its programs are run in."""

    folder: Path
    project: Path

    @property
    def packages(self) -> Path:
        """Where its distributions are."""
        return next(self.folder.glob("lib/python*/site-packages"))

    def variables(self, **more: str) -> dict[str, str]:
        """What its programs find in their environment."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
        return {**kept, **more}

    def run(self, program: str, *arguments: str, **variables: str) -> str:
        """Run a program of the environment to its end; what it prints. It must succeed."""
        command = [str(self.folder / "bin" / program), *arguments]
        done = subprocess.run(
            command, cwd=self.project, env=self.variables(**variables), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def build(folder: Path) -> dict[str, Path]:
    """The wheels of client and server, by distribution."""
    pip(
        *("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder), str(ROOT / "client"), str(ROOT)),
        HATCH_BUILD_NO_HOOKS="true",  # which would fetch packages; the page is in the wheels if it is built
    )
    return {path.name.partition("-")[0].replace("_", "-"): path for path in folder.glob("*.whl")}


def install(folder: Path, *wheels: Path) -> Environment:
    """Make an environment of wheels and what they ask for."""
    made = Environment(folder / "environment", folder / "project")
    made.project.mkdir()
    venv.create(made.folder, symlinks=True)
    pip("--python", str(made.folder / "bin" / "python"), "install", "--no-deps", "--no-index", *map(str, wheels))
    for found in {name: found for own in distributions(path=[str(made.packages)]) for name, found in needed(own)}.values():
        for entry in {file.parts[0] for file in found.files or [] if file.parts[0] not in {"..", "__pycache__"}}:
            target = made.packages / entry
            if not target.exists():
                target.symlink_to(Path(str(found.locate_file(entry))))
    return made


def needed(distribution_of: Distribution, extras: frozenset[str] = frozenset()) -> Iterator[tuple[str, Distribution]]:
    """What a distribution asks for, and what that asks for."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(distribution_of, extras)]
    while waiting:
        asking, wanted = waiting.pop()
        for requirement in map(Requirement, asking.requires or []):
            name, asked = canonicalize_name(requirement.name), frozenset(requirement.extras)
            here = any(requirement.marker is None or requirement.marker.evaluate({"extra": extra}) for extra in wanted | {""})
            if here and name not in OURS and (name, asked) not in seen:
                seen.add((name, asked))
                found = distribution(name)
                waiting.append((found, asked))
                yield name, found


def pip(*arguments: str, **variables: str) -> None:
    """Run pip, which says nothing where all goes well."""
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
