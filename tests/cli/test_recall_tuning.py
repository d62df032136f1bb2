"""`loci tune`: questions of one's own, and what they say about the settings."""

import json

import pytest

from tests.cli.conftest import Loci


def test_tuning_reports_each_arm_and_keeps_good_settings(loci: Loci, namespace: str) -> None:
    facts = [f"ship {number} carries {goods}" for number, goods in enumerate(["wool", "salt", "tin", "wax", "rye"] * 4)]
    assert loci("import", "-", "-n", namespace, input="\n".join(json.dumps({"content": fact}) for fact in facts)).exit_code == 0
    lines = "\n".join(json.dumps({"question": f"What is on ship {n}?", "contents": [fact]}) for n, fact in enumerate(facts))
    said = json.loads(loci("tune", "-", "-n", namespace, "--json", input=lines).stdout)
    assert (said["questions"], said["applied"]) == (20, False)
    assert said["verdict"] in {"keep", "change"}
    shown = loci("tune", "-", "-n", namespace, input=lines)
    assert "lexical alone" in shown.stdout
    assert "waits" in shown.stderr


def test_too_few_questions_say_so_and_nothing_else(loci: Loci, namespace: str) -> None:
    result = loci("tune", "-n", namespace, "--apply")
    assert (result.exit_code, "at least 20" in result.stdout) == (0, True)


@pytest.mark.row("R14")
def test_a_wrong_line_is_named(loci: Loci, namespace: str) -> None:
    for line, what in (("{", "is not JSON"), ('{"question": "Who?"}', "ids or contents"), ("", "has no questions")):
        result = loci("tune", "-", "-n", namespace, input=f"{line}\n")
        assert result.exit_code == 1
        assert what in result.stderr
    unknown = loci("tune", "-", "-n", namespace, input='{"question": "Who?", "contents": ["Nobody said this."]}')
    assert (unknown.exit_code, "Nobody said this." in unknown.stderr) == (1, True)
