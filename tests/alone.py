"""Each test finds its module as the first one does: `pytest -p tests.alone` shows tests that rest on others before them.

Orders drawn by lot find those seldom: one that needs any of forty others before it fails in one order of forty. What the whole session
has, its server and the service that tests of the REST interface share, is kept.
"""

import pytest


class Apart(pytest.Item):
    """A next test that has nothing in common with this one but the session."""

    def runtest(self) -> None:
        """It is never run."""
        raise NotImplementedError


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End with the test what its module and its folder have; what comes next makes it anew."""
    if nextitem is not None:
        item.session._setupstate.teardown_exact(Apart.from_parent(item.session, name="apart"))
