"""The seed of a run, and each test that fails as soon as it does: a run takes minutes, and its summary comes at the end."""

import pytest
from _pytest.terminal import TerminalReporter


def seed_of(config: pytest.Config) -> int | None:
    """Seed of the order of tests and of all that they draw by lot; None where pytest-randomly is off."""
    seed = config.getoption("randomly_seed", None)
    return seed if isinstance(seed, int) else None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say the seed, if the order is drawn, also where the header is not shown."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    seed = seed_of(session.config)
    if isinstance(reporter, TerminalReporter) and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Herald(reporter))
        if seed is not None:
            reporter.write_line(f"seed {seed}: the same order and lots with --randomly-seed={seed}")


class Herald:
    """Names each test that fails."""

    def __init__(self, reporter: TerminalReporter) -> None:
        self._reporter = reporter

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """After its letter was shown."""
        if report.failed:
            self._reporter.write_line(f"\nFAILED {report.nodeid}")
