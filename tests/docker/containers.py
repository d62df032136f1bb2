"""PostgreSQL 17 with pgvector in a container of its own, or the reason why there is none. Nothing here waits for long."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import docker
import psycopg
import pytest
import requests
from docker.errors import DockerException, ImageNotFound
from sqlalchemy.engine import URL
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

REPOSITORY, TAG = "pgvector/pgvector", "0.8.6-pg17-bookworm"
IMAGE = f"{REPOSITORY}:{TAG}"
PASSWORD = 'it\'s-a/@:?#%41"pässword"$1'
ANSWERS_WITHIN = 10  # seconds that the daemon may be silent
PULLED_WITHIN = 120.0
STARTS_WITHIN = 60.0


def need_image() -> None:
    """Skip the test unless a Docker daemon answers and has the image or can pull it."""
    try:
        client = docker.from_env(timeout=ANSWERS_WITHIN)
        client.ping()
    except (DockerException, requests.RequestException, OSError) as error:
        pytest.skip(f"no Docker daemon answers: {first_line(error)}")
    try:
        client.images.get(IMAGE)
    except ImageNotFound:
        pull(client)
    finally:
        client.close()


def pull(client: docker.DockerClient) -> None:
    """Pull the image, or skip the test when that fails or takes too long."""
    deadline = time.monotonic() + PULLED_WITHIN
    try:
        for event in client.api.pull(REPOSITORY, TAG, stream=True, decode=True):
            if "error" in event:
                pytest.skip(f"{IMAGE} cannot be pulled: {event['error']}")
            if time.monotonic() > deadline:
                pytest.skip(f"{IMAGE} was not pulled within {PULLED_WITHIN:.0f} s")
    except (DockerException, requests.RequestException, OSError) as error:
        pytest.skip(f"{IMAGE} cannot be pulled: {first_line(error)}")


def first_line(error: BaseException) -> str:
    """What went wrong, in a line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def running_postgres() -> Iterator[URL]:
    """A new server; yields the superuser's URL of its empty database loci."""
    need_image()
    testcontainers_config.ryuk_disabled = True  # it is one more image to pull; the block below cleans up itself
    container = DockerContainer(IMAGE).with_exposed_ports(5432).with_command("postgres -c fsync=off")
    for name, value in {"POSTGRES_PASSWORD": PASSWORD, "POSTGRES_DB": "loci", "LANG": "C.UTF-8"}.items():
        container.with_env(name, value)
    with container:
        host, port = container.get_container_host_ip(), int(container.get_exposed_port(5432))
        url = URL.create("postgresql", "postgres", PASSWORD, host, port, "loci")
        wait(url)
        yield url


def wait(url: URL) -> None:
    """Wait until the server answers over TCP, which it does only when its database is made."""
    deadline = time.monotonic() + STARTS_WITHIN
    while True:
        try:
            psycopg.connect(url.render_as_string(hide_password=False), connect_timeout=2).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return
