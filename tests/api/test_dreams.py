"""Dreams over a running service, with an endpoint that speaks the protocol."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from service.dreams.dream import PASSES
from tests.api.clients import client_of
from tests.clocks import FAR
from tests.llm.model_server import ModelServer, Request, model_server
from tests.services import Api, Row, Service, eventually, new_api, ok, problem

TABS = "User prefers tabs for indentation"
QUICK = {"backoff": 0.05, "backoff_limit": 0.1, "busy_backoff": 0.05, "busy_limit": 0.1, "attempts": 2, "busy_tries": 2}


class Scripted:
    """What the endpoint answers, by what it is asked for; tests change it."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}

    def __call__(self, request: Request) -> Any:
        """The answer to a request."""
        nothing = {name: [] for name in request.body["response_format"]["json_schema"]["schema"]["properties"]}
        said = self.answers.get(request.purpose, nothing)
        return said(request.data) if callable(said) else said


@pytest.fixture(scope="module")
def script() -> Scripted:
    return Scripted()


@pytest.fixture(scope="module")
def endpoint(script: Scripted) -> Iterator[ModelServer]:
    with model_server(script) as made:
        yield made


@pytest.fixture(scope="module")
def dreaming(server: Any, endpoint: ModelServer) -> Iterator[Service]:
    from tests.services import serve

    database = server.clone("dream")
    llm = {"endpoint": endpoint.url, "model": "scripted", "attempts": 1}
    with serve(database, llm=llm, jobs=QUICK) as service:
        yield service
    server.drop(database)


@pytest.fixture
def api(dreaming: Service, script: Scripted) -> Iterator[Api]:
    script.answers = {}
    with new_api(dreaming) as client:
        yield client


def ended(api: Api, id: str) -> Row:
    """A job once it is over."""

    def job() -> Row | None:
        found: Row = ok(api.get(f"/jobs/{id}"))
        return found if found["finished_at"] else None

    return eventually(job)


def dreamt(api: Api, **body: Any) -> Row:
    """A dream that was asked for, once it is over."""
    return ended(api, ok(api.post("/dream", body), 202)["job_id"])


def say(api: Api, *contents: str, session: str = "s1") -> None:
    ok(api.post(f"/conversations/{session}/turns", {"turns": [{"role": "user", "content": content} for content in contents]}), 201)


def preference(content: str, *turns: int, strength: str = "minor") -> Row:
    return {"content": content, "strength": strength, "turns": list(turns), "existing": None, "sensitive": False}


def test_a_dream_infers_what_the_user_prefers_and_can_be_undone(api: Api, script: Scripted) -> None:
    say(api, "Use tabs!")
    script.answers["preferences"] = {"preferences": [preference(TABS, 1, strength="strong"), preference(TABS + " always", 1)]}
    job = dreamt(api, passes=["preferences"])
    (report,) = job["passes"]
    assert (job["state"], report["outcome"], report["seen"], report["proposed"], report["applied"]) == (
        "succeeded",
        "applied",
        1,
        2,
        1,
    )
    assert [refusal["guard"] for refusal in report["refused"]] == ["too_few"]
    (known,) = ok(api.get("/memories", category="user-preferences"))["items"]
    assert (known["content"], known["metadata"]["occurrences"]) == (TABS, 1)
    operation = ok(api.get(f"/operations/{report['operation_id']}"))
    assert (operation["action"], operation["via"], operation["changes"]) == ("dream_preferences", "worker", {"memory.created": 1})
    assert ok(api.post(f"/operations/{report['operation_id']}/undo", {}))["undone"] == {"memory": 1}
    assert ok(api.get("/memories", category="user-preferences"))["items"] == []


