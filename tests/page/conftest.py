"""A browser and a service with the demo for the run."""

from collections.abc import Iterator

import httpx
import pytest

from tests.databases import Server
from tests.loading import write_demo
from tests.page.browser import Browser, build_page, client_of, running_browser, settled
from tests.services import Service, serve


@pytest.hookimpl(tryfirst=True)  # before what is marked is left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that drives a browser. Those that are not quick are for changes of the page, and for releases."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.release)


@pytest.fixture(scope="session")
def built() -> None:
    """The page as it is in web/."""
    build_page()


@pytest.fixture(scope="session")
def browser(built: None) -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="session")
def demo(server: Server, built: None) -> Iterator[Service]:
    """A service with the demo, which tests change in places of their own."""
    database = server.clone("page")
    write_demo(database)
    with serve(database, tcp=True, embedding={"provider": "static"}) as running:
        with client_of(running.url) as client:
            settled(client)
        yield running
    server.drop(database)


@pytest.fixture
def rest(demo: Service) -> Iterator[httpx.Client]:
    """The same service over REST, after its worker."""
    with client_of(demo.url) as client:
        yield settled(client)
