"""`loci context` prints what goes before an inference, and `loci session` what was said."""

import json

import pytest

from service.cli.rest import open_service
from tests.cli.conftest import Loci


def test_a_context_is_printed_and_a_session_is_shown_a_memory_once(loci: Loci, namespace: str) -> None:
    loci("import", "-", "--namespace", namespace, input='{"content": "Alice lives in Oslo"}\n')
    asked = ("context", "Where does Alice live?", "--namespace", namespace)
    for _ in range(2):
        assert loci(*asked).stdout.endswith("] (general): Alice lives in Oslo\n")
    first, again = (json.loads(loci(*asked, "--session", "s", "--json").stdout) for _ in range(2))
    assert ([row["content"] for row in first["memories"]], first["first"]) == (["Alice lives in Oslo"], True)
    assert (again["text"], again["held_back"]) == ("", 1)


def test_a_printed_context_keeps_its_budget(loci: Loci, namespace: str) -> None:
    loci("import", "-", "--namespace", namespace, input='{"content": "Alice lives in Oslo"}\n')
    assert loci("context", "Alice", "--namespace", namespace, "--max-chars", "50").stdout == ""


def test_a_space_that_is_none_is_refused_in_one_line(loci: Loci, namespace: str) -> None:
    result = loci("context", "Alice", "--namespace", namespace, "--space", "alone")
    assert (result.exit_code, result.stderr.startswith("error: space: ")) == (1, True)


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["people", "scripts"])
def test_a_session_without_turns_is_an_error_and_one_with_turns_is_shown(loci: Loci, namespace: str, more: list[str]) -> None:
    turn = {"role": "user", "content": "Where is the chart?"}
    missing = loci("session", "show", "nosuch", "--namespace", namespace, *more)
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert missing.stderr.splitlines()[0] == "error: session 'nosuch' does not exist, or has no turns"
    with open_service(namespace) as rest:
        rest.post("/conversations/{session}/turns", {"session": "s"}, **turn)
        assert rest.get("/conversations/{session}/turns", {"session": "nosuch"})["items"] == []
    shown = loci("session", "show", "s", "--namespace", namespace, *more)
    assert (shown.exit_code, "Where is the chart?" in shown.stdout, shown.stderr) == (0, True, "")
