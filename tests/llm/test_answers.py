"""What the service asks of models, all of it: schemas that every strict endpoint takes, and prompts that are there."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import service
from service.llm.answer_parsing import Answer
from service.llm.prompts import NAMES, Prompts
from service.llm.schemas import schema_of, without_limits
from tests.llm.strict_schema import schema_refusal


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


@pytest.mark.parametrize("answer", asked(), ids=lambda kind: kind.__name__)
def test_one_that_refuses_limits_takes_the_schema_of_every_answer_without(answer: type[Answer]) -> None:
    assert schema_refusal(without_limits(schema_of(answer)), limits=False) is None


SHOWN = ("memories", "signals", "texts", "catalogue", "turns", "preferences", "edges", "entities", "pairs", "facts", "known")


@pytest.mark.parametrize("answer", asked(), ids=lambda kind: kind.__name__)
def test_every_answer_ends_no_list_and_no_text_is_endless(answer: type[Answer]) -> None:
    assert not list(endless(schema_of(answer, dict.fromkeys(SHOWN, range(1, 3)))))


def endless(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Lists and texts of a schema that nothing ends."""
    if (node.get("type") == "array" and "maxItems" not in node) or (
        node.get("type") == "string" and not {"maxLength", "enum"} & set(node)
    ):
        yield node
    for part in [*node.get("properties", {}).values(), *node.get("anyOf", []), *([node["items"]] if "items" in node else [])]:
        yield from endless(part)


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_is_there(name: str) -> None:
    assert len(Prompts().read_prompt(name).split()) > 20
