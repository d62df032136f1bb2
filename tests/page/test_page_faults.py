"""What the page says and keeps when the service is late, ends, begins again, or has more than a page holds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.cli.conftest import reserved_port
from tests.page.browser import Browser, Page, client_of, held, settled
from tests.services import Service, eventually, ok, serve

# Replies of a path wait until they are let go. `read` holds those that the page has been given, and has done with.
HELD = """{ const real = fetch; globalThis.held = []; globalThis.read = [];
globalThis.fetch = async (url, how) => {
  if (!String(url).endsWith("/recall")) return real(url, how);
  const reply = await real(url, { ...how, signal: undefined });
  const text = await reply.text();
  await new Promise((go) => held.push(go));
  const given = new Response(text, reply);
  const asked = JSON.parse(how.body).query;
  given.json = async () => (setTimeout(() => read.push(asked)), JSON.parse(text));
  return given;
}; }"""
BY_NOBODY = HELD.replace(
    "signal: undefined", "signal: undefined, credentials: held.length ? 'same-origin' : 'omit'"
)  # the first is
# So do those that say what an erasure would take with it.
PREVIEWS_HELD = """{ const real = fetch; globalThis.held = [];
globalThis.fetch = async (url, how) => {
  if (String(url).includes("dry_run")) await new Promise((go) => held.push(go));
  return real(url, how);
}; }"""
# A listing of as many memories as one likes, made of one.
ENDLESS = """{ const real = fetch; globalThis.pages = 0;
globalThis.fetch = async (url, how) => {
  const asked = new URL(url, location.href);
  if (!asked.pathname.endsWith("/memories") || asked.searchParams.get("all_versions")) return real(url, how);
  const [one] = (await (await real(asked.pathname + "?limit=1", how)).json()).items;
  const [from, most] = [Number(asked.searchParams.get("cursor") ?? 0), Number(asked.searchParams.get("limit"))];
  const to = Math.min(from + most, 3000);
  const items = Array.from({ length: to - from }, (_, n) => ({ ...one, id: `${one.id.slice(0, 24)}${String(from + n).padStart(12, "0")}`, content: `number ${from + n}` }));
  pages++;
  return new Response(JSON.stringify({ items, next_cursor: to < 3000 ? String(to) : null }));
}; }"""


# Replies wait in `held`, each until it is let go.
JOBS_HELD = """{ const real = fetch; globalThis.held = {};
globalThis.fetch = async (url, how) => {
  const reply = await real(url, how);
  const state = new URL(url, location.href).pathname.endsWith("/jobs") && new URL(url, location.href).searchParams.get("state");
  if (state) await new Promise((go) => (held[state] = go));
  return reply;
}; }"""
NOTHING_WAITS = "document.body.innerText.includes('None: nothing waits')"
BEGUN = "[...document.querySelectorAll('.operation > .by time')].map((each) => each.dateTime)"  # operations


@pytest.fixture
def page(browser: Browser, demo: Service) -> Iterator[Page]:
    with browser.page(demo.url, viewport={"width": 1280, "height": 860}) as opened:
        yield opened
        assert opened.trouble() == []


def found(rest: httpx.Client, query: str) -> list[str]:
    return [each["content"] for each in ok(rest.post("/recall", json={"query": query, "k": 10}))["results"]]


@pytest.mark.row("X7")
def test_a_late_reply_is_said_what_was_there_stays_and_an_older_one_never_comes_over_a_newer(
    page: Page, rest: httpx.Client
) -> None:
    page.do("clock.install")
    page.go("/ask?q=What+does+Alice+drink%3F")
    page.see(".results li")
    page.run(HELD)
    before = page.texts(".found .content")
    older, newer = "Who works on RockBot?", "Where does Bob live?"
    page.fill("input[name=q]", older)
    page.press("Enter", at="input[name=q]")
    page.until("held.length === 1")
    page.do("clock.fastForward", 6000)
    assert "The service takes its time" in page.see(".late:not(:empty)")
    assert page.texts(".found .content") == before
    page.fill("input[name=q]", newer)
    page.press("Enter", at="input[name=q]")
    page.until("held.length === 2")
    page.do("clock.fastForward", 6000)
    page.see(".late:not(:empty)")
    page.run("held[1]()")
    page.until(f"read.includes('{newer}')")
    page.gone(".late:not(:empty)")  # nobody waits for the older one any more
    assert page.texts(".found .content") == found(rest, newer)
    page.run("held[0]()")
    page.until(f"read.includes('{older}')")
    assert page.texts(".found .content") == found(rest, newer) != found(rest, older)


def test_nobody_says_yes_to_an_erasure_before_what_would_go_is_shown(page: Page, rest: httpx.Client) -> None:
    made = ok(rest.post("/memories", json={"content": "A remark in passing", "lineage": "passing"}), 201)
    ok(rest.post("/memories", json={"content": "Another remark in passing", "lineage": "passing"}), 201)
    page.go(f"/memory?id={made['id']}")
    page.run(PREVIEWS_HELD)
    page.click("text=Erase…")
    page.until("held.length === 1")
    sure = "dialog label:has-text('Yes, for good') input"
    assert page.do("isDisabled", at=sure)  # what comes would push it from under the pointer
    page.run("held[0]()")
    page.click(sure)
    assert page.count("dialog .goes") == 1
    page.click("dialog label:has-text('all 2 versions') input")  # a yes to something else
    assert not page.do("isChecked", at=sure)
    assert page.do("isDisabled", at="dialog button.danger")
    page.until("held.length === 2")
    assert page.do("isDisabled", at=sure)  # the preview that stands is that of the first question
    assert page.texts("dialog .goes > .quiet")[0].startswith("2 versions,")
    page.run("held[1]()")
    page.click(sure)
    assert page.texts("dialog .goes > .quiet")[0].startswith("1 version,")


@pytest.mark.row("X7")
def test_a_service_that_ends_and_starts_again_is_said_and_what_was_missed_comes(
    browser: Browser, demo: Service, rest: httpx.Client
) -> None:
    headers = {"X-Namespace": "restarted"}
    ok(rest.post("/namespaces", json={"name": "restarted"}), 201)
    with reserved_port() as port, browser.page(f"http://127.0.0.1:{port}") as page:
        with serve(demo.database, tcp=True, port=port, worker=False):
            page.go("/changes?ns=restarted")
            page.see(".live >> text=live")
            page.see(".operations > li")
        page.see(".live >> text=The feed broke off")
        page.do("selectOption", "rest", at=".changes select")
        assert "does not answer" in page.see(".trouble")
        assert page.count(".operations > li") == 1  # it keeps what it had
        ok(rest.post("/memories", json={"content": "Written while nobody could see it"}, headers=headers), 201)
        with serve(demo.database, tcp=True, port=port, worker=False):
            page.gone(".trouble")
            page.see(".live >> text=live")
            page.until("document.querySelectorAll('.operations > li').length === 2")


@contextmanager
def signed_in(browser: Browser, demo: Service, path: str) -> Iterator[tuple[Page, Callable[[], str]]]:
    """A page of a service that asks for keys, with one; and what takes the last key away and makes the next."""
    with client_of(demo.url) as client:
        last = ok(client.post("/keys", json={"role": "writer"}), 201)

        def renewed() -> str:
            nonlocal last
            old, last = last, ok(client.post("/keys", json={"agent_id": last["agent_id"]}), 201)
            assert client.delete(f"/keys/{old['id']}").status_code == 204
            return str(last["key"])

        with serve(demo.database, tcp=True, worker=False, require_keys=True) as keyed, browser.page(keyed.url) as page:
            page.do("clock.install")
            page.go(path)
            sign_in(page, last["key"])
            yield page, renewed


def sign_in(page: Page, key: str) -> None:
    page.fill("input[name=key]", key)
    page.press("Enter", at="input[name=key]")
    page.gone("input[name=key]")


def test_without_a_key_the_feed_is_not_asked_for_until_there_is_one_again(browser: Browser, demo: Service) -> None:
    def openings() -> int:
        return sum("/events" in url for url in browser.ask(own="asked", page=page.name))

    with signed_in(browser, demo, "/changes?ns=default") as (page, renewed):
        page.see(".live >> text=live")
        key = renewed()
        eventually(lambda: page.do("clock.fastForward", 4000) or "The feed has ended" in page.see(".live"))
        page.see(".veil .signin")
        before = openings()
        for _ in range(3):
            page.do("clock.fastForward", 4000)
        page.run("1")
        assert openings() == before
        sign_in(page, key)
        page.see(".live >> text=live")


def test_a_question_refused_after_a_new_sign_in_is_asked_again(browser: Browser, demo: Service) -> None:
    with signed_in(browser, demo, "/ask?ns=default") as (page, renewed):
        page.see("nav")
        page.run(BY_NOBODY)
        page.fill("input[name=q]", "Where does Bob live?")
        page.press("Enter", at="input[name=q]")
        page.until("held.length === 1")  # it is refused, and nobody here knows that yet
        key = renewed()
        page.run("dispatchEvent(new Event('loci:unauthorized'))")
        page.see(".veil .signin")
        sign_in(page, key)
        page.run("held[0]()")
        page.until("read.length === 1")
        page.do("clock.fastForward", 4000)
        page.until("held.length === 2")
        page.run("held[1]()")
        page.see(".results li")


def test_taking_away_gives_the_last_question_whichever_was_answered_last(page: Page, demo: Service) -> None:
    with client_of(demo.url, "questions") as client:
        ok(client.post("/namespaces", json={"name": "questions"}), 201)
        ok(client.post("/memories", json={"content": "Who asks, and when?"}), 201)
        settled(client)
    page.go("/memory?ns=questions")
    page.see(".memories li")
    page.run(JOBS_HELD)
    page.click("nav >> text=Home")
    page.until("Object.keys(held).length === 3")
    page.until(f"(['dead', 'running', 'waiting'].forEach((state) => held[state]()), {NOTHING_WAITS})")  # they may be asked twice
    page.click("text=Take away…")
    jobs = ".away section[data-path='/jobs']"
    page.click(f"{jobs} button >> text=curl")
    assert "state=dead" in page.see(f"{jobs} pre")


def test_a_list_that_was_made_longer_is_read_again_as_long_as_it_is_and_without_a_gap(page: Page, rest: httpx.Client) -> None:
    headers = {"X-Namespace": "longer"}
    ok(rest.post("/namespaces", json={"name": "longer"}), 201)

    def write(number: int) -> str:
        ok(rest.post("/memories", json={"content": f"remark {number}"}, headers=headers), 201)
        listed = ok(rest.get("/operations", params={"limit": 1, "via": "rest"}, headers=headers))["items"]
        return str(listed[0]["started_at"])

    written = [write(number) for number in range(34)]
    page.go("/changes?ns=longer&via=rest")
    page.see(".live >> text=live")
    page.click(".more")
    page.until("document.querySelectorAll('.operations > li').length === 35")  # the namespace was made, too
    written += [write(number) for number in range(34, 38)]
    page.until(f"{BEGUN}[0] === '{written[-1]}'")
    shown = page.run(BEGUN)
    assert shown == written[:-36:-1]


def test_further_pages_of_one_list_never_come_into_another(page: Page, rest: httpx.Client) -> None:
    ok(rest.post("/namespaces", json={"name": "listings"}), 201)
    for name in ("first", "second"):
        written = [{"content": f"{name} {n}", "category": name} for n in range(60)]
        ok(rest.post("/memories/batch", json={"items": written}, headers={"X-Namespace": "listings"}))
    page.go("/memory?ns=listings&category=first")
    page.until("document.querySelectorAll('.memories li').length === 50")
    page.run(held("category=first"))
    page.click(".more")
    page.until("held.length === 1")
    page.run("history.pushState(null, '', './memory?ns=listings&category=second'); dispatchEvent(new PopStateEvent('popstate'))")
    page.until("document.querySelector('.memories a')?.textContent.startsWith('second')")
    page.click(".more")
    page.until("document.querySelectorAll('.memories li').length === 60")
    page.run("letGo()")
    page.until("over === 1")
    assert all(text.startswith("second") for text in page.texts(".memories a"))
    assert page.count(".memories li") == 60


@pytest.mark.row("X7")
def test_three_thousand_memories_come_in_a_few_pages_each_once_and_in_order(page: Page) -> None:
    page.go("/tree")
    page.see(".branches li")
    page.run(ENDLESS)
    page.click("nav >> text=Memories")
    page.until("document.querySelectorAll('.memories li').length === 50")
    for _ in range(7):  # each page as long as all before it, up to a thousand
        before = page.run("pages")
        page.click(".more")
        page.until(f"pages === {before + 1} && !document.querySelector('.more[aria-busy=true]')")
    page.gone(".more")
    assert page.run("[...document.querySelectorAll('.memories a')].every((each, n) => each.textContent === `number ${n}`)")
    assert page.count(".memories a") == 3000
    assert page.run("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_moment_in_the_address_that_is_none_is_said_and_not_taken_for_now_in_silence(page: Page) -> None:
    page.go("/memory?as_of=gestern&known_at=2023-07-01T00:00:00Z")
    said = page.see(".trouble")
    assert "as_of is no moment" in said
    assert "gestern" in said
    assert page.count(".trouble") == 1  # the other one is read
    page.go("/memory?as_of=2023-07-01T00:00:00Z")
    page.see(".timebar.past")
    assert page.count(".trouble") == 0
