"""Changes, what a memory and Home say beside them, and faults: in a browser, compared with what REST says."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.databases import Server
from tests.page.browser import SIZES, Browser, Page, client_of, held, settled
from tests.page.seeds import BUSY, LOW_SALT, REASON, VEGAN, seed_busy, unsettle, young
from tests.services import Service, ok, serve

PARTS = {
    "jobs": ".jobs > li",
    "dreams": ".passes > li",
    "supersessions": ".pairs > li",
    "unsettled": ".pairs > li",
    "vectors": "table",
    "models": "table.calls",
}


@pytest.fixture(scope="module")
def busy(server: Server, built: None) -> Iterator[tuple[Service, dict[str, Any]]]:
    """A service with a namespace in which much has happened, and the ids of that."""
    database = server.clone("busy")
    with serve(database, tcp=True, embedding={"provider": "static"}) as running:
        yield running, seed_busy(running)
    server.drop(database)


@pytest.fixture
def ids(busy: tuple[Service, dict[str, Any]]) -> dict[str, Any]:
    return busy[1]


@pytest.fixture
def rest(busy: tuple[Service, dict[str, Any]]) -> Iterator[httpx.Client]:
    with client_of(busy[0].url, BUSY) as client:
        yield settled(client)


@pytest.fixture
def page(browser: Browser, busy: tuple[Service, dict[str, Any]]) -> Iterator[Page]:
    with browser.page(busy[0].url, viewport={"width": 1280, "height": 860}) as opened:
        yield opened
        assert opened.trouble() == []


def items(rest: httpx.Client, path: str, **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(rest.get(path, params=params))["items"]
    return found


def test_everybody_can_use_each_part_of_changes(browser: Browser, busy: tuple[Service, dict[str, Any]]) -> None:
    service, ids = busy
    with browser.page(service.url) as page:
        for part, ready in PARTS.items():
            page.turn(*SIZES[0])
            page.go(f"/changes?ns={BUSY}&part={part}{'&job=' + ids['job'] if part == 'jobs' else ''}")
            page.see(ready)
            if part == "dreams":
                page.click(".passes .disclose >> nth=1")
                page.see(".steps li")
            page.until("!document.querySelector('.loading')")
            for theme, width in SIZES:
                page.turn(theme, width)
                assert (part, theme, page.broken_rules()) == (part, theme, [])
                assert page.run("document.documentElement.scrollWidth - innerWidth") <= 0, (part, width)
        assert page.trouble() == []


@pytest.mark.row("X7")
def test_passes_say_what_was_proposed_refused_and_why_and_are_undone(page: Page, rest: httpx.Client, ids: dict[str, Any]) -> None:
    page.go(f"/changes?ns={BUSY}")
    page.click(".tab >> text=Dreams")
    page.see(".passes > li")
    reports = items(rest, "/passes")
    assert page.texts(".passes .what") == [each["pass"] for each in reports]
    for shown, report in zip(page.texts(".passes .sum"), reports, strict=True):
        said = f"{report['seen']} seen → {report['proposed']} proposed → {len(report['refused'])} refused, {report['applied']}"
        assert shown.startswith(said)
    page.click(".passes .disclose >> text=memories")
    assert f"pass={reports[1]['id']}" in page.url
    assert REASON[1:] in page.see(".steps li")
    page.see(".steps .under a >> text=Ada works at Acme")  # its text comes behind its id
    page.see(".passes .operations li")
    page.click(".passes .operations .disclose")
    page.click("text=What would undoing do?")
    page.see(".foreseen .things li")
    foreseen = ok(rest.post(f"/operations/{ids['operation']}/undo", json={"dry_run": True}))
    assert page.count(".foreseen .things li") == len(foreseen["changes"])
    assert foreseen["changes"][0]["content"] in page.see(".foreseen .things li")
    assert ok(rest.get(f"/operations/{ids['operation']}"))["undone_by"] is None


@pytest.mark.row("X7")
def test_a_pair_is_accepted_or_dismissed_and_that_is_undone(page: Page, busy: tuple[Service, dict[str, Any]]) -> None:
    with young(busy[0], "pairs") as rest:
        (pair,) = items(rest, "/supersessions", status="proposed")
        page.go("/changes?ns=pairs&part=supersessions")
        assert pair["older"] in page.see(".older")
        assert pair["newer"] in page.see(".newer")
        assert (page.texts(".pairs del"), page.texts(".pairs ins")) == (["Bergen"], ["Oslo"])
        page.click("text=Accept")
        page.see(".changes .empty")
        assert items(rest, "/supersessions")[0]["status"] == "applied"
        page.do("selectOption", "applied", at=".changes select")
        page.click(".pairs >> text=Undo")
        page.see(".changes .empty")
        assert items(rest, "/supersessions")[0]["status"] == "undone"
        page.do("goBack")
        page.until("!location.search.includes('status')")


@pytest.mark.parametrize(("verdict", "left"), [("Replaces", {LOW_SALT}), ("Both true", {VEGAN, LOW_SALT})])
def test_an_open_pair_is_settled_and_the_undo_opens_it_again(
    page: Page, busy: tuple[Service, dict[str, Any]], verdict: str, left: set[str]
) -> None:
    namespace = verdict.lower().replace(" ", "-")
    with young(busy[0], namespace) as rest:
        unsettle(rest)
        page.go(f"/changes?ns={namespace}&part=unsettled")
        assert (page.see(".older a"), page.see(".newer a")) == (VEGAN, LOW_SALT)
        assert page.see(".newer .quiet").endswith("about Nadia · said by Ann")
        page.click(f".pairs button >> text={verdict}")
        page.see(".changes .empty")
        assert items(rest, "/memories/unsettled") == []
        assert {each["content"] for each in items(rest, "/memories")} & {VEGAN, LOW_SALT} == left
        page.click(".tab >> text=Operations")
        page.click(".operations > li:first-child >> text=/^Undo$/")
        page.see(".operations .undone")
        page.click(".tab >> text=Not settled")
        assert page.see(".newer a") == LOW_SALT


@pytest.mark.parametrize(("verdict", "left"), [("Replaces", {LOW_SALT}), ("Both true", {VEGAN, LOW_SALT})])
def test_home_shows_an_open_pair_with_two_buttons_and_no_longer_once_it_is_settled(
    page: Page, busy: tuple[Service, dict[str, Any]], verdict: str, left: set[str]
) -> None:
    namespace = f"home-{verdict.lower().replace(' ', '-')}"
    with young(busy[0], namespace) as rest:
        unsettle(rest)
        page.go(f"/?ns={namespace}")
        assert (page.see(".home .older a"), page.see(".home .newer a")) == (VEGAN, LOW_SALT)
        page.until("document.querySelectorAll('.home .pairs button').length == 2")
        assert page.texts(".home .pairs button") == ["Replaces", "Both true"]
        assert "1 pair is not settled" in page.see(".pending")
        page.click(f".home .pairs button >> text={verdict}")
        page.until("!document.querySelector('.home .pairs')")
        page.until("!document.querySelector('.pending').innerText.includes('not settled')")
        assert items(rest, "/memories/unsettled") == []
        assert {each["content"] for each in items(rest, "/memories")} & {VEGAN, LOW_SALT} == left


def test_a_result_says_whom_it_is_about_who_said_it_and_what_it_may_contradict(
    page: Page, busy: tuple[Service, dict[str, Any]]
) -> None:
    with young(busy[0], "whose") as rest:
        ids = unsettle(rest)
        page.go("/ask?ns=whose&q=What+does+Nadia+eat%3F")
        vegan, low_salt = (f".result:has(.content:has-text('{content}'))" for content in (VEGAN, LOW_SALT))
        assert page.see(f"{vegan} .open a >> text={LOW_SALT}") == LOW_SALT
        assert "about Nadia · said by Ann" in page.see(f"{vegan} .facts")
        page.click(f"{vegan} .why summary")
        assert "about whom the question names" in page.see(f"{vegan} .why p")
        page.click(f"{low_salt} .open a >> text={VEGAN}")
        page.see(".belief")
        assert f"id={ids[VEGAN]}" in page.url
        assert "about Nadia · said by Ann" in page.see(".memory .facts")


def test_the_page_tells_ones_own_statements_from_those_of_others(page: Page, busy: tuple[Service, dict[str, Any]]) -> None:
    with young(busy[0], "users") as rest:
        for user, town in (("Ann", "Oslo"), ("Bea", "Braga")):
            ok(rest.post("/memories", json={"content": f"I live in {town}", "source": user}), 201)
        page.do("addInitScript", {"content": held("/recall")})
        page.go("/ask?ns=users&q=Where+do+I+live%3F")
        page.fill("input[name=user]", "Ann")
        page.run("letGo()")  # the answer to what was asked before is drawn while a name stands there
        page.see(".result")
        page.press("Enter", at="input[name=user]")
        page.until("location.search.includes('user=Ann')")
        page.until("document.querySelector('.result .content')?.innerText === 'I live in Oslo'")
        page.click(".why summary")
        assert "said in the first person by the one who asks" in page.see(".result:first-child .why p")
        page.fill("input[name=q]", "Where is it that I live?")
        page.press("Enter", at="input[name=q]")  # of the next question, I is the same
        page.until("location.search.includes('is+it') && location.search.includes('user=Ann')")
        page.until("document.querySelector('.result .content')?.innerText === 'I live in Oslo'")


@pytest.mark.row("X7")
def test_a_job_that_was_given_up_is_tried_again_and_its_state_comes_by_itself(
    page: Page, rest: httpx.Client, ids: dict[str, Any]
) -> None:
    (job,) = items(rest, "/jobs", state="dead")
    page.go(f"/changes?ns={BUSY}&part=jobs&job={job['id']}")
    assert page.see(".jobs .wrong") == job["error"]
    assert "3 failures" in page.see(".jobs .sum")
    page.click("text=Retry")
    page.see(".jobs .state-succeeded")
    assert ok(rest.get(f"/jobs/{ids['job']}"))["state"] == "succeeded"


@pytest.mark.row("X7")
def test_vectors_and_calls_of_models_are_those_of_rest(page: Page, rest: httpx.Client) -> None:
    page.go(f"/changes?ns={BUSY}&part=models")
    page.see("table.calls")
    used = ok(rest.get("/model-usage"))
    assert f"{used['prompt_tokens'] + used['completion_tokens']:,} of {used['token_limit']:,} tokens" in page.see(".progress")
    calls = items(rest, "/model-calls")
    assert page.texts("table.calls td:nth-child(4) .badge") == [each["state"] for each in calls]
    page.click(".tab >> text=Vectors")
    page.see("table")
    about = ok(rest.get(f"/namespaces/{BUSY}"))
    texts = about["memories"] + about["entities"]
    assert page.see(".progress").startswith(f"{texts - about['pending_embeddings']} of {texts} texts")
    models = items(rest, "/embeddings/models")
    assert page.texts("tbody th") == [each["name"] for each in models]


@pytest.mark.row("X7")
def test_a_memory_says_what_rests_on_it_who_wrote_it_and_when_it_was_recalled(
    page: Page, rest: httpx.Client, ids: dict[str, Any]
) -> None:
    page.go(f"/memory?ns={BUSY}&id={ids['memory']}")
    page.see(".resting li")
    page.see(".recalled li")
    resting = items(rest, f"/memories/{ids['memory']}/dependents")
    assert [("by this alone" in text) for text in page.texts(".resting li")] == [each["alone"] for each in resting]
    (recalled,) = items(rest, f"/memories/{ids['memory']}/recalls")
    assert recalled["query"] in page.see(".recalled li")
    assert "useful just right" in page.see(".recalled li")
    assert page.see(".writer") == "by operator through rest"
    page.click("text=Erase…")
    page.see(".goes li")
    foreseen = ok(rest.delete(f"/memories/{ids['memory']}", params={"erase": True, "dry_run": True}))
    gone = [each["content"] for each in foreseen["changes"] if each["action"] == "erased" and each["content"]]
    shown = " ".join(page.texts(".goes .things >> nth=0"))
    assert "Ada works at Acme" in gone
    assert [each for each in gone if each not in shown] == []
    assert page.broken_rules() == []
    page.press("Escape")
    assert ok(rest.get(f"/memories/{ids['memory']}"))["content"] == "Ada works at Acme"


@pytest.mark.row("X7")
def test_conflicts_of_an_undo_are_named_and_the_rest_is_undone(
    browser: Browser, busy: tuple[Service, dict[str, Any]], rest: httpx.Client
) -> None:
    two = {"items": [{"content": "Eve sails"}, {"content": "Eve rows"}]}
    written = rest.post("/memories/batch", json=two)
    first = ok(written)["items"][0]["id"]
    ok(rest.patch(f"/memories/{first}", json={"tags": ["x"]}))
    with browser.page(busy[0].url) as page:
        page.go(f"/changes?ns={BUSY}&id={written.headers['X-Operation-Id']}")
        page.see(".changed")
        page.click(".operations > li:has(.changed) >> text=/^Undo$/")
        page.see(".operations .trouble")
        assert "Eve sails" in page.see(".foreseen")
        assert "by change memory" in page.see(".foreseen")
        page.click("text=Undo the rest")
        page.see(".operations .undone")
        assert {each["content"] for each in items(rest, "/memories")} & {"Eve sails", "Eve rows"} == {"Eve sails"}
        assert [each for each in page.trouble() if "409" not in each] == []  # the browser itself notes each refusal


@pytest.mark.row("X7")
def test_home_says_how_it_grew_and_what_is_pending(page: Page, busy: tuple[Service, dict[str, Any]]) -> None:
    with young(busy[0], "young") as rest:
        weeks = items(rest, "/namespaces/young/growth")
    page.go("/?ns=young")
    assert page.see(".pending >> text=to decide on") == "1 contradiction to decide on"
    page.see(".scale")
    assert page.count(".bars rect") == len(weeks)
    assert page.count(".bars rect:not(.none)") == sum(each["written"] > 0 for each in weeks)
    assert page.see(".scale").split()[-1] == str(weeks[-1]["written"])
    page.click("text=TypeScript")
    assert 'namespace: "young"' in page.see(".lines")


@pytest.mark.row("X7")
def test_a_namespace_that_is_deleted_says_so_and_leads_elsewhere(
    browser: Browser, busy: tuple[Service, dict[str, Any]], rest: httpx.Client
) -> None:
    ok(rest.post("/namespaces", json={"name": "shortlived"}), 201)
    with browser.page(busy[0].url) as page:
        page.go("/changes?ns=shortlived")
        page.see(".live >> text=live")
        assert rest.delete("/namespaces/shortlived").status_code == 204
        page.run(
            "[...document.querySelectorAll('.tab')].find((each) => each.textContent === 'Jobs')?.click()"
        )  # if it is still there
        assert "does not exist" in page.see("main > .trouble")
        page.click("main > .trouble a")
        page.see(".figures")


ANSWERED = f"performance.getEntriesByType('resource').some((each) => each.name.endsWith('/namespaces/{BUSY}'))"


@pytest.mark.row("X7")
@pytest.mark.parametrize("opening", [False, True])
def test_a_key_that_ends_is_asked_for_over_what_was_there(
    browser: Browser, busy: tuple[Service, dict[str, Any]], opening: bool
) -> None:
    """Also where it ends while the page still asks what the namespace is."""
    service, _ = busy
    with client_of(service.url, BUSY) as client:
        key = ok(client.post("/keys", json={"role": "writer"}), 201)
        with serve(service.database, tcp=True, worker=False, require_keys=True) as keyed, browser.page(keyed.url) as page:
            page.go(f"/ask?ns={BUSY}")
            page.fill("input[name=key]", key["key"])
            if opening:
                page.run(held(f"/namespaces/{BUSY}"))
            page.press("Enter", at="input[name=key]")
            page.fill("input[name=q]", "Where does Ada wor")
            page.until("held.length > 0" if opening else ANSWERED)
            assert client.delete(f"/keys/{key['id']}").status_code == 204
            asked = len(browser.ask(own="asked", page=page.name))
            page.press("Enter", at="input[name=q]")
            assert "The session has ended" in page.see(".veil .signin")
            if opening:
                page.run("letGo()")
                page.see("#main > .trouble")
            assert page.do("inputValue", at="input[name=q]") == "Where does Ada wor"
            assert len(browser.ask(own="asked", page=page.name)) < asked + 12  # it does not knock again and again
            other = ok(client.post("/keys", json={"agent_id": key["agent_id"]}), 201)
            page.fill("input[name=key]", other["key"])
            page.press("Enter", at="input[name=key]")
            page.gone(".veil")
            page.press("Enter", at="input[name=q]")  # the veil may have been there before it was asked
            page.see(".results li")
            assert page.do("inputValue", at="input[name=q]") == "Where does Ada wor"


@pytest.mark.row("X7")
def test_an_empty_namespace_explains_itself_in_each_view(page: Page, rest: httpx.Client) -> None:
    ok(rest.post("/namespaces", json={"name": "hollow"}), 201)
    page.go("/?ns=hollow")
    page.see(".empty")
    for view in ("Memories", "Constellation", "Map", "Tree", "Desk"):
        page.click(f"nav >> text={view}")
        page.until(f"document.title.startsWith('{view}') && document.querySelector('main .empty')?.textContent.length > 20")
    page.click("nav >> text=Changes")
    for tab in ("Jobs", "Dreams", "Supersessions", "Not settled", "Model calls"):
        page.click(f".tab >> text={tab}")
        page.until(
            f"document.querySelector('.tab[aria-current]').textContent === '{tab}' && !!document.querySelector('main .empty')"
        )


def test_a_list_of_any_length_comes_in_pages(page: Page, rest: httpx.Client) -> None:
    ok(rest.post("/namespaces", json={"name": "many"}), 201)
    headers = {"X-Namespace": "many"}
    ok(rest.post("/memories/batch", json={"items": [{"content": f"memory {n}"} for n in range(120)]}, headers=headers))
    page.go("/memory?ns=many")
    for shown in (50, 100, 120):
        page.until(f"document.querySelectorAll('.memories li').length === {shown}")
        if shown < 120:
            page.click("text=Show more")
    page.gone("text=Show more")
    listed = ok(rest.get("/memories", params={"limit": 120}, headers=headers))["items"]
    assert page.texts(".memories a") == [each["content"] for each in listed]
