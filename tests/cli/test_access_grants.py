"""`loci grant`: sharing a namespace from the command line."""

import json
from uuid import uuid4

import pytest

from tests.cli.conftest import Loci


def test_a_grant_is_set_listed_and_revoked(loci: Loci, namespace: str) -> None:
    made = json.loads(loci("key", "create", "--namespace", "default", "--name", "robot", "--json").stdout)
    agent = made["agent_id"]
    assert "robot" in loci("grant", "set", agent, "--namespace", namespace, "--role", "writer").stderr
    [row] = json.loads(loci("grant", "list", "--namespace", namespace, "--json").stdout)
    assert (row["agent_id"], row["role"], row["expires_at"]) == (agent, "writer", None)
    until = "2100-01-01T00:00:00Z"
    changed = json.loads(loci("grant", "set", agent, "--namespace", namespace, "--expires", until, "--json").stdout)
    assert (changed["role"], changed["created"]) == ("reader", False)
    assert "robot" in loci("grant", "list", "--namespace", namespace).stdout
    assert loci("grant", "revoke", agent, "--namespace", namespace).exit_code == 0
    assert json.loads(loci("grant", "list", "--namespace", namespace, "--json").stdout) == []


@pytest.mark.parametrize("command", [["set"], ["revoke"]])
def test_an_unknown_agent_is_named(loci: Loci, namespace: str, command: list[str]) -> None:
    unknown = str(uuid4())
    result = loci("grant", *command, unknown, "--namespace", namespace)
    assert result.exit_code != 0
    assert unknown in result.stderr


def test_the_operator_answers_invitations_for_an_agent(loci: Loci, namespace: str) -> None:
    agent = json.loads(loci("key", "create", "--namespace", "default", "--json").stdout)["agent_id"]
    with loci.database.admin() as admin:

        def invite() -> None:
            admin.execute(
                "insert into loci_data.invitations (namespace_id, agent_id, role) select id, %s, 'reader' from loci_data.namespaces where name = %s",
                [agent, namespace],
            )

        invite()
        [row] = json.loads(loci("invitation", "list", agent, "--json").stdout)
        assert (row["namespace"], row["role"]) == (namespace, "reader")
        assert loci("invitation", "decline", agent, "--namespace", namespace).exit_code == 0
        invite()
    assert "is reader" in loci("invitation", "accept", agent, "--namespace", namespace).stderr
    assert json.loads(loci("grant", "list", "--namespace", namespace, "--json").stdout)[0]["accepted"]
    assert loci("grant", "leave", agent, "--namespace", namespace).exit_code == 0
    again = loci("grant", "leave", agent, "--namespace", namespace)
    assert again.exit_code != 0
    assert "no grant" in again.stderr
