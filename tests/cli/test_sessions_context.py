"""`loci context` prints what goes before an inference."""

import json

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
