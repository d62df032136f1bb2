"""What somebody needs to see a failure again: the seed of the run, and for each test that failed how to run it alone."""

import os
import shlex
import sys
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

SHOWN = 20
ASKED = ("LOCI_TEST_POSTGRES", "HYPOTHESIS_PROFILE")  # of the environment: what else a run was asked for


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
    """Names each test as soon as it fails: a run takes minutes, and its summary comes at the end."""

    def __init__(self, reporter: TerminalReporter) -> None:
        self._reporter = reporter

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """After its letter was shown."""
        if report.failed:
            self._reporter.write_line(f"\nFAILED {report.nodeid}")


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Say how to run each test that failed alone, and all of them in the same order."""
    failed = [report for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, [])]
    names = list(dict.fromkeys(report.nodeid for report in failed))
    if not names:
        return
    seed = seed_of(config)
    terminalreporter.section("to see it again", sep="=")
    for name in names[:SHOWN]:
        terminalreporter.write_line(command(seed, "-n", "0", name))
    if len(names) > SHOWN:
        terminalreporter.write_line(f"… and {len(names) - SHOWN} more")
    terminalreporter.write_line("all in the same order, where a test fails only after others:")
    terminalreporter.write_line(command(seed, *config.invocation_params.args))


def command(seed: int | None, *arguments: str | os.PathLike[str]) -> str:
    """A command line of pytest in this environment."""
    here = Path.cwd()
    python = Path(sys.executable)
    shown = [str(python.relative_to(here)) if python.is_relative_to(here) else str(python), "-m", "pytest"]
    asked = [str(each) for each in arguments if not str(each).startswith("--randomly-seed")]
    environment = [f"{name}={os.environ[name]}" for name in ASKED if os.environ.get(name)]
    return shlex.join([*environment, *shown, *([] if seed is None else [f"--randomly-seed={seed}"]), *asked])
