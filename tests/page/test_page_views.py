"""What the views promise, in a browser, compared with what REST says."""

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.page.browser import SIZES, Browser, Page, held
from tests.services import Service, eventually, ok

VIEWS = {
    "home": "/",
    "ask": "/ask?q=What+does+Alice+drink%3F&as_of=2023-07-01T00:00:00Z",
    "sides": "/ask?q=What+does+Alice+drink%3F&b=side&b_as_of=2023-07-01T00:00:00Z&why=coffee",
    "memory": "/memory?id=coffee",
    "memories": "/memory",
    "constellation": "/constellation",
    "map": "/map?q=coffee",
    "tree": "/tree",
    "desk": "/desk?q=What+does+Alice+drink%3F&chars=600",
    "changes": "/changes",
}
READY = {
    "home": ".tries",
    "ask": ".results",
    "sides": ".verdict table",
    "memory": ".belief",
    "memories": ".memories li",
    "constellation": ".stars canvas",
    "map": ".picked li",
    "tree": ".branches li",
    "desk": ".desk .lines",
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


def stand_still(page: Page) -> None:
    """Stop the clock of a page, which was installed: it goes on by `clock.runFor` alone."""
    page.do("clock.pauseAt", page.run("Date.now()") + 60_000)


@pytest.mark.row("X7")
def test_everybody_can_use_a_view(browser: Browser, demo: Service) -> None:
    with browser.page(demo.url) as page:
        for view, path in VIEWS.items():
            page.turn(*SIZES[0])
            assert page.go(path) == 200
            for theme, width in SIZES:
                page.turn(theme, width)
                page.see(READY[view])
                assert (view, theme, page.broken_rules(), page.trouble()) == (view, theme, [], [])
                assert page.run("document.documentElement.scrollWidth - innerWidth") <= 0, (view, width)


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


@pytest.mark.quick
@pytest.mark.row("X7")
def test_a_newcomer_sees_what_alice_drank_and_why_and_comes_back(page: Page, rest: httpx.Client) -> None:
    page.go("/")
    page.click("text=What did Alice drink in 2023?")
    page.see(".results li")
    found = ok(rest.post("/recall", json=ASKED))["results"]
    assert "Alice drinks her coffee black" in page.texts(".found .content")
    assert page.texts(".found .content") == [each["content"] for each in found]
    assert page.texts(".found .relevance") == [f"{math.floor(100 * each['relevance'] + 0.5)} % relevant" for each in found]
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


@pytest.mark.row("X7")
def test_why_not_names_what_dropped_a_memory_and_what_would_bring_it(page: Page, rest: httpx.Client) -> None:
    page.go("/ask?q=What+does+Alice+drink%3F&k=5")
    page.fill("input[name=expected]", "coffee")
    page.click(".whynot .hits button >> text=given up coffee")
    assert "It is there." in page.see(".verdict")
    assert state(page)["why"]
    black = next(each for each in ok(rest.get("/memories/coffee/history"))["items"] if each["valid_to"])
    page.fill("input[name=expected]", black["id"])
    page.press("Enter", at="input[name=expected]")
    page.until("document.querySelector('.verdict.time') !== null")
    said = ok(rest.post("/recall/why-not", json={"memory": black["id"], "recall": {"query": ASKED["query"], "k": 5}}))
    assert said["because"][1:] in page.see(".verdict [role=status]")
    assert [row.split("\t")[0].strip() for row in page.texts(".verdict tr.failed")] == ["as of"]
    assert [row.split("\t")[3] for row in page.texts(".verdict table:last-child tbody tr")] == [
        arm["because"] for arm in said["arms"]
    ]
    page.click(".verdict >> text=Ask when it was true")
    page.until("document.querySelector('.verdict.nothing') !== null")
    assert state(page)["as_of"] == black["valid_from"]


@pytest.mark.row("X7")
def test_two_moments_stand_side_by_side_and_the_log_is_asked_again(page: Page, rest: httpx.Client) -> None:
    page.go("/ask?q=What+does+Alice+drink%3F")
    page.click("text=Side by side")
    page.see(".other")
    page.fill(".other input[type=date] >> nth=0", "2023-07-01")
    then = [each["content"] for each in ok(rest.post("/recall", json=ASKED))["results"]]
    page.until(f"document.querySelectorAll('.sides section:last-child li').length === {len(then)}")
    assert page.texts(".sides section:last-child a") == then
    assert page.count(".sides .moved") > 0
    logged = ok(rest.post("/recall", json={**ASKED, "k": 3, "log": True}))
    page.go("/ask")
    page.click(".log a")
    page.see(".sides li")
    assert page.texts(".sides section:last-child a") == [each["content"] for each in logged["results"]]
    assert "Nothing moved." in page.see(".ask [role=status]")
    page.go("/ask?q=What+does+Alice+drink%3F&arms=nonsense")  # as somebody wrote it: an arm that there is not is none
    page.see(".results li")


def test_a_filter_is_a_click_and_stands_in_the_address(page: Page) -> None:
    page.go(VIEWS["ask"])
    page.click(".found .facts a >> text=user-preferences/drinks")
    page.until("document.querySelectorAll('.results > li').length === 1")
    assert state(page)["category"] == "user-preferences/drinks"
    page.click(".chip.on")
    page.until("document.querySelectorAll('.results > li').length > 1")


@pytest.mark.row("X7")
def test_the_crosshair_and_one_key_move_the_whole_page_in_time(page: Page, rest: httpx.Client) -> None:
    page.go("/memory?id=coffee")
    page.see(".belief")
    page.see(".acts")  # above it
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


@pytest.mark.quick
@pytest.mark.row("X7")
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
    page.until("document.querySelectorAll('.operations li').length === 3")  # the newest, the correction, first
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


def test_nobody_says_yes_to_an_erasure_that_was_not_shown(page: Page, rest: httpx.Client) -> None:
    made = ok(rest.post("/memories", json={"content": "Another passing remark"}), 201)
    page.go(f"/memory?id={made['id']}")
    page.see(".acts")
    page.run(
        """{ const real = fetch; globalThis.fetch = async (url, ...rest) =>
            String(url).includes('dry_run') ? new Response('{}', { status: 500 }) : real(url, ...rest); }"""
    )
    page.click("text=Erase…")
    page.see("dialog .trouble")
    assert page.do("isDisabled", at="dialog label:has-text('Yes, for good') input")


@pytest.mark.row("X7")
def test_the_constellation_is_that_of_rest_and_nothing_in_it_moves(page: Page, rest: httpx.Client) -> None:
    page.go("/constellation")
    page.see(".stars canvas")
    sky = ok(rest.get("/knowledge/constellation"))
    faded = (datetime.now(UTC) + timedelta(days=300)).strftime("%Y-%m-%dT00:00:00Z")  # by then all has
    assert page.do("evaluate", "!!document.createElement('canvas').getContext('webgl2')")
    assert f"{len(sky['edges'])} living relations" in page.see(".bar-line p")
    page.click(".twin summary")
    rows = [row.split("\t") for row in page.texts(".twin tbody tr")]
    shown = {row[0].removesuffix(" pinned").strip(): int(row[2]) for row in rows}
    told = {each["name"]: each["mentions"] for each in sky["entities"]}
    assert len(shown) == len(told)
    plain = [name for name in told if PLAIN.fullmatch(name)]  # others, which another test leaves here, are cut and escaped
    assert len(plain) > 20
    assert [shown[name] for name in plain] == [told[name] for name in plain]
    assert {(each["x"], each["y"]) for each in sky["entities"]} == {
        (each["x"], each["y"]) for each in ok(rest.get("/knowledge/constellation", params={"as_of": faded}))["entities"]
    }
    places = page.attribute("data-positions", at=".stars")
    assert {"00805f", "fbfbfa"} <= page.colours(".sky")  # an organisation that everything confirms, and the ground
    page.do("reload")
    page.see(".stars canvas")
    page.until(f"document.querySelector('.stars').dataset.positions === '{places}'")
    page.go(f"/constellation?as_of={faded}")  # an address of another moment: all stands where it stood
    page.until("/, 0 living relations/.test(document.querySelector('.bar-line p')?.textContent)")
    assert page.attribute("data-positions", at=".stars") == places


@pytest.mark.row("X7")
def test_time_is_played_without_asking_the_service_and_what_is_shown_is_what_it_would_say(page: Page, rest: httpx.Client) -> None:
    page.do("setViewportSize", {"width": 800, "height": 400})  # of which each moment is drawn
    page.do("clock.install")
    page.go("/constellation")
    page.see(".stars canvas")
    page.click(".twin summary")
    page.see(".fading li")
    page.see(".merges")

    def asked() -> list[str]:
        return [each for each in page.browser.ask(own="asked", page=page.name) if "/api/" in each]

    def played(beyond: str) -> bool:
        page.do("clock.runFor", 480)  # three moments
        return state(page).get("as_of", "") > beyond

    before = asked()
    stand_still(page)
    page.click("text=▶ Play")
    frames = []
    for at in ("2024-06", "2026-12"):
        eventually(lambda at=at: played(at))
        frames.append(
            page.run(
                "[location.search, [...document.querySelectorAll('.twin tbody tr')].map((row) => [...row.cells].map((each) => each.innerText))]"
            )
        )
    assert [each for each in asked()[len(before) :] if "as_of" in each or "history" in each] == []
    page.click("text=■ Stop")
    then = state(page)["as_of"]
    page.do("clock.resume")
    page.until("!document.querySelector('.loading') && document.querySelector('.bar-line [role=status]').ariaBusy !== 'true'")
    eventually(lambda: any("as_of" in each for each in asked()[len(before) :]))
    (question,) = [each for each in asked()[len(before) :] if "as_of" in each]  # of where it stopped
    assert parse_qs(urlsplit(question).query)["as_of"] == [then]
    for address, rows in frames:
        sky = ok(rest.get("/knowledge/constellation", params={"as_of": parse_qs(address[1:])["as_of"][0]}))
        names = {each["id"]: each["name"] for each in sky["entities"]}
        told: dict[str, list[float]] = {name: [] for name in names.values()}
        for edge in sky["edges"]:
            for end in (edge["source_id"], edge["target_id"]):
                told[names[end]].append(edge["confidence"])
        shown = {row[0].removesuffix(" pinned").strip(): row[3:6] for row in rows}
        assert {name for name, row in shown.items() if row[2] != "not yet known"} >= {
            name for name in told if PLAIN.fullmatch(name)
        }
        for name, worth in told.items():
            if PLAIN.fullmatch(name):
                assert shown[name][0] == str(len(worth)), (name, address)
                strongest = pytest.approx(100 * max(worth), abs=0.51) if worth else 0  # whole; REST rounds to millionths
                assert float(shown[name][1].removesuffix(" %").replace("–", "0")) == strongest, (name, address)
    assert frames[0] != frames[1]


@pytest.mark.row("X7")
def test_the_constellation_survives_a_lost_context(page: Page) -> None:
    page.go("/constellation")
    page.see(".stars canvas")
    page.run(
        """document.querySelectorAll('.stars canvas').forEach((each) => {
        each.id = 'lost'; each.getContext('webgl2')?.getExtension('WEBGL_lose_context').loseContext(); })"""
    )
    page.gone("#lost")
    page.see(".stars canvas")
    assert "00805f" in page.colours(".sky")  # the organisation is drawn


@pytest.mark.parametrize("path", ["/constellation", "/map"])
def test_without_webgl_a_sentence_stands_in_place_of_a_picture_and_all_else_works(page: Page, path: str) -> None:
    page.do("addInitScript", {"content": "HTMLCanvasElement.prototype.getContext = () => null"})
    page.go(path)
    assert "This browser draws no WebGL" in page.see(".field .trouble, .sky .trouble")
    if path == "/map":
        page.do("selectOption", "layer", at=".bar-line select")
        page.see(".legend[aria-label='Colours: layer'] li")
    else:
        page.click(".twin summary")
        page.see(".twin tbody tr")


@pytest.mark.row("X7")
def test_ways_between_two_entities_are_those_of_the_graph(page: Page, rest: httpx.Client) -> None:
    ids = {each["name"]: each["id"] for each in ok(rest.get("/knowledge/constellation"))["entities"]}
    page.go(f"/constellation?focus={ids['Alice']}")
    page.fill("input[aria-label='Ways to…']", "RabbitMQ")
    page.press("Enter", at="input[aria-label='Ways to…']")
    page.see(".ways li")
    assert state(page)["to"] == ids["RabbitMQ"]
    asked = {"start": ["Alice"], "max_hops": 6, "paths": True, "scores": True}
    (shortest,) = [each for each in ok(rest.post("/graph/traverse", json=asked))["edges"] if each["target"] == "RabbitMQ"]
    ways = [" ".join(text.split()) for text in page.texts(".ways li")]
    steps, _, score = ways[0].removesuffix(" %").rpartition(" ")
    assert steps == "Alice works on → RockBot uses → RabbitMQ 2 steps,"
    assert int(score) == pytest.approx(100 * shortest["score"], abs=0.51)  # whole, of edges that fade meanwhile
    assert ways[1].startswith("Alice knows → Bob works on → RockBot uses → RabbitMQ 3 steps")
    assert len(ways) == 2


@pytest.mark.row("X7")
def test_two_entities_that_may_be_one_are_merged_undone_and_split(page: Page, rest: httpx.Client) -> None:
    headers = {"X-Namespace": "twins"}
    ok(rest.post("/namespaces", json={"name": "twins"}), 201)
    for name in ("Node.js", "nodejs"):
        ok(rest.post("/edges", json={"source": "Ann", "type": "uses", "target": name}, headers=headers), 201)

    def names() -> set[str]:
        return {each["name"] for each in ok(rest.get("/entities", headers=headers))["items"]}

    page.go("/constellation?ns=twins")
    page.click(".merges .proposal button")
    page.see(".merges li:not(.proposal) button")
    assert len(names()) == 2
    page.until("document.querySelectorAll('.twin tbody tr').length === 2")
    page.click(".merges li:not(.proposal) button")
    page.see(".merges li.undone")  # and is not proposed again: somebody has said that they are two
    assert names() == {"Ann", "Node.js", "nodejs"}
    page.fill("input[aria-label='Find an entity']", "Ann")
    page.press("Enter", at="input[aria-label='Find an entity']")
    page.click("text=Split…")
    page.fill("dialog input >> nth=0", "Other Ann")
    page.click("dialog label >> text=Ann uses nodejs")
    page.click("dialog button.primary")
    page.until("document.querySelectorAll('.twin tbody tr').length === 4")
    edges = ok(rest.get("/edges", headers=headers))["items"]
    assert {(each["source"], each["target"]) for each in edges} == {("Ann", "Node.js"), ("Other Ann", "nodejs")}


@pytest.mark.row("X7")
def test_an_edge_is_seen_to_fade_within_ninety_days(page: Page, rest: httpx.Client) -> None:
    page.do("clock.install")
    page.go("/")
    page.see(".tries")
    stand_still(page)
    page.click("text=Watch relations fade")  # which is played then

    def faded() -> bool:
        page.do("clock.runFor", 160)
        return page.count(".fading li.gone") == 1

    eventually(faded)
    (day,) = page.texts(".fading li.gone > .quiet")
    assert datetime.strptime(day, "faded %d %b %Y").replace(tzinfo=UTC) <= datetime.fromisoformat(state(page)["as_of"])
    page.do("clock.resume")
    page.press("n")
    page.until("!location.search.includes('as_of')")
    first = page.see(".fading li:not(.gone) a")
    assert page.see(".constellation aside .section-head span").startswith("2 in ninety days")
    page.click(".fading li:not(.gone) a")
    page.see(".about .relations")
    then = state(page)["as_of"]
    assert timedelta(0) < datetime.fromisoformat(then) - datetime.now(UTC) < timedelta(days=90)
    sky = ok(rest.get("/knowledge/constellation", params={"as_of": then}))
    page.until(f"document.querySelector('.bar-line p').textContent.includes('{len(sky['edges'])} living relation')")
    assert page.texts(".about .relations .faded"), first


@pytest.mark.row("X7")
def test_changes_come_by_themselves_also_those_from_before_the_feed_was_open_and_are_undone(page: Page, rest: httpx.Client) -> None:
    headers = {"X-Namespace": "happening"}
    ok(rest.post("/namespaces", json={"name": "happening"}), 201)
    page.do("addInitScript", {"content": held("/events")})
    page.go("/changes?ns=happening")
    page.see(".operations > li")
    page.until("held.length === 1")
    before = page.count(".operations > li")
    ok(rest.post("/memories", json={"content": "Something happened early"}, headers=headers), 201)
    assert "opening" in page.see(".live")
    page.run("letGo()")
    page.until(f"document.querySelectorAll('.operations > li').length === {before + 1}")
    page.see(".live >> text=/^live$/")
    made = ok(rest.post("/memories", json={"content": "Something new happened"}, headers=headers), 201)
    page.until(f"document.querySelectorAll('.operations > li').length === {before + 2}")
    page.click(".operations > li:first-child .disclose")
    assert "Something new happened" in page.see(".changed li")
    page.click(".operations > li:first-child >> text=Undo")
    page.see(".operations .undone")
    eventually(lambda: rest.get(f"/memories/{made['id']}", headers=headers).json()["status"] == "forgotten")


PLAIN = re.compile(r"[A-Za-z0-9 .'-]{1,40}")
HOSTILE = [
    '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=2</script>',
    "javascript:globalThis.pwned=3 [link](javascript:globalThis.pwned=4)",
    "\x1b[31mred\x1b[0m \u202egnitirw fo redro eht\u202c \u2066x\u2069 \U000e0041",
    "שלום עולם — מימין לשמאל",
    "日本語の記憶 " * 60,
    "long" * 500,
]


@pytest.mark.quick
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


@pytest.mark.row("X7")
def test_a_map_by_umap_is_asked_for_shown_as_it_comes_and_cancelled(
    browser: Browser, demo: Service, rest: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = len(ok(rest.get("/memories", params={"limit": 1000}))["items"])
    with browser.page(demo.url) as page:
        page.go("/map")
        page.see(".cloud canvas")
        page.click("text=UMAP")
        assert "No map by UMAP was made." in page.see(".map .empty")
        monkeypatch.setattr("service.models.umap_job.REPORT_SECONDS", 0.0)
        monkeypatch.setattr("service.models.umap_layout.EPOCHS", 1_000_000)
        page.click("text=Lay it out")
        page.until("/Laying out: .* of 1,000,000/.test(document.querySelector('.layout')?.textContent)")
        page.click(".layout >> text=Cancel")
        page.until("document.querySelector('.layout')?.textContent.includes('The last job was cancelled.')")
        monkeypatch.undo()
        page.run(held("/jobs"))
        page.click("text=Lay it out")
        page.until("held.length > 0")
        eventually(lambda: ok(rest.get("/jobs", params={"kind": "project"}))["items"][0]["state"] == "succeeded")
        page.run("letGo()")  # the page hears of the job when it has ended
        page.see(".cloud canvas")
        assert page.see(".bar-line p").startswith(f"{memories} memories")
        page.until("document.body.textContent.includes('UMAP of the vectors of')")
        page.click("text=PCA")
        page.until("document.body.textContent.includes('Principal components of the vectors of')")
        assert [each for each in page.trouble() if "404" not in each] == []  # the browser itself notes that there was none


@pytest.mark.row("X7")
def test_the_map_has_every_memory_and_a_lasso_makes_a_list(page: Page, rest: httpx.Client) -> None:
    page.go("/map?as_of=2023-07-01T00:00:00Z")
    page.see(".cloud canvas")
    said = page.see(".bar-line p")
    then = ok(rest.get("/memories", params={"as_of": "2023-07-01T00:00:00Z", "limit": 1000}))["items"]
    assert said.startswith(f"{len(then)} memories")
    assert len(page.colours(".cloud")) > 8
    page.click("text=Lasso")
    box = page.do("boundingBox", at=".cloud canvas")
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.02)]
    spots = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.do("mouse.move", *spots[0])
    page.do("mouse.down")
    for x, y in spots[1:]:
        page.do("mouse.move", x, y)
    page.do("mouse.up")
    page.see(".picked li")
    assert set(state(page)["chosen"].split(",")) == {each["id"] for each in then}
    there = page.texts(".picked a")
    page.do("reload")
    page.see(".picked li")
    assert page.texts(".picked a") == there
    page.click("text=3-D")
    page.until("location.search.includes('dims=3')")
    page.see(".picked li")
    page.run(
        """{ const real = fetch; globalThis.held = [];
        globalThis.fetch = async (url, ...rest) => (String(url).includes('/memories/') && await new Promise((go) => held.push(go)), real(url, ...rest)); }"""
    )
    page.fill("input[name=light]", "coffee")
    page.press("Enter", at="input[name=light]")
    page.until("document.querySelector('.map aside h2')?.textContent === 'What lights up'")
    page.until("held.length > 0")
    lit = ok(rest.post("/recall", json={"query": "coffee", "k": 20, "as_of": "2023-07-01T00:00:00Z"}))["results"]
    first = [each["content"] for each in lit if each["content"] in there]
    assert page.texts(".picked a") == first[: page.count(".picked a")]  # never what was chosen before under the new heading
    page.run("held.splice(0).forEach((go) => go())")
    found = ok(rest.post("/recall", json={"query": "coffee", "k": 20, "as_of": "2023-07-01T00:00:00Z"}))["results"]
    page.until(f"document.querySelectorAll('.picked a').length === {min(12, len(found))}")
    assert page.texts(".picked a") == [each["content"] for each in found][:12]


