"""What a release is made of: one version, licences that may be passed on, distributions that agree, a workflow that can run."""

import json
import re
import shutil
import subprocess
import tarfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
import yaml
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from loci.version import __version__
from tests.catalogue import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LOCKED = re.compile(r"^([a-z0-9._-]+)==", re.MULTILINE)
FORBIDDEN = re.compile(
    r"AGPL|Affero|SSPL|Server Side Public|BUSL|Business Source|Commons Clause|(?<!L)GPL|(?<!Lesser )General Public"
)
LIBRARY = re.compile(r"LGPL|Lesser General Public")  # may be used as it is, and replaced
PAGE = Path("service") / "http" / "page" / "built" / "index.html"
FILES = ("LICENSE*", "licenses/LICENSE*", "COPYING*")


def test_the_version_is_the_same_wherever_it_stands() -> None:
    package = json.loads((ROOT / "web/packages/client/package.json").read_text())["version"]
    pinned = re.findall(r'"loci-pg-client==([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    manifests = "".join(path.read_text() for path in (ROOT / "deploy/kubernetes").glob("*.yaml"))
    pages = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    named = re.findall(r"loci_pg_(?:client|server)-(\d[\d.]*)-py3|loci-client-(\d[\d.]*)\.tgz", pages)
    tags = re.findall(r"newTag: (\S+)|image: loci:(\S+)", manifests)
    found = {package, *pinned, *(version for either in (*named, *tags) for version in either if version)}
    assert found == {__version__}
    assert re.search(
        rf"^## {re.escape(__version__)} \((unreleased|\d{{4}}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )


def licence(of: Distribution) -> str:
    """What a distribution says of its licence."""
    said = [of.metadata.get("License-Expression") or "", (of.metadata.get("License") or "")[:300]]
    said += [line for line in of.metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    if "".join(said).strip():
        return " ".join(said)
    files = [file for file in of.files or [] if any(file.match(f"*.dist-info/{pattern}") for pattern in FILES)]
    return " ".join(Path(str(file.locate())).read_text(encoding="utf-8", errors="replace")[:300] for file in files)


@pytest.mark.row("X13")
@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-image.lock"])
def test_every_shipped_package_may_be_passed_on(lock: str) -> None:
    unsaid, refused = set(), set()
    for name in LOCKED.findall((ROOT / lock).read_text()):
        try:
            said = licence(distribution(name))
        except PackageNotFoundError:  # of another system
            continue
        if not said.strip():
            unsaid.add(name)
        elif FORBIDDEN.search(LIBRARY.sub("", said)):
            refused.add(name)
    assert (unsaid, refused) == (set(), set())


LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "dist", "built", "tests", "docs", "bench")


def contents(project: Path) -> list[str]:
    """What a wheel of a project would hold."""
    return sorted(each.distribution_path for each in WheelBuilder(str(project)).recurse_included_files())


@pytest.mark.release
@pytest.mark.parametrize("name", ["", "client"])
def test_a_source_distribution_makes_the_same_wheel_as_the_checkout(tmp_path: Path, name: str) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / name, checkout, ignore=LEFT_OUT)
    shutil.copy(ROOT / ".gitignore", checkout)
    if not name:
        (checkout / PAGE).parent.mkdir()
        (checkout / PAGE).write_text("a page that was built")
    (source,) = SdistBuilder(str(checkout)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(source) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    straight = contents(checkout)
    assert contents(tmp_path / "unpacked" / Path(source).name.removesuffix(".tar.gz")) == straight
    assert (str(PAGE) in straight) == (not name)
    assert any(path.endswith("version.py") for path in straight) == bool(name)


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    """The jobs of a workflow."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text())["jobs"]
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_few_rights_ends_by_itself_and_its_steps_can_be_read(path: Path) -> None:
    text = yaml.safe_load(path.read_text())
    assert text["permissions"] == {}
    for name, job in jobs(path).items():
        assert job["timeout-minutes"] <= 90, name
        needed = job.get("needs", [])
        assert {needed} if isinstance(needed, str) else set(needed) <= jobs(path).keys()
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"]), "a tag, or a branch, may lead elsewhere tomorrow"
            else:
                said = subprocess.run(["bash", "-n"], input=step["run"], text=True, capture_output=True, check=False)
                assert said.returncode == 0, said.stderr
                assert not re.search(r"\$\{\{", step["run"]), "values come by the environment: a name could be a command"


# What a job needs beyond reading, and nothing else: no step that may write runs beside what another job brings.
RIGHTS = {
    "publish-image": {"packages": "write"},
    "publish-distributions": {"id-token": "write"},
    "publish-release": {"contents": "write"},
    "build": {"contents": "read"},
    "image": {"contents": "read"},
    "test": {},
    "drills": {"contents": "read"},
}


def test_each_job_of_a_release_has_one_right_and_those_that_write_are_guarded() -> None:
    release = jobs(ROOT / ".github/workflows/release.yml")
    assert {name: job["permissions"] for name, job in release.items()} == RIGHTS
    assert {name for name, job in release.items() if job.get("environment") == "release"} == {
        name for name, rights in RIGHTS.items() if "write" in rights.values()
    }


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_says_beside_its_hash_which_version_that_is_and_an_action_has_one(path: Path) -> None:
    used = re.findall(r"uses: (\S+)@(\S+)(.*)$", path.read_text(), re.MULTILINE)
    assert used
    assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", said) for _, _, said in used)
    everywhere = {pair for each in WORKFLOWS for pair in re.findall(r"uses: (\S+)@(\S+)", each.read_text())}
    assert len(everywhere) == len({name for name, _ in everywhere})


def test_a_release_calls_existing_steps_and_publishes_last() -> None:
    release = jobs(ROOT / ".github/workflows/release.yml")
    made = {
        word
        for job in release.values()
        for step in job["steps"]
        for line in re.findall(r"^make (.+)$", step.get("run", ""), re.MULTILINE)
        for word in line.split()
    }
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"wheels", "sdists", "sbom"} <= made <= targets
    publishing = {name for name in release if name.startswith("publish")}
    for name in publishing:
        assert set(release[name]["needs"]) >= (release.keys() - publishing if name != "publish-release" else publishing - {name})
    arguments = {
        name for job in release.values() for step in job["steps"] for name in re.findall(r"--build-arg (\w+)=", step.get("run", ""))
    }
    assert arguments == {"VERSION", "REVISION"} <= set(re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    assert all(
        step.get("with", {}).get("persist-credentials") is False
        for job in release.values()
        for step in job["steps"]
        if "checkout" in step.get("uses", "")
    )


def test_the_image_says_what_it_is() -> None:
    labels = set(re.findall(r"org\.opencontainers\.image\.(\w+)=", (ROOT / "Dockerfile").read_text()))
    assert labels == {"title", "description", "licenses", "version", "revision"}
