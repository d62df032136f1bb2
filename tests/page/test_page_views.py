"""What the views promise, in a browser, compared with what REST says."""

import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.page.browser import Browser, Page
from tests.services import Service, eventually, ok

VIEWS = {
    "home": "/",
    "ask": "/ask?q=What+does+Alice+drink%3F&as_of=2023-07-01T00:00:00Z",
    "memory": "/memory?id=coffee",
    "memories": "/memory",
    "constellation": "/constellation",
    "changes": "/changes",
}
READY = {
    "home": ".tries",
    "ask": ".results",
    "memory": ".belief",
    "memories": ".memories li",
    "constellation": ".stars canvas",
    "changes": ".operations li",
}
ASKED = {"query": "What does Alice drink?", "k": 10, "explain": True, "as_of": "2023-07-01T00:00:00Z"}


@pytest.fixture
def page(browser: Browser, demo: Service) -> Iterator[Page]:
    """A wide window. Whatever a test does, nothing goes wrong in the console, and the policy stops nothing."""
    with browser.page(demo.url, viewport={"width": 1280, "height": 860}) as opened:
        yield opened
        assert opened.trouble() == []


def state(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def colours(picture: Path) -> set[bytes]:
    """Colours of the pixels of a PNG of 8 bits a channel."""
    data, at, packed = picture.read_bytes(), 8, b""
    width = height = channels = 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[colour]
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    raw, line = zlib.decompress(packed), width * channels
    before, found = bytearray(line), set()
    for row in range(height):
        mode, now = raw[row * (line + 1)], bytearray(raw[row * (line + 1) + 1 : (row + 1) * (line + 1)])
        for x in range(line):
            left, up = now[x - channels] if x >= channels else 0, before[x]
            corner = before[x - channels] if x >= channels else 0
            near = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            now[x] = (now[x] + (0, left, up, (left + up) // 2, near)[mode]) % 256
        found |= {bytes(now[x : x + 3]) for x in range(0, line, channels)}
        before = now
    return found


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
@pytest.mark.parametrize("view", VIEWS)
def test_everybody_can_use_a_view(browser: Browser, demo: Service, view: str, theme: str, width: int) -> None:
    with browser.page(demo.url, colorScheme=theme, viewport={"width": width, "height": 844}) as page:
        assert page.go(VIEWS[view]) == 200
        page.see(READY[view])
        assert page.broken_rules() == []
        assert page.run("document.documentElement.scrollWidth - innerWidth") <= 0
        assert page.trouble() == []


def test_home_says_how_much_there_is(page: Page, rest: httpx.Client) -> None:
    page.go("/")
    page.see(".figures dd")
    about = ok(rest.get("/namespaces/default"))
    shown = [int(text.replace(",", "")) for text in page.texts(".figures dd")]
    assert shown == [
        about["current_memories"],
        about["entities"],
        about["edges"],
        about["pending_embeddings"] + about["pending_names"],
    ]
    kinds = {row["category"]: row["total"] for row in ok(rest.get("/categories"))["items"] if "/" not in row["category"]}
    page.see(".kinds li")
    assert dict(zip(page.texts(".kinds a"), map(int, page.texts(".kinds .n")), strict=True)) == kinds
    assert '"url": "' + page.address + '/mcp"' in page.see(".lines")


def test_a_newcomer_sees_what_alice_drank_and_why_and_comes_back(page: Page, rest: httpx.Client) -> None:
    page.go("/")
    page.click("text=What did Alice drink in 2023?")
    page.see(".results li")
    found = ok(rest.post("/recall", json=ASKED))["results"]
    assert "Alice drinks her coffee black" in page.texts(".found .content")
    assert page.texts(".found .content") == [each["content"] for each in found]
    page.click(".why summary")
    shown = {row.split("\t")[0].strip(): row.split("\t")[1:3] for row in page.texts(".result:first-child tbody tr")}
    arms = found[0]["explain"]["arms"]
    assert {name.replace("_", " "): [str(arm["rank"]), f"{arm['score']:.6g}"] for name, arm in arms.items()} == shown
    there = page.url
    page.do("reload")
    page.see(".results li")
    assert (page.url, state(page)["as_of"]) == (there, "2023-07-01T00:00:00Z")
    page.do("goBack")
    page.see(".tries")


def test_a_filter_is_a_click_and_stands_in_the_address(page: Page) -> None:
    page.go(VIEWS["ask"])
    page.click(".found .facts a >> text=user-preferences/drinks")
    page.until("document.querySelectorAll('.results > li').length === 1")
    assert state(page)["category"] == "user-preferences/drinks"
    page.click(".chip.on")
    page.until("document.querySelectorAll('.results > li').length > 1")


def test_the_crosshair_and_one_key_move_the_whole_page_in_time(page: Page, rest: httpx.Client) -> None:
    page.go("/memory?id=coffee")
    page.see(".belief")
    versions = ok(rest.get("/memories/coffee/history"))["items"]
    assert page.count(".belief.believed") == len(versions)
    box = page.do("boundingBox", at=".belief >> nth=0")
    page.do("mouse.click", box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.until("location.search.includes('as_of')")
    then = state(page)["as_of"]
    page.until("document.querySelector('h1').textContent === 'Alice drinks her coffee black'")
    assert ok(rest.get("/memories/coffee", params={"as_of": then}))["content"] == page.see("h1")
    page.press("ArrowRight", at=".cross")
    page.until(f"new URLSearchParams(location.search).get('as_of') > '{then}'")
    page.click("nav >> text=Memories")
    page.see(".memories li")
    assert "as_of" in state(page)
    page.press("n")
    page.until("!location.search.includes('as_of')")


def test_a_change_a_correction_and_their_undo(page: Page, rest: httpx.Client) -> None:
    made = ok(rest.post("/memories", json={"content": "Dana drinks black tea", "lineage": "dana-drink"}), 201)
    page.go(f"/memory?id={made['id']}")
    for text, why, button in [
        ("Dana drinks green tea", "It changed.", "Change"),
        ("Dana drinks oolong tea", "It was wrong.", "Correct"),
    ]:
        page.click("text=Edit…")
        page.fill("dialog textarea", text)
        page.click(f"dialog >> text={why}")
        page.click(f"dialog button.primary >> text={button}")
        page.until(f"document.querySelector('h1').textContent === '{text}'")
    history = ok(rest.get("/memories/dana-drink/history"))["items"]
    assert [(each["content"], each["valid_to"] == each["valid_from"]) for each in history] == [
        ("Dana drinks black tea", False), ("Dana drinks green tea", True), ("Dana drinks oolong tea", False)
    ]  # fmt: skip
    page.until("document.querySelectorAll('.belief.past').length > 0")
    assert page.texts(".difference del") == ["green"]
    assert page.texts(".difference ins") == ["oolong"]
    page.click(".operations li:first-child >> text=Undo")
    page.until("document.querySelector('h1').textContent === 'Dana drinks green tea'")
    assert ok(rest.get("/memories/dana-drink"))["content"] == "Dana drinks green tea"


def test_forgetting_is_taken_back_and_erasing_is_asked_for_twice(page: Page, rest: httpx.Client) -> None:
    made = ok(rest.post("/memories", json={"content": "A passing remark", "lineage": "remark"}), 201)
    page.go(f"/memory?id={made['id']}")
    page.click(".acts >> text=Forget")
    page.click(".acts >> text=Restore")
    page.see(".acts >> text=Forget")
    assert ok(rest.get(f"/memories/{made['id']}"))["status"] == "active"
    page.click("text=Erase…")
    assert page.do("isDisabled", at="dialog button.danger")
    page.click("dialog >> text=Yes, for good")
    page.click("dialog button.danger")
    page.see(".memories li")
    assert rest.get(f"/memories/{made['id']}").status_code == 404


def test_the_constellation_is_that_of_rest_and_nothing_in_it_moves(page: Page, rest: httpx.Client, tmp_path: Path) -> None:
    page.go("/constellation")
    page.see(".stars canvas")
    sky = ok(rest.get("/knowledge/constellation"))
    assert page.do("evaluate", "!!document.createElement('canvas').getContext('webgl2')")
    assert f"{len(sky['edges'])} living relations" in page.see(".bar-line p")
    page.click(".twin summary")
    rows = [row.split("\t") for row in page.texts(".twin tbody tr")]
    assert {row[0].removesuffix(" pinned").strip(): int(row[2]) for row in rows} == {
        each["name"]: each["mentions"] for each in sky["entities"]
    }
    places = page.attribute("data-positions", at=".stars")
    page.do("screenshot", {"path": str(tmp_path / "sky.png")}, at=".sky")
    drawn = colours(tmp_path / "sky.png")
    assert {bytes.fromhex("00805f"), bytes.fromhex("fbfbfa")} <= drawn  # an organisation that everything confirms, and the ground
    page.do("reload")
    page.see(".stars canvas")
    page.until(f"document.querySelector('.stars').dataset.positions === '{places}'")
    page.go(
        "/constellation?as_of=2027-07-20T00:00:00Z"
    )  # an address of another moment: all has faded by then, and stands where it stood
    page.until("/, 0 living relations/.test(document.querySelector('.bar-line p')?.textContent)")
    assert page.attribute("data-positions", at=".stars") == places


def test_an_edge_is_seen_to_fade(page: Page, rest: httpx.Client) -> None:
    page.go("/constellation")
    first = page.see(".fading a")
    page.click(".fading a")
    page.see(".about .relations")
    then = state(page)["as_of"]
    sky = ok(rest.get("/knowledge/constellation", params={"as_of": then}))
    page.until(f"document.querySelector('.bar-line p').textContent.includes('{len(sky['edges'])} living relation')")
    assert page.texts(".about .relations .faded"), first


def test_changes_come_by_themselves_and_are_undone(page: Page, rest: httpx.Client) -> None:
    page.go("/changes")
    page.see(".live >> text=live")
    page.see(".operations > li")
    before = page.count(".operations > li")
    made = ok(rest.post("/memories", json={"content": "Something new happened"}), 201)
    page.until(f"document.querySelectorAll('.operations > li').length === {before + 1}")
    page.click(".operations > li:first-child .disclose")
    assert "Something new happened" in page.see(".changed li")
    page.click(".operations > li:first-child >> text=Undo")
    page.see(".operations .undone")
    eventually(lambda: rest.get(f"/memories/{made['id']}").json()["status"] == "forgotten")


HOSTILE = [
    '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=2</script>',
    "javascript:globalThis.pwned=3 [link](javascript:globalThis.pwned=4)",
    "\x1b[31mred\x1b[0m \u202egnitirw fo redro eht\u202c \u2066x\u2069 \U000e0041",
    "שלום עולם — מימין לשמאל",
    "日本語の記憶 " * 60,
    "long" * 500,
]


def test_text_is_data_wherever_it_is_shown(page: Page, rest: httpx.Client) -> None:
    for at, text in enumerate(HOSTILE):
        name = f"{text[:60]}{at}"
        body: dict[str, Any] = {
            "content": text, "lineage": f"hostile-{at}", "tags": [text[:100]], "source": text[:100],
            "entities": [{"name": name, "type": "person"}],
            "edges": [{"source": name, "type": "knows", "target": "Alice"}],
        }  # fmt: skip
        ok(rest.post("/memories", json=body), 201)
    for path in (
        "/",
        "/memory",
        "/ask?q=img+onerror+javascript+red",
        "/constellation",
        "/changes",
        *(f"/memory?id=hostile-{at}" for at in range(3)),
    ):
        page.go(path)
        page.see("main h1")
        page.until("!document.querySelector('.loading')")
        assert page.run("globalThis.pwned ?? null") is None
        assert page.run("document.querySelectorAll('img, iframe, object, a[href^=javascript]').length") == 0
        assert page.run("document.documentElement.scrollWidth - innerWidth") <= 0
    shown = page.see("h1.content")
    assert "U+001B[31mred" in shown
    assert "U+202E" in shown
    assert "\u202e" not in page.run("document.body.innerText")


def test_an_empty_namespace_and_one_that_is_not_there_explain_themselves(page: Page, rest: httpx.Client) -> None:
    ok(rest.post("/namespaces", json={"name": "empty"}), 201)
    page.go("/?ns=empty")
    assert "Nothing is remembered here yet." in page.see(".empty")
    page.go("/constellation?ns=empty")
    assert "No entity stands out yet." in page.see(".empty")


def test_the_page_says_that_the_service_is_away_and_goes_on_when_it_is_back(browser: Browser, demo: Service) -> None:
    with browser.page(demo.url) as page:
        page.go("/memory")
        page.see(".memories li")
        browser.ask(own="offline", page=page.name, offline=True)
        page.click(".timebar .step >> nth=0")
        assert "does not answer" in page.see(".trouble")
        assert page.count(".memories li") > 0  # it keeps what it had
        browser.ask(own="offline", page=page.name, offline=False)
        page.gone(".trouble")


def test_keys_reach_everything(page: Page) -> None:
    page.go("/ask?q=Alice")
    page.see(".results li")
    seen = set()
    for _ in range(40):
        page.press("Tab")
        seen.add(
            page.run(
                "(() => { const at = document.activeElement; return `${at.tagName} ${at.type ?? ''} ${getComputedStyle(at).outlineStyle}`; })()"
            )
        )
    assert {"A  solid", "INPUT search solid", "INPUT range solid", "SUMMARY  solid"} <= seen
    page.press("Enter", at=".why summary >> nth=0")
    assert re.search(r"\d", page.see(".why table"))
