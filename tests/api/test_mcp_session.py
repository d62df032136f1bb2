"""The session of an agent, run by the official Python SDK: save, relate, correct, ask now and as of then, settle, context."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from service.mcp.tools.catalogue import SMALL_TOOL_SET
from tests.api.agent import STEPS
from tests.catalogue import ROOT
from tests.services import Api
from tests.tools import ERAS, Tools, over_http, said


def filled(arguments: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: ids.get(value[1:], value) if isinstance(value, str) and value[:1] == "$" else value
        for name, value in arguments.items()
    }


def run(tools: Tools) -> None:
    ids: dict[str, str] = {}
    for step in STEPS:
        result = tools.ask(step.tool, **filled(step.arguments, ids))
        text = said(result)
        assert bool(result.is_error) == step.fails, text
        assert [words for words in step.reads if words not in text] == [], (step, text)
        assert [words for words in step.lacks if words in text] == [], (step, text)
        if step.keeps:
            ids[step.keeps] = result.structured_content["id"]


@pytest.mark.parametrize("profile", ["", "small"])
@pytest.mark.parametrize("mode", ERAS)
def test_the_session_of_an_agent_runs_by_the_python_sdk(api: Api, mode: str, profile: str) -> None:
    with over_http(api.service, mode, profile=profile, **{"X-Namespace": api.namespace}) as tools:
        run(tools)


def test_the_prompt_on_the_page_has_ten_lines_and_names_what_the_session_uses() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text().partition("\n## What to say to the agent\n")[2]
    prompt = page.partition("```\n")[2].partition("```")[0]
    assert len(prompt.splitlines()) == 10
    named = {name for name in SMALL_TOOL_SET if re.search(rf"\b{name}\b", prompt)}
    assert named == {step.tool for step in STEPS} == set(SMALL_TOOL_SET)
