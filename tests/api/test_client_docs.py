"""Every example in docs/client.md runs, in order, against a service."""

import asyncio
import importlib.util
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.api.clients import async_client_of, client_of
from tests.catalogue import ROOT
from tests.databases import Server
from tests.services import serve

TEXT = (ROOT / "docs" / "client.md").read_text()
EXAMPLES = re.findall(r"```python([a-z ]*)\n(.*?)```", TEXT, re.DOTALL)
MANY, FEW = "range(2500)", "range(50)"  # lines that an example writes, on the page and here


def run(code: str, names: dict[str, Any]) -> None:
    """Run statements as they stand in the page."""
    exec(compile(code, "docs/client.md", "exec"), names)


async def run_async(code: str, names: dict[str, Any]) -> None:
    """Run statements that await."""
    run("async def example():\n" + textwrap.indent(code, "    "), names)
    await names["example"]()


@pytest.mark.row("X11")
def test_the_examples_of_the_page_run(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    database = server.clone("docs")
    with serve(database) as service:

        def of(make: Callable[..., Any]) -> Callable[..., Any]:
            return lambda _url, **options: make(service, **options)

        names: dict[str, Any] = {}
        monkeypatch.setattr("loci.LociClient", of(client_of))
        monkeypatch.setattr("loci.AsyncLociClient", of(async_client_of))
        for kind, code in EXAMPLES:
            if kind == " async":
                asyncio.run(run_async(code, dict(names)))
            elif kind != " langgraph" or importlib.util.find_spec("langgraph"):
                run(code.replace(MANY, FEW), names)
    server.drop(database)


def test_the_examples_of_where_users_go_run(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    database = server.clone("users")
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "namespaces.md").read_text(), re.DOTALL)
    with serve(database) as service:
        monkeypatch.setattr("loci.LociClient", lambda **options: client_of(service, **options))
        for code in examples:
            run(code, {})
    server.drop(database)


def test_the_page_has_examples_of_every_kind() -> None:
    assert {kind for kind, _ in EXAMPLES} == {"", " async", " langgraph"}
    assert len(EXAMPLES) >= 8
    assert TEXT.count(MANY) == 1
