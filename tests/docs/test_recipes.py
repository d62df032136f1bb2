"""Every recipe of docs/recipes.md runs as it stands, in a process of its own, against a service.

Where the framework of a recipe is not installed, the recipe is skipped and the reason names it. LOCI_RECIPES_PYTHON is another
interpreter to run them with, one that has the frameworks.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.catalogue import ROOT
from tests.databases import Server
from tests.services import Service, serve

pytestmark = pytest.mark.every_case

TEXT = (ROOT / "docs" / "recipes.md").read_text()
RECIPES = dict(re.findall(r"^## (.*?)\n.*?^```python ?\w*\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
NEEDS = dict(re.findall(r"^## (.*?)\n(?:(?!^## ).)*?^```python ?(\w*)\n", TEXT, re.MULTILINE | re.DOTALL))
PYTHON = os.environ.get("LOCI_RECIPES_PYTHON", sys.executable)
MOST_LINES = 15  # of the loop, but for imports and what stands for the model


@pytest.fixture(scope="module")
def running(server: Server) -> Iterator[Service]:
    database = server.clone("recipes")
    with serve(database, tcp=True) as service:
        yield service
    server.drop(database)


def ran(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client"), **environment}
    return subprocess.run([PYTHON, "-c", code], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.row("X10")
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_runs_as_it_stands(running: Service, name: str) -> None:
    module = NEEDS[name]
    if module and ran(f"import {module}").returncode:
        pytest.skip(f"{module} is not installed")
    done = ran(RECIPES[name].replace("http://127.0.0.1:8420", running.url), OPENAI_API_KEY="none", CREWAI_DISABLE_TELEMETRY="true")
    assert done.returncode == 0, done.stderr


def test_the_recipes_are_those_that_were_promised() -> None:
    assert list(RECIPES) == [
        "No framework", "OpenAI Agents SDK", "Microsoft Agent Framework", "LlamaIndex", "LangGraph", "CrewAI", "Anthropic SDK",
    ]  # fmt: skip
    loop = [line for line in RECIPES["No framework"].splitlines() if line.strip()]
    assert len(loop) <= MOST_LINES