def test_a_whole_dream_runs_all_passes_in_order_and_clears_the_log(api: Api) -> None:
    edge = {"source": "Alice", "type": "knows", "target": "Bob"}
    api.write("Alice likes tea.", entities=[{"name": "Alice", "type": "person"}], edges=[edge])
    say(api, "Use tabs!")
    job = dreamt(api)
    ran = [report["pass"] for report in job["passes"]]
    assert (job["state"], ran) == ("succeeded", [name for name in PASSES if name in ran])
    assert ("preferences" in ran, set(ran) | {"contradictions"} >= set(PASSES)) == (True, True)
    assert set(job["result"]) == set(ran)
    assert ok(api.get("/conversations"))["items"][0]["logged"] == 0


def test_a_second_ask_for_the_same_finds_the_one_that_waits(start_service: Callable[..., Service], endpoint: ModelServer) -> None:
    asked = [{"passes": ["preferences"], "dry_run": dry} for dry in (False, True)]
    with new_api(start_service(worker=False, llm={"endpoint": endpoint.url, "model": "scripted"})) as api:
        first = [ok(api.post("/dream", body), 202) for body in asked]
        second = [ok(api.post("/dream", body), 202) for body in asked]
    assert [job["created"] for job in first] == [True, True]
    assert first[0]["job_id"] != first[1]["job_id"]
    assert [(job["job_id"], job["created"]) for job in second] == [(job["job_id"], False) for job in first]


def test_without_a_model_a_dream_is_refused_and_no_job_is_made(service: Service) -> None:
    with new_api(service) as api:
        body = problem(api.post("/dream", {}), 409, "needs-a-model")
        assert "LOCI_LLM__ENDPOINT" in body["hint"]
        assert ok(api.get("/jobs"))["items"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [({"passes": ["nightmare"]}, "passes[0]"), ({"passes": "memories"}, "passes"), ({"dry_run": 3}, "dry_run"), ({"x": 1}, "x")],
)
def test_a_wrong_body_is_refused_by_field(api: Api, body: Row, field: str) -> None:
    assert problem(api.post("/dream", body), 422, "invalid-request")["errors"][0]["field"] == field


def test_a_reader_may_read_reports_and_ask_for_no_dream(start_service: Callable[..., Service], endpoint: ModelServer) -> None:
    service = start_service(llm={"endpoint": endpoint.url, "model": "scripted"})
    with new_api(service) as api:
        key = ok(api.post("/keys", {"role": "reader"}), 201)["key"]
        with service.client(**{"X-Namespace": api.namespace, "Authorization": f"Bearer {key}"}) as reader:
            problem(reader.post("/dream", json={}), 403, "forbidden")
            assert ok(reader.get("/passes"))["items"] == []


def test_reports_are_listed_newest_first_page_by_page_and_narrowed(api: Api) -> None:
    jobs = [dreamt(api, passes=["preferences"])["id"] for _ in range(3)]
    first = ok(api.get("/passes", limit=2))
    assert [row["job_id"] for row in first["items"]] == jobs[:0:-1]
    assert [row["job_id"] for row in ok(api.get("/passes", limit=2, cursor=first["next_cursor"]))["items"]] == jobs[:1]
    assert [row["job_id"] for row in ok(api.get("/passes", job_id=jobs[1]))["items"]] == jobs[1:2]
    assert ok(api.get("/passes", name="graph"))["items"] == []
    assert {row["pass"] for row in ok(api.get("/passes", name="preferences"))["items"]} == {"preferences"}


def test_the_client_asks_for_dreams_and_reads_reports(api: Api) -> None:
    with client_of(api.service, api.namespace) as client:
        queued = client.dreams.start(passes=["preferences"], dry_run=True)
        ended(api, str(queued.job_id))
        (report,) = client.dreams.list_passes(job_id=queued.job_id)
        assert (report.pass_, report.outcome, report.job_id) == ("preferences", "unchanged", queued.job_id)


