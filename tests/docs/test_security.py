"""docs/security.md names tests that exist, one or more for each promise."""

import re

from tests.catalogue import ROOT
from tests.docs.test_requirements import names

PAGE = (ROOT / "docs" / "security.md").read_text()
PROMISES = [line for line in PAGE.partition("\n## What everybody can see\n")[0].splitlines() if line.startswith("- ")]
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def test_every_promise_names_tests_that_exist() -> None:
    assert len(PROMISES) > 80
    for line in PROMISES:
        named = NAMED.findall(line)
        assert named, line
        for path, name in named:
            assert (ROOT / path).is_file(), path
            assert not name or name in names(path), f"{path}::{name}"
