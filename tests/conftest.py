"""Fixtures: a server for the run, a clone of its template for each worker, a rolled-back transaction for each test.

LOCI_TEST_URL names another server (as a superuser); LOCI_TEST_POSTGRES=16 takes the
embedded PostgreSQL 16 instead of 18.
"""

import gc
import os
import random
import shutil
import signal
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import HealthCheck, settings

from tests import environment
from tests.databases import Database, Server, place_of_servers, running_server
from tests.factories import World, new_world
from tests.services import Api, Service, new_api, ok, serve

SAMPLE = 5  # cases of a test that are run on every change, where its mark says no other number
GARBAGE = 20_000  # objects that may be garbage until somebody looks
REPORTERS: list[TerminalReporter] = []  # what writes to the terminal of the run; none in a worker
# What takes long, or waits for processes and not for the processor: the other worker works beside it.
LONGEST = (
    *("tests/contract/test_document.py", "tests/plans/", "tests/faults/", "tests/distributed/", "tests/install/"),
    *("tests/page/", "tests/docker/", "tests/running/", "tests/year/"),
)

# The same examples in every run of CI; others, and many more of them, in every thorough one.
settings.register_profile(
    "ci", max_examples=10, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
thorough = int(os.environ.get("HYPOTHESIS_EXAMPLES", "500"))
settings.register_profile("thorough", settings.get_profile("ci"), max_examples=thorough, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure(config: pytest.Config) -> None:
    """Make the run's folder; workers of pytest-xdist inherit its name. Commands that tests start hear Ctrl-C."""
    gc.disable()  # until all tests are collected: modules and tests stay
    if hasattr(config, "workerinput"):
        return
    environment.forget()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # processes that tests start would compile all of the project, each of them
    os.environ["LOCI_TEST_DIR"] = tempfile.mkdtemp(prefix="loci-tests-", dir=place_of_servers())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a run in the background: children would inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say the seed of the order of tests and of all that they draw by lot, also where the header is not shown."""
    if not hasattr(session.config, "workerinput"):
        REPORTERS.append(session.config.pluginmanager.get_plugin("terminalreporter"))
        REPORTERS[0].write_line(f"the same order and lots: --randomly-seed={session.config.getoption('randomly_seed', None)}")


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name each test that fails as soon as it does: a run takes minutes, and its summary comes at the end."""
    for reporter in REPORTERS if report.failed else []:
        reporter.write_line(f"\nFAILED {report.nodeid}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the run's folder; the last worker to end has stopped the server."""
    if not hasattr(config, "workerinput") and "LOCI_TEST_DIR" in os.environ:
        shutil.rmtree(os.environ["LOCI_TEST_DIR"], ignore_errors=True)


@pytest.hookimpl(tryfirst=True, specname="pytest_collection_modifyitems")
def pytest_leave_cases_to_releases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of each test with many cases, some are run on every change, drawn by the seed of the run, and the others before a release.

    Who names a test, has it with all its cases.
    """
    if any("::" in argument for argument in config.args):
        return
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    for name, cases in tests.items():
        sample, every = cases[0].get_closest_marker("sample"), cases[0].get_closest_marker("every_case")
        count = len(cases) if every else sample.args[0] if sample else SAMPLE
        cases.sort(key=lambda case: case.nodeid)
        random.Random(f"{config.getoption('randomly_seed', None)} {name}").shuffle(cases)
        for case in cases[count:]:
            case.add_marker("release")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, in the order that was drawn otherwise: at the end no worker waits for another's minute."""
    items.sort(key=lambda item: item.nodeid.startswith(LONGEST), reverse=True)


def pytest_collection_finish() -> None:
    """The garbage collector looks no more at what there is now, and less often: it took a fifth of the processor's time.

    Tests run in a folder of the run.
    """
    os.chdir(os.environ["LOCI_TEST_DIR"])  # a file .env of the checkout is the user's
    gc.freeze()
    gc.set_threshold(GARBAGE, 10, 10)
    gc.enable()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio, as the service does."""
    return "asyncio"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The PostgreSQL server of this run."""
    with running_server(Path(os.environ["LOCI_TEST_DIR"])) as running:
        yield running


@pytest.fixture(scope="module")
def database(server: Server) -> Iterator[Database]:
    """One module's database for tests that roll back: what others left behind, it does not read through."""
    made = server.left_alone("sql")
    yield made
    server.drop(made)


@pytest.fixture(scope="module")
def own_database(server: Server) -> Iterator[Database]:
    """A database for one module that commits. What nobody waits for in it is what its tests do: autovacuum does nothing there."""
    made = server.left_alone("own")
    yield made
    server.drop(made)


@pytest.fixture
def connection(database: Database) -> Iterator[psycopg.Connection[dict]]:
    """A transaction as loci_app, acting for nobody yet, rolled back at the end."""
    with database.app_sessions.borrowed() as opened:
        yield opened


@pytest.fixture
def world(connection: psycopg.Connection[dict]) -> World:
    """A new namespace, acted in as the operator."""
    return new_world(connection)


@pytest.fixture
def admin(database: Database) -> Iterator[psycopg.Connection[dict]]:
    """A transaction as the one who migrates, rolled back at the end."""
    with database.admin_sessions.borrowed() as opened:
        yield opened


@pytest.fixture
def owned(admin: psycopg.Connection[dict]) -> World:
    """A new namespace in a session that can turn into the superuser's with `reset session authorization`."""
    admin.execute("set session authorization loci_app")
    return new_world(admin)


@pytest.fixture(scope="session")
def service_database(server: Server) -> Iterator[Database]:
    """This worker's database for tests over REST."""
    made = server.clone("api")
    yield made
    server.drop(made)


@pytest.fixture(scope="session")
def service(service_database: Database) -> Iterator[Service]:
    """A running service with the static embeddings and no keys, as on loopback."""
    with serve(service_database, embedding={"provider": "static"}) as running:
        yield running


@pytest.fixture(scope="session")
def guarded(service: Service) -> Iterator[Service]:
    """The same database behind a service that requires keys, of which it wants to see one before it starts."""
    with service.client() as client:
        ok(client.post("/keys", json={"role": "reader"}), 201)
    with serve(service.database, require_keys=True, worker=False) as running:
        yield running


@pytest.fixture
def api(service: Service) -> Iterator[Api]:
    """A client in a namespace of its own."""
    with new_api(service) as client:
        yield client


@pytest.fixture
def start_service(server: Server) -> Iterator[Callable[..., Service]]:
    """Start further services, each over a database of its own unless one is given."""
    with ExitStack() as stack:

        def start(database: Database | None = None, **options: object) -> Service:
            if database is None:
                database = server.clone("svc")
                stack.callback(server.drop, database)
            return stack.enter_context(serve(database, **options))

        yield start
