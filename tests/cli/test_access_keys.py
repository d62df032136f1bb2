"""Keys on the command line, and with a real process: no key in anything that it writes (row X1)."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.test_memories_erase import dump
from tests.cli.conftest import Loci, reserved_port, wait_until_ready
from tests.services import PATIENCE


@contextmanager
def serving(loci: Loci, errors: Path, **environment: str) -> Iterator[str]:
    """A process that requires keys; what it writes to stderr goes to a file."""
    with reserved_port() as port:
        process = loci.start("serve", "--port", str(port), LOCI_REQUIRE_KEYS="true", **environment)
        try:
            wait_until_ready(process, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            _, err = process.communicate(timeout=PATIENCE)
            errors.write_text(err)


def make_key(loci: Loci, namespace: str, *options: str) -> dict[str, Any]:
    made = loci("key", "create", "--namespace", namespace, "--json", *options)
    assert made.exit_code == 0, made.output
    return dict(json.loads(made.stdout))


def test_no_process_writes_a_key_anywhere(loci: Loci, namespace: str, tmp_path: Path) -> None:
    keys = [make_key(loci, namespace, "--role", role) for role in ("admin", "reader")]
    ended = make_key(loci, namespace)
    assert loci("key", "revoke", ended["id"], "--namespace", namespace).exit_code == 0
    secrets = [made["key"] for made in [*keys, ended]] + ["loci_00000000_wrong-and-secret"]
    with (
        serving(loci, tmp_path / "err", LOCI_LOG_LEVEL="DEBUG") as url,
        httpx.Client(base_url=f"{url}/api/v1", timeout=PATIENCE) as client,
    ):
        replies = [reply for secret in secrets for reply in everywhere(client, secret)]
        rotated = client.post(f"/keys/{keys[0]['id']}/rotate", headers={"Authorization": f"Bearer {secrets[0]}"})
        assert rotated.status_code == 201
        secrets.append(rotated.json()["key"])
        with loci.database.admin() as admin:  # an error that nobody foresaw
            admin.execute("alter table loci_data.postings rename to postings_away")
        replies.append(client.get("/memory/search?q=x", headers={"Authorization": f"Bearer {secrets[-1]}"}))
        with loci.database.admin() as admin:
            admin.execute("alter table loci_data.postings_away rename to postings")
    assert {reply.status_code for reply in replies} >= {200, 401, 403, 404, 422, 500}
    written = "\n".join([(tmp_path / "err").read_text(), *dump(loci.database).values(), *(reply.text for reply in replies)]).lower()
    assert "failed" in written
    assert [secret for secret in secrets if secret.split("_", 2)[2].lower() in written] == []
    hashes = [hashlib.sha256(secret.encode()).hexdigest() for secret in secrets]
    assert not any(digest in (tmp_path / "err").read_text() for digest in hashes)


def everywhere(client: httpx.Client, secret: str) -> list[httpx.Response]:
    """Send a key right, and in all the wrong places."""
    good = {"Authorization": f"Bearer {secret}"}
    return [
        client.get("/memories", headers=good),
        client.get("/keys", headers=good),
        client.get("/no-such-path", headers=good),
        client.get("/memories?limit=x", headers=good),
        client.get("/memories", headers={**good, "X-Namespace": "elsewhere"}),
        client.post("/memories", headers={**good, "Content-Type": "application/json"}, content=b"{"),
        client.get("/memories", headers={"Authorization": f"Basic {secret}"}),
        client.get("/memories", headers={"X-Api-Key": secret}),
        client.get("/memories", params={"key": secret}),
        client.post("http" + str(client.base_url).removeprefix("http").removesuffix("api/v1/") + "mcp", headers=good, json={}),
    ]


def test_a_key_is_rotated_changed_and_its_uses_are_shown(loci: Loci, namespace: str) -> None:
    made = make_key(loci, namespace, "--scope", "read", "--only", namespace)
    assert (made["scope"], made["namespaces"]) == ("read", [namespace])
    rotated = loci("key", "rotate", made["id"], "--namespace", namespace, "--grace", "60")
    assert rotated.exit_code == 0
    assert rotated.stdout.startswith("loci_")
    again = loci("key", "rotate", made["id"], "--namespace", namespace)
    assert again.exit_code == 1
    assert "was rotated into" in again.stderr
    assert loci("key", "change", made["id"], "--namespace", namespace, "--rate-limit", "5", "--name", "n").exit_code == 0
    listed = json.loads(loci("key", "list", "--namespace", namespace, "--json").stdout)
    assert {row["name"] for row in listed if row["rate_limit"] == 5} == {"n"}
    assert json.loads(loci("key", "uses", made["id"], "--namespace", namespace, "--json").stdout) == []
    assert loci("key", "uses").exit_code == 0


@pytest.mark.parametrize("kept", [[], ["--only"]], ids=["anywhere", "kept to its namespace"])
def test_rotating_a_key_of_another_namespace_says_of_which(loci: Loci, namespace: str, kept: list[str]) -> None:
    made = make_key(loci, namespace, *([*kept, namespace] if kept else []))
    rotated = loci("key", "rotate", made["id"])
    assert rotated.exit_code == 0
    assert rotated.stderr.startswith(f"a key of namespace {namespace}, id ")
    again = loci("key", "rotate", rotated.stderr.split("id ")[1].split(".")[0], "-n", namespace)
    assert again.stderr.startswith(f"writer in namespace {namespace}, id ")


@pytest.mark.parametrize("options", [["--role", "owner"], ["--rate-limit", "0"], ["--scope", "all"]], ids=str)
def test_a_key_that_cannot_be_is_refused(loci: Loci, namespace: str, options: list[str]) -> None:
    assert loci("key", "create", "--namespace", namespace, *options).exit_code == 2
