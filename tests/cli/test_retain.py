"""`loci retain` and `loci reflect`."""

import json

from tests.cli.conftest import Loci


def test_retain_says_what_became_of_each_fact(loci: Loci, namespace: str) -> None:
    loci("retain", "Alice lives in Berlin", "-n", namespace, "--category", "people")
    result = loci("retain", "-", "-n", namespace, "--json", input="Alice moved to Porto.\nBob likes tea.\n")
    assert [row["action"] for row in json.loads(result.stdout)["decisions"]] == ["update", "create"]


def test_a_dry_run_of_retain_writes_nothing(loci: Loci, namespace: str) -> None:
    result = loci("retain", "Alice lives in Berlin", "-n", namespace, "--dry-run")
    assert result.stdout.splitlines()[1].split()[:2] == ["create", "Alice"]
    assert json.loads(loci("retain", "Alice lives in Berlin", "-n", namespace, "--json").stdout)["created"] == 1


def test_reflect_goes_through_all_pages(loci: Loci, namespace: str) -> None:
    lines = "\n".join(json.dumps({"content": f"fact {n}", "category": "music" if n > 200 else "general"}) for n in range(204))
    assert loci("import", "-", "-n", namespace, input=lines).exit_code == 0
    planned = json.loads(loci("reflect", "-n", namespace, "--dry-run", "--json").stdout)
    assert (len(planned["placed"]), planned["orphans_left"]) == (3, 201)
    result = loci("reflect", "-n", namespace)
    assert result.stderr.splitlines()[-1].startswith("3 placed")
    assert json.loads(loci("reflect", "-n", namespace, "--json").stdout)["placed"] == []


def test_a_model_that_is_asked_for_must_be_there(loci: Loci, namespace: str) -> None:
    for command in (("retain", "Alice lives in Berlin"), ("reflect",)):
        result = loci(*command, "-n", namespace, "--decide", "model")
        assert result.exit_code == 1
        assert "LOCI_LLM__ENDPOINT" in result.stderr
    assert json.loads(loci("retain", "Alice lives in Berlin", "-n", namespace, "--json").stdout)["created"] == 1
