"""A small language model that runs, with as much context as a prompt needs and with too little; and what it said, as it said it."""

import os
from collections.abc import Iterator

import pytest

from tests.llm.real.recorder import Recorder, recording
from tests.llm.real.server import SKIPPED, RealModel, real_model

WANTED = os.environ.get("LOCI_TEST_MODEL") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without `make test-model` nothing here runs: it takes minutes."""
    reason = SKIPPED or (None if WANTED else "make test-model runs these: they take minutes")
    for item in items:
        if reason and "tests/llm/real/" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def wide() -> Iterator[RealModel]:
    """One slot with 2,048 tokens: a prompt of each purpose and its answer fit."""
    with real_model(2048) as running:
        yield running


@pytest.fixture(scope="session")
def narrow() -> Iterator[RealModel]:
    """One slot with 256 tokens: no prompt of Loci's fits."""
    with real_model(256) as running:
        yield running


@pytest.fixture
def recorded(wide: RealModel) -> Iterator[Recorder]:
    """The wide one, and what it said."""
    with recording(wide.url) as recorder:
        yield recorder
