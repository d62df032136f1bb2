"""Pairs that are open are settled by a model in the background: it decides what guards allow, once, and can be undone."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.databases import Database
from tests.llm.model_server import ModelServer, Request, garbage, model_server, say, status
from tests.services import Api, Service, eventually, new_api, ok, serve

Row = dict[str, Any]
OPERATOR = "00000000-0000-0000-0000-000000000000"
OLD, NEW = "Nadia follows a vegan diet", "Nadia has gone low-salt"
ROWING, SWIMMING = "My sport is rowing", "My sport is rowing and swimming"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture(scope="module")
def asking(own_database: Database, endpoint: ModelServer) -> Iterator[Service]:
    """A service with a language model, whose jobs are tried twice."""
    jobs = {"backoff": 0.05, "attempts": 2}
    with serve(own_database, llm={"endpoint": endpoint.url, "model": "scripted", "attempts": 1}, jobs=jobs) as running:
        yield running


@pytest.fixture
def settling(asking: Service, endpoint: ModelServer) -> Iterator[Api]:
    endpoint.script = verdict("unsure")
    endpoint.requests.clear()
    with new_api(asking) as api:
        yield api


def operator(api: Api, statement: str, *values: Any) -> list[Row]:
    with api.service.database.admin_sessions.borrowed(autocommit=True) as connection:
        connection.execute("select set_config('loci.agent', %s, false)", [OPERATOR])
        return connection.execute(statement, values).fetchall()


def verdict(said: str, confidence: float = 0.9) -> Any:
    """A model that says this of every pair, and makes each fact of retain a memory that contradicts what is beside it."""

    def script(request: Request) -> Any:
        if request.purpose == "retain":
            return {"decisions": [_linked(fact) for fact in request.data["facts"]]}
        pairs = request.data["pairs"]
        return {"verdicts": [{"pair": one["pair"], "reason": "", "verdict": said, "confidence": confidence} for one in pairs]}

    return script


def _linked(fact: Row) -> Row:
    links = [{"target": one["number"], "type": "contradicts", "strength": 0.5} for one in fact["known"]]
    return {
        "fact": fact["number"],
        "action": "link" if links else "create",
        "target": None,
        "confidence": 0.9,
        "reason": "",
        "links": links,
    }


def asked(endpoint: ModelServer) -> list[Any]:
    """What the model was asked to settle, call by call."""
    return [request.data["pairs"] for request in endpoint.chats if request.purpose == "settle"]


def open_pair(api: Api, older: str = OLD, newer: str = NEW, *, old: Row | None = None, new: Row | None = None) -> tuple[str, str]:
    """A newer memory and an older one, of which it is open which holds."""
    first = api.write(older, **{"valid_from": "2026-01-01T00:00:00Z", **(old or {})})
    second = api.write(newer, **{"valid_from": "2026-03-01T00:00:00Z", **(new or {})})
    link = {"target_id": first["id"], "type": "contradicts", "strength": 0.6}
    ok(api.post(f"/memories/{second['id']}/links", link), 201)
    return second["id"], first["id"]


def run(api: Api) -> Row:
    """A job that looks at what is open now; as it is when it ends."""
    (made,) = operator(api, "select id from loci_api.enqueue_job(%s, 'settle', '{}', 'settle', 'settle')", api.namespace)
    return ended(api, str(made["id"]))


def ended(api: Api, id: str) -> Row:
    found: Row = eventually(lambda: next((row for row in [ok(api.get(f"/jobs/{id}"))] if row["finished_at"]), None))
    return found


def jobs(api: Api) -> list[Row]:
    rows: list[Row] = ok(api.get("/jobs", kind="settle"))["items"]
    return rows


def opened(api: Api) -> list[tuple[str, str]]:
    return [(pair["newer"]["content"], pair["older"]["content"]) for pair in ok(api.get("/memories/unsettled"))["items"]]


def contents(api: Api) -> set[str]:
    return {row["content"] for row in ok(api.get("/memories"))["items"]}


def guards(job: Row) -> list[str | None]:
    return [one.get("guard") for one in job["result"]["judged"]]


# What it settles


@pytest.mark.parametrize(
    ("said", "left", "until"),
    [("replaces", {NEW}, "2026-03-01"), ("corrects", {NEW}, "2026-01-01"), ("both_true", {OLD, NEW}, None)],
)
def test_a_models_verdict_settles_a_pair(
    settling: Api, endpoint: ModelServer, said: str, left: set[str], until: str | None
) -> None:
    newer, older = open_pair(settling)
    endpoint.script = verdict(said)
    job = run(settling)
    assert (job["state"], job["result"]["settling"], job["result"]["settled"]) == ("succeeded", "applied", 1)
    assert job["result"]["judged"] == [{"newer_id": newer, "older_id": older, "verdict": said, "confidence": 0.9}]
    assert (opened(settling), contents(settling)) == ([], left)
    ends = ok(settling.get(f"/memories/{older}"))["valid_to"]
    assert (ends and ends[:10]) == until
    assert said in {link["type"] for link in ok(settling.get(f"/memories/{newer}/links"))["items"]}


def test_the_model_reads_whose_each_statement_is_since_when_and_who_said_it(settling: Api, endpoint: ModelServer) -> None:
    open_pair(settling, "Is a vegan", "Has gone low-salt", old={"about": "Nadia", "source": "Ann"}, new={"about": "Nadia"})
    run(settling)
    assert asked(endpoint) == [
        [
            {
                "pair": 1,
                "older": {"statement": "Nadia: Is a vegan", "since": "2026-01-01", "said_by": "Ann"},
                "newer": {"statement": "Nadia: Has gone low-salt", "since": "2026-03-01"},
            }
        ]
    ]


def test_all_of_a_job_is_one_operation_and_undoing_it_brings_all_back(settling: Api, endpoint: ModelServer) -> None:
    for nth in range(20):
        settling.write(f"The river number {nth} rises in spring")
    open_pair(settling)
    open_pair(settling, "Omar rides a red bicycle", "Omar gets around in a van")
    endpoint.script = verdict("replaces")
    before = contents(settling)
    job = run(settling)
    assert (job["result"]["settled"], opened(settling)) == (2, [])
    ok(settling.post(f"/operations/{job['result']['operation_id']}/undo", {}))
    assert (len(opened(settling)), contents(settling)) == (2, before)
    run(settling)
    assert (len(asked(endpoint)), len(opened(settling))) == (1, 2)  # what somebody took back is not settled again


def test_a_chain_of_changes_is_settled_from_its_beginning(settling: Api, endpoint: ModelServer) -> None:
    for nth in range(20):
        settling.write(f"The river number {nth} rises in spring")
    middle, first = open_pair(settling)
    last = settling.write("Nadia eats everything again", valid_from="2026-05-01T00:00:00Z")
    ok(settling.post(f"/memories/{last['id']}/links", {"target_id": middle, "type": "contradicts", "strength": 0.6}), 201)
    endpoint.script = verdict("replaces")
    assert run(settling)["result"]["settled"] == 2
    ends = [ok(settling.get(f"/memories/{one}"))["valid_to"][:10] for one in (first, middle)]
    assert ends == ["2026-03-01", "2026-05-01"]


# When it is asked


def test_a_write_that_is_compared_makes_one_job_for_what_it_opens(settling: Api, endpoint: ModelServer) -> None:
    settling.write(ROWING)
    endpoint.script = verdict("replaces")
    settling.write(SWIMMING, compare=True)
    (job,) = jobs(settling)
    assert ended(settling, job["id"])["result"]["settled"] == 1
    assert contents(settling) == {SWIMMING}


@pytest.mark.parametrize("path", ["/retain", "/remember"])
def test_pairs_that_a_text_opens_are_settled_later(settling: Api, endpoint: ModelServer, path: str) -> None:
    settling.write("I go rowing on Mondays", source="Ann", valid_from="2026-01-01T00:00:00Z")
    endpoint.script = verdict("replaces")
    told = "I go rowing with the club in Porto"
    body = {"content": told} if path == "/retain" else {"messages": [{"role": "user", "content": told}]}
    ok(settling.post(path, {**body, "source": "Ann"}))
    (job,) = jobs(settling)
    assert ended(settling, job["id"])["result"]["settled"] == 1
    assert contents(settling) == {told}


def test_a_dry_run_and_a_call_that_asks_for_rules_make_no_job(settling: Api) -> None:
    settling.write(ROWING)
    ok(settling.post("/retain", {"content": SWIMMING, "dry_run": True}))
    ok(settling.post("/retain", {"content": SWIMMING, "decide": "rules"}))
    assert (len(opened(settling)), jobs(settling)) == (1, [])


@pytest.mark.parametrize(
    "setting", [{"settle_model": False}, {"retain_model": False}, {"supersession": "propose"}, {"supersession": "off"}]
)
def test_a_namespace_may_settle_its_pairs_itself(settling: Api, endpoint: ModelServer, setting: Row) -> None:
    ok(settling.client.patch(f"/namespaces/{settling.namespace}", json={"settings": setting}))
    settling.write(ROWING)
    settling.write(SWIMMING, compare=True)
    assert jobs(settling) == []
    assert run(settling)["result"] == {"settling": "off"}
    assert (asked(endpoint), len(opened(settling))) == ([], 1)


def test_without_a_model_no_job_is_made(api: Api) -> None:
    api.write(ROWING)
    api.write(SWIMMING, compare=True)
    assert (len(opened(api)), jobs(api)) == (1, [])


def test_an_unsure_pair_stays_open_and_is_asked_again_only_after_a_change(settling: Api, endpoint: ModelServer) -> None:
    _, older = open_pair(settling)
    job = run(settling)
    assert (job["result"]["settling"], opened(settling)) == ("unchanged", [(NEW, OLD)])
    run(settling)
    assert len(asked(endpoint)) == 1
    lineage = ok(settling.get(f"/memories/{older}"))["lineage"]
    settling.write("Nadia follows a strict vegan diet", lineage=lineage, valid_from="2026-02-01T00:00:00Z")
    run(settling)
    assert len(asked(endpoint)) == 2


def test_a_pair_without_one_clear_verdict_is_unsure(settling: Api, endpoint: ModelServer) -> None:
    open_pair(settling)
    open_pair(settling, "Omar rides a red bicycle", "Omar gets around in a van")
    said = {"pair": 1, "reason": "", "confidence": 1}
    endpoint.script = lambda _: {"verdicts": [{**said, "verdict": "replaces"}, {**said, "verdict": "both_true"}]}
    job = run(settling)
    assert ([one["verdict"] for one in job["result"]["judged"]], len(opened(settling))) == (["unsure", "unsure"], 2)


def test_more_than_one_call_holds_is_left_to_the_next_job(settling: Api, endpoint: ModelServer) -> None:
    for nth in range(21):
        open_pair(settling, f"Garden {nth} has roses in it", f"Garden {nth} is full of weeds", old={"lineage": f"g{nth}"})
    run(settling)
    eventually(lambda: len(asked(endpoint)) == 2)
    assert [len(pairs) for pairs in asked(endpoint)] == [20, 1]


# What no model can talk past


@pytest.mark.parametrize("said", ["replaces", "corrects"])
@pytest.mark.parametrize(
    ("older", "newer", "old", "new", "guard"),
    [
        (OLD, NEW, {"importance": 0.9}, {}, "protected"),
        (OLD, NEW, {"source": "Nadia"}, {"source": "assistant"}, "assistant"),
        (OLD, "Emil has gone low-salt", {}, {}, "subject"),
        ("I follow a vegan diet", "I have gone low-salt", {"source": "Ann"}, {"source": "Bea"}, "subject"),
        (OLD, NEW, {}, {"valid_to": "2030-01-01T00:00:00Z"}, "shorter"),
    ],
)
def test_a_guard_keeps_what_it_refuses_and_the_report_names_it(
    settling: Api, endpoint: ModelServer, said: str, older: str, newer: str, old: Row, new: Row, guard: str
) -> None:
    open_pair(settling, older, newer, old=old, new=new)
    endpoint.script = verdict(said, 1)
    assert guards(run(settling)) == [guard]
    assert (opened(settling), contents(settling)) == ([(newer, older)], {older, newer})
    run(settling)
    assert len(asked(endpoint)) == 1


def test_a_protected_memory_ends_where_a_rule_sees_the_contradiction_too(settling: Api, endpoint: ModelServer) -> None:
    open_pair(settling, "Alice drinks coffee every day", "Alice no longer drinks coffee", old={"importance": 0.9})
    endpoint.script = verdict("replaces")
    assert guards(run(settling)) == [None]
    assert contents(settling) == {"Alice no longer drinks coffee"}


def test_a_users_statement_ends_an_assistants(settling: Api, endpoint: ModelServer) -> None:
    open_pair(settling, old={"source": "assistant"}, new={"source": "Nadia"})
    endpoint.script = verdict("replaces")
    run(settling)
    assert contents(settling) == {NEW}


@pytest.mark.parametrize("said", ["replaces", "both_true"])
def test_a_model_that_is_not_sure_enough_settles_nothing(settling: Api, endpoint: ModelServer, said: str) -> None:
    open_pair(settling)
    endpoint.script = verdict(said, 0.6)
    assert (guards(run(settling)), opened(settling)) == (["unsure"], [(NEW, OLD)])


def test_by_its_word_alone_no_more_ends_than_the_breaker_lets_pass(settling: Api, endpoint: ModelServer) -> None:
    open_pair(settling)
    open_pair(settling, "Omar rides a red bicycle", "Omar gets around in a van")
    open_pair(settling, "Alice drinks coffee every day", "Alice no longer drinks coffee")
    endpoint.script = verdict("replaces")
    assert sorted(guards(run(settling)), key=str) == [None, None, "breaker"]
    assert len(contents(settling)) == 4


def test_a_pair_changed_while_the_model_thinks_is_looked_at_again(settling: Api, endpoint: ModelServer) -> None:
    newer, older = open_pair(settling)

    def think(request: Request) -> Any:
        ok(settling.client.delete(f"/memories/{older}"))
        return verdict("replaces")(request)

    endpoint.script = think
    job = run(settling)
    assert (job["result"]["settled"], job["result"]["judged"]) == (0, [])
    assert ok(settling.get(f"/memories/{newer}"))["status"] == "active"
    endpoint.script = verdict("replaces")
    ok(settling.post(f"/memories/{older}/restore"))
    assert run(settling)["result"]["settled"] == 1


# What a failure costs


@pytest.mark.parametrize(
    "reply",
    [
        garbage(),
        say("this is not JSON"),
        say({"verdicts": [{"pair": 1, "reason": "", "verdict": "erase", "confidence": 1}]}),
        status(503),
    ],
)
def test_nonsense_and_a_dead_endpoint_change_nothing_and_the_job_is_tried_again_until_it_is_dead(
    settling: Api, endpoint: ModelServer, reply: Any
) -> None:
    open_pair(settling)
    endpoint.script = lambda _: reply
    job = run(settling)
    assert (job["state"], job["failures"], len(endpoint.chats)) == ("dead", 2, 2)
    assert (opened(settling), contents(settling)) == ([(NEW, OLD)], {OLD, NEW})
    endpoint.script = verdict("replaces")
    assert run(settling)["result"]["settled"] == 1
