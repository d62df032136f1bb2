"""What the service asks of models, all of it: schemas that every strict endpoint takes, and prompts that are there."""

import importlib
import pkgutil

import pytest

import service
from service.llm.output import Answer, schema_of
from service.llm.prompts import NAMES, Prompts
from tests.strict_schema import schema_refusal


def asked() -> list[type[Answer]]:
    """All types of answers in the service, by name."""
    for module in pkgutil.walk_packages(service.__path__, "service."):
        if not module.name.endswith(("__main__", "minilm")):
            importlib.import_module(module.name)
    found, waiting = set(), [Answer]
    while waiting:
        more = waiting.pop().__subclasses__()
        found.update(kind for kind in more if kind.__module__.startswith("service."))
        waiting += more
    return sorted(found, key=lambda kind: (kind.__module__, kind.__qualname__))


@pytest.mark.parametrize("answer", asked(), ids=lambda kind: kind.__name__)
def test_a_strict_endpoint_takes_the_schema_of_every_answer(answer: type[Answer]) -> None:
    assert schema_refusal(schema_of(answer)) is None


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_is_there(name: str) -> None:
    assert len(Prompts().read(name).split()) > 20