@pytest.mark.row("X7")
def test_a_memory_is_moved_by_keys_and_by_drag_and_a_refused_move_is_explained(
    browser: Browser, demo: Service, rest: httpx.Client
) -> None:
    headers = {"X-Namespace": "grove"}
    ok(rest.post("/namespaces", json={"name": "grove"}), 201)
    trees = {name: ok(rest.post("/memories", json={"content": name, "layer": 1}, headers=headers), 201)["id"] for name in "ABC"}
    ok(rest.patch(f"/memories/{trees['B']}", json={"parent_id": trees["A"]}, headers=headers))

    def parent(name: str) -> str | None:
        found: str | None = ok(rest.get(f"/memories/{trees[name]}", headers=headers))["parent_id"]
        return found

    with browser.page(demo.url) as page:
        page.go("/tree?ns=grove&alone=1")
        page.see(".branches li")
        assert page.count(".branches li") == 3
        assert "concept · 1" in page.see(f".branches [data-id='{trees['A']}']")
        page.click(f".branches [data-id='{trees['C']}'] .n")
        page.press("m", at=f".branches [data-id='{trees['C']}']")
        page.press("ArrowUp", at=f".branches [data-id='{trees['C']}']")
        page.press("p", at=f".branches [data-id='{trees['B']}']")
        eventually(lambda: parent("C") == trees["B"])
        page.until("[...document.querySelectorAll('.branches li')].map((each) => each.ariaLevel).join() === '1,2,3'")
        page.do("dragAndDrop", f"[data-id='{trees['A']}'] .n", f"[data-id='{trees['C']}'] .n")  # with the mouse, as people do
        assert "Not moved." in page.see(".said.failed")
        assert parent("A") is None
        page.do("dragAndDrop", f"[data-id='{trees['C']}'] .n", f"[data-id='{trees['A']}'] .n")
        eventually(lambda: parent("C") == trees["A"])
        assert [each for each in page.trouble() if "422" not in each] == []  # the browser itself notes each refusal


