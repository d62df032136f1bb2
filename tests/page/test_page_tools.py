"""What works in every view: going somewhere by a few letters, and taking away what is shown."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from db.pool import OPERATOR_AGENT
from tests.page.browser import Browser, Page
from tests.services import Service, ok

KEEP = "{ globalThis.saved = []; const real = URL.createObjectURL; URL.createObjectURL = (blob) => (saved.push(blob), real.call(URL, blob)); }"
QUOTED = "/memory?category=user-preferences%2Fdrinks"


@pytest.fixture
def page(browser: Browser, demo: Service) -> Iterator[Page]:
    """A wide window; nothing goes wrong in its console."""
    with browser.page(demo.url, viewport={"width": 1280, "height": 860}) as opened:
        yield opened
        assert opened.trouble() == []


def taken(page: Page, path: str, way: str) -> str:
    """The question in the words of curl, Python or SQL."""
    page.click(f".away section[data-path='{path}'] button >> text={way}")
    lines = page.see(f".away section[data-path='{path}'] pre")
    page.click(f".away section[data-path='{path}'] button >> text={way}")
    return lines


def saved(page: Page, at: str) -> str:
    """What a click gives to whoever looks, as a file."""
    before = page.run("saved.length")
    page.click(at)
    page.until(f"saved.length > {before}")
    text: str = page.run("saved.at(-1).text()")
    return text


def told(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env={**os.environ}).stdout


def rows(demo: Service, statement: str) -> list[dict[str, Any]]:
    options = f"-c loci.agent={OPERATOR_AGENT}"
    with psycopg.connect(demo.database.app_url, options=options, row_factory=psycopg.rows.dict_row) as connection:
        return connection.execute(statement.encode()).fetchall()


@pytest.mark.row("X7")
def test_a_question_of_the_page_is_repeated_by_curl_python_and_sql(page: Page, demo: Service, rest: httpx.Client) -> None:
    page.go("/ask?q=What%27s+Alice%27s+%22drink%22%3F+%5C+%E6%97%A5%F0%9F%98%80&as_of=2023-07-01T00:00:00Z")
    page.see(".results li")
    shown = page.texts(".found .content")
    page.click("text=Take away…")
    for command in (["sh", "-c", taken(page, "/recall", "curl")], [sys.executable, "-c", taken(page, "/recall", "Python")]):
        text = told(command)
        found = json.loads(text) if command[0] == "sh" else eval(text, {})
        assert [each["content"] for each in found["results"]] == shown
    page.go("/ask?q=Alice&as_of=2023-07-01T00:00:00Z&category=people/alice")
    page.see(".results li")
    page.click("text=Take away…")
    found = rows(demo, taken(page, "/recall", "SQL"))  # what its words find
    assert 0 < len(found) <= 10
    assert {each["content"] for each in found} <= {
        each["content"] for each in ok(rest.get("/memories", params={"category": "people/alice", "all_versions": True}))["items"]
    }
    page.press("Escape")
    for address, ready, path in (
        (QUOTED, ".memories li", "/memories"),
        ("/constellation?as_of=2026-12-24T00:00:00Z", ".stars canvas", "/knowledge/constellation"),
        ("/memory?id=coffee", ".belief", "/memories/{id}/history"),
    ):
        page.go(address)
        page.see(ready)
        page.run(KEEP)
        page.click("text=Take away…")
        data = json.loads(saved(page, f".away section[data-path='{path}'] button >> text=JSON"))
        stated = rows(demo, taken(page, path, "SQL"))
        if path == "/knowledge/constellation":
            assert [each["name"] for each in stated[0]["entities"]] == [each["name"] for each in data["entities"]]
            assert len(data["entities"]) > 0
        else:
            assert [str(each["id"]) for each in stated] == [each["id"] for each in data["items"]] != []
            table = csv.DictReader(io.StringIO(saved(page, f".away section[data-path='{path}'] button >> text=CSV")))
            assert [row["id"] for row in table] == [each["id"] for each in data["items"]]
        page.press("Escape")


@pytest.mark.row("X7")
def test_a_view_is_taken_away_as_a_picture(page: Page) -> None:
    for address, ready in (("/memory?id=coffee", ".belief"), ("/map", ".cloud canvas"), ("/constellation", ".stars canvas")):
        page.go(address)
        page.see(ready)
        page.run(KEEP)
        page.click("text=Take away…")
        picture = saved(page, ".away >> text=SVG")
        assert picture.startswith("<svg xmlns=")
        title = page.run("document.querySelector('h1').textContent")
        assert title in picture
        if ready != ".belief":
            assert "data:image/png;base64," in picture
            assert saved(page, ".away >> text=PNG")[1:4] == "PNG"
    assert page.broken_rules() == []


@pytest.mark.row("X7")
def test_a_few_letters_lead_to_a_view_an_entity_or_a_memory(page: Page, rest: httpx.Client) -> None:
    ids = {each["name"]: each["id"] for each in ok(rest.get("/knowledge/constellation"))["entities"]}
    memory = ok(rest.get("/memory/search", params={"q": "Haskell", "limit": 1}))["results"][0]["id"]
    page.go("/")
    for letters, seen, url in (
        ("Tre", "Tree", "/tree"),
        ("RockB", "RockBot", f"/constellation?focus={ids['RockBot']}"),
        ("Haskell", "memory", f"/memory?id={memory}"),
    ):
        page.see(".tools button")
        page.press("Control+k")
        page.fill(".palette input", letters)
        page.see(f".palette li >> text={seen}")
        at = next(n for n, text in enumerate(page.texts(".palette li")) if seen in text and not text.startswith("Ask"))
        if letters == "RockB":
            assert page.broken_rules() == []
        for _ in range(at):
            page.press("ArrowDown", at=".palette input")
        page.press("Enter", at=".palette input")
        page.gone(".palette")
        assert page.url == url
    page.press("Control+k")
    page.see(".palette input")
    page.press("Escape")
    page.gone(".palette")
