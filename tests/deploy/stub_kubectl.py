"""A `kubectl` that keeps what it is told in a folder and refuses what a cluster would: what stands in no namespace that there is, what
refers to what is not there, commands on what was never made. It knows the commands of docs/running/kubernetes.md and no others.

What it makes of a kustomization is held against that of the real program where one is installed (test_kubernetes_page.py).
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
STORE = Path(os.environ.get("STUB_KUBECTL", ".")) / "cluster.json"
ALLOWED = {"-n", "-f", "-k", "-o", "--local", "--for", "--timeout", "--from-literal", "--from-file"}
VALUED = {"-n", "-f", "-k", "-o"}


def fail(reason: str) -> None:
    sys.exit(f"Error: {reason}")


def parse(words: list[str]) -> tuple[list[str], dict[str, list[str]], list[str]]:
    """Words, options, and what stands behind `--`."""
    behind = words[words.index("--") + 1 :] if "--" in words else []
    words = words[: words.index("--")] if "--" in words else words
    plain: list[str] = []
    options: dict[str, list[str]] = {}
    left = iter(words)
    for word in left:
        name, _, value = word.partition("=")
        if not word.startswith("-"):
            plain.append(word)
        elif name not in ALLOWED:
            fail(f"unknown flag: {name}")
        else:
            options.setdefault(name, []).append(next(left) if name in VALUED else value)
    return plain, options, behind


def build(folder: Path) -> list[Json]:
    """The resources of a kustomization: those of its files and folders, with its namespace, images and patches."""
    custom = yaml.safe_load((folder / "kustomization.yaml").read_text())
    made: list[Json] = []
    for name in custom["resources"]:
        path = folder / name
        made += build(path) if path.is_dir() else list(yaml.safe_load_all(path.read_text()))
    for row in made:
        if "namespace" in custom:
            row["metadata"]["namespace"] = custom["namespace"]
        for pairs in custom.get("labels", []):
            row["metadata"].setdefault("labels", {}).update(pairs["pairs"])
        for image in custom.get("images", []):
            for container in containers(row):
                if container["image"].partition(":")[0] == image["name"]:
                    container["image"] = f"{image['newName']}:{image['newTag']}"
    # an overlay names the image as the base does; what the base has made of it is found by that name
    for patch in custom.get("patches", []):
        wanted = patch["target"]
        [row] = [each for each in made if (each["kind"], each["metadata"]["name"]) == (wanted["kind"], wanted["name"])]
        for step in json.loads(patch["patch"]):
            at: Any = row
            *way, last = step["path"].strip("/").split("/")
            for key in way:
                at = at[key]
            if step["op"] != "replace" or last not in at:
                fail(f"the patch of {wanted} does not fit")
            at[last] = step["value"]
    return made


def pod_spec(row: Json) -> Json:
    found: Json = row["spec"] if row["kind"] == "Pod" else row.get("spec", {}).get("template", {}).get("spec", {})
    return found


def containers(row: Json) -> list[Json]:
    found: list[Json] = pod_spec(row).get("containers", [])
    return found


def references(row: Json) -> list[tuple[str, str]]:
    """What its pods cannot begin without."""
    found = [("ConfigMap", each["configMapRef"]["name"]) for one in containers(row) for each in one.get("envFrom", [])]
    for one in containers(row):
        for variable in one.get("env", []):
            key = variable["valueFrom"]["secretKeyRef"]
            found += [] if key.get("optional") else [("Secret", f"{key['name']}#{key['key']}")]
    return found


class Cluster:
    def __init__(self) -> None:
        self.rows: dict[str, Any] = json.loads(STORE.read_text()) if STORE.exists() else {"Namespace/default": {}}

    def save(self) -> None:
        STORE.write_text(json.dumps(self.rows))

    def add(self, kind: str, name: str, namespace: str, row: Any) -> None:
        if f"Namespace/{namespace}" not in self.rows:
            fail(f'namespaces "{namespace}" not found')
        self.rows[f"{namespace}/{kind}/{name}"] = row
        sys.stdout.write(f"{kind.lower()}/{name} created\n")

    def apply(self, rows: list[Json], namespace: str) -> None:
        for row in rows:
            stated = row["metadata"].get("namespace", namespace)
            self.add(row["kind"], row["metadata"]["name"], stated, row)
        for row in rows:  # config maps may stand behind those that need them
            stated = row["metadata"].get("namespace", namespace)
            for kind, name in references(row):
                if f"{stated}/{kind}/{name}" not in self.rows:
                    fail(f'{kind.lower()} "{name}" not found in namespace {stated}: {row["metadata"]["name"]} cannot begin')

    def require(self, kind: str, name: str, namespace: str) -> str:
        place = f"{namespace}/{ {'job': 'Job', 'pod': 'Pod'}[kind] }/{name}"
        if place not in self.rows:
            fail(f'{kind}s "{name}" not found in namespace {namespace}')
        return place


def read_manifests(options: dict[str, list[str]]) -> list[Json]:
    text = sys.stdin.read() if options["-f"] == ["-"] else Path(options["-f"][0]).read_text()
    return [row for row in yaml.safe_load_all(text) if row]


def run(words: list[str]) -> None:
    plain, options, behind = parse(words)
    namespace = options.get("-n", ["default"])[0]
    cluster = Cluster()
    match plain:
        case ["create", "namespace", name]:
            cluster.rows[f"Namespace/{name}"] = {}
        case ["create", "secret", "generic", name]:
            for literal in options["--from-literal"]:
                cluster.add("Secret", f"{name}#{literal.partition('=')[0]}", namespace, {})
        case ["create", "configmap", name]:
            cluster.add("ConfigMap", name, namespace, {each: Path(each).read_text() for each in options["--from-file"]})
        case ["apply"]:
            cluster.apply(build(Path(options["-k"][0])) if "-k" in options else read_manifests(options), namespace)
        case ["set", "image", image] if "--local" in options:
            name, _, wanted = image.partition("=")
            rows = read_manifests(options)
            [one] = [each for row in rows for each in containers(row) if each["name"] == name]
            one["image"] = wanted
            sys.stdout.write(yaml.safe_dump_all(rows))
        case ["wait", place]:
            kind, _, name = place.partition("/")
            cluster.require(kind, name, namespace)
        case ["exec", name] if behind[0] == "loci":
            cluster.require("pod", name, namespace)
        case ["delete", kind, name]:
            del cluster.rows[cluster.require(kind, name, namespace)]
        case _:
            fail(f"unknown command {words}")
    cluster.save()


if __name__ == "__main__":
    run(sys.argv[1:])