LIFE = re.compile(r"expires in \S+")  # which is less a minute later


@pytest.mark.row("X7")
def test_the_desk_shows_the_context_of_now_and_what_is_held_back_and_stores_nothing(page: Page, rest: httpx.Client) -> None:
    asked = {"message": "Where does Alice live?", "session_id": "demo", "max_chars": 800}
    page.go("/desk?session=demo&q=Where+does+Alice+live%3F&chars=800")
    for _ in range(2):  # before anything was shown to the session, and after
        page.until("!!document.querySelector('.desk pre.lines')")
        found = ok(rest.post("/context", json={**asked, "preview": True}))
        assert LIFE.sub("", page.see(".desk pre.lines")).split() == LIFE.sub("", found["text"]).split()
        shown = {row.split("\t")[0]: row.split("\t")[1] for row in page.texts(".sections tbody tr")}
        assert (shown["memories"], shown["turns"]) == (str(len(found["memories"])), str(len(found["turns"])))
        assert ("held back: shown before" in page.see(".desk [role=status]")) == (found["held_back"] > 0)
        ok(rest.post("/context", json=asked))
        page.do("reload")
    entries = ok(rest.get("/working-memory"))["items"]
    page.see(".entries li")
    assert page.texts(".entries .disclose") == [each["key"] for each in entries]
    page.click(".entries .disclose")
    page.see(".entries pre")
    page.see(".turns p")
    turns = ok(rest.get("/conversations/demo/turns"))["items"]
    assert page.texts(".turns p") == [each["content"] for each in turns]