def test_a_dream_that_fails_again_and_again_is_dead_says_why_and_leaves_the_log(api: Api, script: Scripted) -> None:
    say(api, "Use tabs!")
    script.answers["preferences"] = "no JSON"
    job = dreamt(api, passes=["preferences"])
    assert (job["state"], job["failures"], job["passes"][0]["outcome"]) == ("dead", 2, "failed")
    assert "preferences" in job["error"]
    (session,) = ok(api.get("/conversations"))["items"]
    assert (session["turns"], session["logged"]) == (1, 1)


def test_a_dead_dream_that_is_tried_again_runs_what_had_failed(api: Api, script: Scripted) -> None:
    say(api, "Use tabs!")
    script.answers["preferences"] = "no JSON"
    job = dreamt(api, passes=["preferences"])
    script.answers["preferences"] = {"preferences": [preference(TABS, 1, strength="strong")]}
    ok(api.post(f"/jobs/{job['id']}/retry"))
    again = ended(api, job["id"])
    assert (again["state"], [row["outcome"] for row in again["passes"]]) == ("succeeded", ["applied"])


def test_a_scheduled_dream_of_a_busy_namespace_is_put_off_and_in_the_end_skipped(api: Api) -> None:
    say(api, "Use tabs!")
    with api.service.database.admin() as admin:
        admin.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
        admin.execute("set session authorization loci_app")
        (made,) = admin.execute(
            "select id from loci_api.enqueue_job(%s, 'dream', '{\"scheduled\": true}', 'scheduled', 'dream')", [api.namespace]
        ).fetchone() or [None]
        admin.commit()
    job = ended(api, str(made))
    assert (job["state"], job["postponed"], job["failures"]) == ("skipped", 3, 0)
    assert job["error"] == "the namespace is busy: a conversation is going on"
    assert ok(api.get("/conversations"))["items"][0]["logged"] == 1


@pytest.mark.parametrize("method", ["patch", "post"])
def test_a_schedule_that_is_no_rule_is_refused_with_its_name(api: Api, method: str) -> None:
    body = {"settings": {"dream_schedule": "every night"}, **({"name": f"{api.namespace}-x"} if method == "post" else {})}
    path = "/namespaces" if method == "post" else f"/namespaces/{api.namespace}"
    refused = problem(api.client.request(method, path, json=body), 422, "invalid-request")
    assert refused["errors"][0]["field"] == "settings.dream_schedule"
    assert "every night" in refused["detail"]


def test_a_schedule_is_kept_and_taken_back(api: Api) -> None:
    path = f"/namespaces/{api.namespace}"
    assert (
        ok(api.client.patch(path, json={"settings": {"dream_schedule": "0 3 * * *"}}))["settings"]["dream_schedule"] == "0 3 * * *"
    )
    assert ok(api.client.patch(path, json={"settings": {"dream_schedule": None}}))["settings"]["dream_schedule"] == ""


def test_a_schedule_that_is_due_when_a_worker_starts_runs_once(
    start_service: Callable[..., Service], server: Any, endpoint: ModelServer
) -> None:
    database = server.clone("due")
    with database.admin() as admin:
        admin.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
        admin.execute("set session authorization loci_app")
        admin.execute("select loci_api.create_namespace('nightly', null, 'english', %s)", [Jsonb({"dream_schedule": FAR})])
        admin.execute("reset session authorization")
        admin.execute(
            "insert into loci_data.schedules select id, 'dream', %s, now() - interval '3 days' from loci_data.namespaces where name = 'nightly'",
            [FAR],
        )
        admin.commit()
    services = [start_service(database, llm={"endpoint": endpoint.url, "model": "scripted"}, jobs=QUICK) for _ in range(2)]
    with services[0].client(**{"X-Namespace": "nightly"}) as client:

        def jobs() -> list[Row]:
            return [job for job in ok(client.get("/jobs"))["items"] if job["finished_at"]]

        (job,) = eventually(jobs)
        assert (job["arguments"], job["agent_id"], job["state"]) == ({"scheduled": True}, None, "succeeded")
        assert len(ok(client.get("/jobs"))["items"]) == 1
