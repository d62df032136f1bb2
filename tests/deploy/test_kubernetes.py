"""The manifests of deploy/kubernetes fit the schemas of Kubernetes, the image, the settings and each other. No cluster is needed."""

import re
from contextlib import suppress
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from service.cli.main import app
from tests.catalogue import ROOT
from tests.docker.test_compose import settings
from tests.services import openapi_document

FOLDER = ROOT / "deploy" / "kubernetes"
FILES = sorted(path.name for path in FOLDER.glob("*.yaml"))
CUSTOM = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
RESOURCES: list[dict[str, Any]] = [
    row for name in FILES if name != "kustomization.yaml" for row in yaml.safe_load_all((FOLDER / name).read_text())
]
PAGE = (ROOT / "docs" / "running" / "kubernetes.md").read_text()


def name_of(resource: dict[str, Any]) -> str:
    return f"{resource['kind']}/{resource['metadata']['name']}"


def pod(resource: dict[str, Any]) -> dict[str, Any]:
    """What a resource makes pods of: metadata and spec."""
    template: dict[str, Any] = resource if resource["kind"] == "Pod" else resource["spec"]["template"]
    return template


PODS = [row for row in RESOURCES if row["kind"] in {"Deployment", "Job", "Pod"}]
CONTAINERS = [(name_of(row), one) for row in PODS for one in pod(row)["spec"]["containers"]]


@pytest.mark.parametrize("resource", RESOURCES, ids=name_of)
@pytest.mark.parametrize("version", ["1.30", "1.35"])
def test_a_manifest_fits_the_schema_of_kubernetes(resource: dict[str, Any], version: str) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed (group manifests)")
    validator.validate(resource, version, strict=True)


def test_the_kustomization_has_every_file_but_the_pods_for_commands_by_hand() -> None:
    assert {*CUSTOM["resources"], "admin.yaml", "owner.yaml", "kustomization.yaml"} == set(FILES)


@pytest.mark.row("X13")
@pytest.mark.parametrize("resource", PODS, ids=name_of)
def test_a_pod_has_no_rights_that_it_does_not_need(resource: dict[str, Any]) -> None:
    spec = pod(resource)["spec"]
    user = re.search(r"^USER (\d+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert user
    assert spec["securityContext"]["runAsUser"] == int(user[1])
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False  # a service called loci would set LOCI_PORT
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"requests", "limits"} <= container["resources"].keys()
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in spec["volumes"]}


def test_every_secret_is_taken_by_reference_and_the_page_says_how_to_make_it() -> None:
    taken = set()
    for _, container in CONTAINERS:
        for variable in container["env"]:
            assert "value" not in variable, variable["name"]
            taken.add((variable["valueFrom"]["secretKeyRef"]["key"], variable["valueFrom"]["secretKeyRef"].get("optional", False)))
    said = set(re.findall(r"--from-literal=([\w-]+)=|^- `([\w-]+)`:", PAGE, re.MULTILINE))
    assert {key for key, _ in taken} == {name for names in said for name in names if name}
    stated = [value for row in RESOURCES if row["kind"] == "ConfigMap" for value in row["data"].values()]
    assert [value for value in stated if re.search(r"://[^/@]*:[^/@]*@", value)] == []


def test_every_variable_is_a_setting() -> None:
    known = {*settings(), "DATABASE_URL", "PGPASSWORD"}
    stated = {name for row in RESOURCES if row["kind"] == "ConfigMap" for name in row["data"]}
    assert stated | {variable["name"] for _, container in CONTAINERS for variable in container["env"]} <= known


@pytest.mark.parametrize(("place", "container"), CONTAINERS, ids=[place for place, _ in CONTAINERS])
def test_a_container_runs_a_command_that_there_is(place: str, container: dict[str, Any]) -> None:
    if "command" in container:
        assert container["command"][0] == "sleep"
        return
    said = CliRunner().invoke(app, [container["args"][0], "--help"], env={"COLUMNS": "200"})
    assert said.exit_code == 0
    assert {word for word in container["args"][1:] if word.startswith("-")} <= set(re.findall(r"--[\w-]+", said.stdout))


def test_probes_ask_for_pages_that_there_are() -> None:
    pages = openapi_document()["paths"].keys()
    asked = {
        (place, probe): container[probe]["httpGet"]["path"]
        for place, container in CONTAINERS
        for probe in ("startupProbe", "livenessProbe", "readinessProbe")
        if "httpGet" in container.get(probe, {})
    }
    assert asked["Deployment/loci", "readinessProbe"] == "/readyz"
    assert asked["Deployment/loci", "livenessProbe"] == "/healthz"
    assert set(asked.values()) <= pages


def test_every_selector_finds_pods() -> None:
    labels = [pod(row)["metadata"]["labels"] for row in PODS]
    for row in RESOURCES:
        if row["kind"] in {"Deployment", "PodDisruptionBudget"}:
            assert row["spec"]["selector"]["matchLabels"] in labels
        if row["kind"] == "Service":
            assert row["spec"]["selector"] in labels
        if row["kind"] == "NetworkPolicy":
            [chosen] = row["spec"]["podSelector"]["matchExpressions"]
            assert set(chosen["values"]) == {each[chosen["key"]] for each in labels}


POLICY = (FOLDER / "network.yaml").read_text()
CLOSED = re.compile(r"^( +)# (- .+)$", re.MULTILINE)  # a line that opens something


def opened(text: str) -> tuple[set[tuple[str, int]], list[Any]]:
    """The ports that a policy opens, by direction, and all places that it names."""
    spec = yaml.safe_load(text)["spec"]
    ports = {(way, port["port"]) for way in ("ingress", "egress") for rule in spec[way] for port in rule["ports"]}
    return ports, [place for rule in spec["ingress"] for place in rule["from"]] + [
        place for rule in spec["egress"] for place in rule.get("to", [])
    ]


def test_the_network_is_closed_to_other_namespaces_and_to_the_world() -> None:
    ports, places = opened(POLICY)
    assert ports == {("ingress", 8420), ("egress", 53), ("egress", 5432), ("egress", 6432)}
    assert places == [
        {"podSelector": {}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}},
    ]


@pytest.mark.parametrize("number", range(len(CLOSED.findall(POLICY))))
def test_each_line_that_is_a_comment_opens_what_it_says_and_no_more(number: int) -> None:
    line = list(CLOSED.finditer(POLICY))[number]
    text = f"{POLICY[: line.start()]}{line[1]}{line[2]}{POLICY[line.end() :]}"
    (ports, places), (before, closed) = opened(text), opened(POLICY)
    assert len(places) == len(closed) + 1
    assert {} not in [place.get("namespaceSelector") for place in places]
    assert {port for _, port in ports - before} <= {443, 4318, 9100}
    with suppress(ImportError):
        import kubernetes_validate  # type: ignore[import-not-found,unused-ignore]

        kubernetes_validate.validate(yaml.safe_load(text), "1.35", strict=True)


def test_the_lines_open_a_proxy_figures_names_models_and_traces() -> None:
    assert len(CLOSED.findall(POLICY)) == 5


def test_the_image_has_the_version_of_the_code() -> None:
    from loci.version import __version__

    assert CUSTOM["images"][0]["newTag"] == __version__
    assert {container["image"] for _, container in CONTAINERS} == {"loci", f"loci:{__version__}"}
