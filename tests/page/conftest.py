"""A browser for the run, and a service with the demo for each module."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from service.cli.demo import load_demo
from service.cli.session import Session, command_origin, open_pool
from service.settings import Settings
from tests.databases import Server
from tests.page.browser import Browser, build_page, running_browser
from tests.services import Service, serve


@pytest.fixture(scope="session")
def built() -> None:
    """The page as it is in web/."""
    build_page()


@pytest.fixture(scope="session")
def browser(built: None) -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def demo(server: Server, built: None) -> Iterator[Service]:
    """A service with the demo, which tests change in places of their own."""
    database = server.clone("page")

    async def load() -> None:
        async with open_pool(database.app_url) as pool:
            await load_demo(Session(Settings(_env_file=None), pool, command_origin()))

    asyncio.run(load())
    with serve(database, tcp=True) as running:
        yield running
    server.drop(database)


@pytest.fixture
def rest(demo: Service) -> Iterator[httpx.Client]:
    """The same service over REST."""
    with httpx.Client(base_url=f"{demo.url}/api/v1", timeout=60) as client:
        yield client
