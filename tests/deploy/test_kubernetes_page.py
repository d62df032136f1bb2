"""The commands of docs/running/kubernetes.md, as they stand there, against a stub of kubectl that refuses what a cluster would.

No API server comes in a package, so nothing is started. Where the real kubectl is installed, it puts the overlay of the page together,
and that must be what the stub has made of it; where kubernetes-validate is installed, everything that is applied fits its schemas.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.catalogue import ROOT
from tests.deploy.stub_kubectl import build, containers
from tests.docs.test_blocks import told, wrong_of

TEXT = (ROOT / "docs" / "running" / "kubernetes.md").read_text()
BLOCKS = [textwrap.dedent(text) for text in re.findall(r"^ *```\w*\n(.*?)^ *```", TEXT, re.MULTILINE | re.DOTALL)]
OVERLAY, FIRST, ANALYST = BLOCKS
REAL = shutil.which("kubectl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the overlay, beside a checkout, with a kubectl before all others."""
    (tmp_path / "loci").symlink_to(ROOT)
    (overlay := tmp_path / "overlay").mkdir()
    (overlay / "kustomization.yaml").write_text(OVERLAY)
    (overlay / "ca.crt").write_text("-----BEGIN CERTIFICATE-----\n")
    (programs := tmp_path / "bin").mkdir()
    program = programs / "kubectl"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "tests" / "deploy" / "stub_kubectl.py"} "$@"\n')
    program.chmod(0o755)
    return overlay


def walk(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run commands until one fails."""
    environment = {**os.environ, "STUB_KUBECTL": str(folder.parent), "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def cluster(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder.parent / "cluster.json").read_text())
    return found


def test_the_commands_of_the_page_succeed_as_they_stand_there(folder: Path) -> None:
    done = walk(folder, FIRST + ANALYST)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = cluster(folder)
    assert {place.split("/")[0] for place in rows if "/" in place} == {"Namespace", "loci"}
    assert {"loci/Job/loci-migrate", "loci/Deployment/loci", "loci/Deployment/loci-worker", "loci/ConfigMap/loci-ca"} <= rows.keys()
    assert not [place for place in rows if "/Pod/" in place]  # what was made by hand is gone
    used = {container["image"] for row in rows.values() if "kind" in row for container in containers(row)}
    assert used == {"registry.example/loci:0.1.0"}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        (r"^kubectl create namespace.*\n", 'namespaces "loci" not found'),
        (r"^kubectl create secret.*\n", 'secret "loci#owner-password" not found'),
        (r"^kubectl apply -k.*\n", 'jobs "loci-migrate" not found'),
        (r"(?<=kubectl wait) -n loci", "not found in namespace default"),
        (r"(?<=kubectl exec) -n loci", "not found in namespace default"),
        (r"(?<=kubectl apply) -n loci", "configmap"),
    ],
)
def test_without_a_part_of_them_they_fail(folder: Path, left_out: str, said: str) -> None:
    script, count = re.subn(left_out, "", FIRST, flags=re.MULTILINE)
    assert count
    done = walk(folder, script)
    assert done.returncode != 0
    assert said in done.stderr


def test_an_address_that_is_verified_names_a_certificate_that_every_pod_has(folder: Path) -> None:
    rows = build(folder)
    for row in rows:
        for value in row.get("data", {}).values():
            if "sslmode=verify-full" in value:
                assert value.endswith("&sslrootcert=/certs/ca.crt")
    for row in [*rows, *(yaml.safe_load((ROOT / "deploy/kubernetes" / name).read_text()) for name in ("admin.yaml", "owner.yaml"))]:
        for container in containers(row):
            assert "/certs" in [mount["mountPath"] for mount in container["volumeMounts"]], row["metadata"]["name"]


def test_the_pod_of_the_owner_has_what_making_an_analyst_needs() -> None:
    [owner] = containers(yaml.safe_load((ROOT / "deploy" / "kubernetes" / "owner.yaml").read_text()))
    assert owner["envFrom"] == [{"configMapRef": {"name": "loci-migrate"}}]  # LOCI_MIGRATION_URL
    assert [each["valueFrom"]["secretKeyRef"]["key"] for each in owner["env"]] == ["owner-password"]
    asked = [told(line.split()) for line in (FIRST + ANALYST).splitlines() if " exec " in line]
    assert [command and wrong_of(command) for command in asked] == [None, None]


def test_manifests_fit_the_schemas_of_kubernetes(folder: Path) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed (group manifests)")
    for row in build(folder):
        validator.validate(row, "1.35", strict=True)


@pytest.mark.skipif(REAL is None, reason="kubectl is not installed")
def test_the_real_kubectl_builds_the_same_overlay(folder: Path) -> None:
    done = subprocess.run(
        [str(REAL), "kustomize", "--load-restrictor=LoadRestrictionsNone", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    def key(row: Any) -> str:
        return f"{row['kind']}/{row['metadata']['name']}"

    assert sorted(yaml.safe_load_all(done.stdout), key=key) == sorted(build(folder), key=key)
