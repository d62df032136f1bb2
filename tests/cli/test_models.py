"""`loci model`, `loci prompt`, and what `loci doctor` says of the endpoint."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from service.cli.model_trials import TRIALS
from service.settings import get_settings
from tests.cli.conftest import Loci
from tests.llm.model_server import ModelServer, Reply, Request, hang, model_server, say, status, truncated
from tests.llm.shortest import shortest

TRIED = [f"model {trial.trial_name}" for trial in TRIALS]
CLOSED = "http://127.0.0.1:9/v1"


def obedient(request: Request, wait: float = 0.0, counted: int | None = None) -> Reply:
    """An answer in the form that was asked for, with the tokens of its prompt counted."""
    tokens = sum(len(message["content"]) for message in request.body["messages"]) // 4
    said = shortest(request.body["response_format"]["json_schema"]["schema"])
    return say(said, wait=wait, usage=(tokens if counted is None else min(counted, tokens), 50))


@pytest.fixture
def endpoint() -> Iterator[ModelServer]:
    with model_server(obedient) as server:
        yield server


def configure(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"LOCI_LLM__{name}", value)
    get_settings.cache_clear()


def examined(loci: Loci, *options: str) -> dict[str, tuple[bool, str]]:
    said = json.loads(loci("doctor", *options, "--json").stdout)
    return {check["name"]: (check["ok"], check["detail"]) for check in said}


def reserve(loci: Loci, namespace: str, purpose: str) -> None:
    loci.rows("select * from loci_api.reserve_model_call(%s, null, %s, 'scripted', 10, 1000)", namespace, purpose)


def test_calls_and_usage_are_shown(loci: Loci, namespace: str) -> None:
    reserve(loci, namespace, "memories")
    reserve(loci, namespace, "retain")
    rows = json.loads(loci("model", "calls", "-n", namespace, "--purpose", "retain", "--json").stdout)
    assert [(row["purpose"], row["state"], row["completion_tokens"]) for row in rows] == [("retain", "running", 1000)]
    usage = json.loads(loci("model", "usage", "-n", namespace, "--json").stdout)
    assert (usage["calls"], usage["tokens_left"]) == (2, 2_000_000 - 2020)
    assert json.loads(loci("model", "usage", "-n", namespace, "--day", "2020-01-01", "--json").stdout)["calls"] == 0
    assert "retain" in loci("model", "calls", "-n", namespace).stdout
    assert "tokens_left" in loci("model", "usage", "-n", namespace).stdout


def test_a_prompt_is_shown_as_it_is_in_force(loci: Loci, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours = loci("prompt", "show", "data").stdout
    assert "Answer with one JSON object" in ours
    (tmp_path / "data.md").write_text(f"Be brief.\n{ours}")
    configure(monkeypatch, PROMPTS=str(tmp_path))
    assert loci("prompt", "show", "data.md").stdout == f"Be brief.\n{ours}"
    listed = {row["name"]: row["from"] for row in json.loads(loci("prompt", "list", "--json").stdout)}
    assert (listed["data.md"], listed["dream.md"]) == (str(tmp_path / "data.md"), "loci")


def test_an_unknown_prompt_is_named_with_those_there_are(loci: Loci) -> None:
    result = loci("prompt", "show", "dreams")
    assert result.exit_code == 1
    assert "there is no prompt dreams.md" in result.stderr
    assert "pref-dream.md" in result.stderr


@pytest.mark.parametrize("options", [[], ["--model-seconds", "0"]], ids=["by default", "left out"])
def test_doctor_asks_the_endpoint_a_tiny_question(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer, options: list[str]
) -> None:
    assert examined(loci, *options)["model"] == (True, "none is configured; what needs one is not done")
    configure(monkeypatch, ENDPOINT=endpoint.url, MODEL="scripted")
    found = examined(loci, *options)
    assert found["model"][0]
    assert found["model"][1].startswith("scripted, ")
    assert endpoint.refused == []
    assert endpoint.chats[0].purpose == "doctor"
    assert len(endpoint.chats) == (1 if options else 1 + len(TRIALS))


def test_doctor_tries_each_purpose_at_the_size_that_loci_sends(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer
) -> None:
    configure(monkeypatch, ENDPOINT=endpoint.url, MODEL="scripted")
    found = examined(loci)
    assert [name for name in found if name in TRIED] == TRIED
    assert all(found[name][0] and re.match("[1-9][0-9,]+ tokens read and 50 written in ", found[name][1]) for name in TRIED)
    asked = {request.purpose: request for request in endpoint.chats}
    assert set(asked) == {"doctor", *(trial.purpose for trial in TRIALS)}
    assert len(asked["preferences"].data["conversations"][0]["turns"]) == 60
    assert [fact["number"] for fact in asked["retain"].data["facts"]] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("purpose", "setting", "done"),
    [
        ("rewrite", "RECALL_DEADLINE", "or questions are searched as they are"),
        ("retain", "REQUEST_DEADLINE", "or rules decide"),
        ("enrichment", "DEADLINE", ""),
    ],
)
def test_doctor_says_which_deadline_a_model_cannot_meet_and_what_to_set(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer, purpose: str, setting: str, done: str
) -> None:
    endpoint.script = lambda request: obedient(request, wait=1.3 if request.purpose == purpose else 0)
    configure(monkeypatch, ENDPOINT=endpoint.url, MODEL="scripted", **{setting: "1"})
    found = examined(loci)
    late = [name for name in TRIED if not found[name][0]]
    assert late == [f"model {trial.trial_name}" for trial in TRIALS if trial.purpose == purpose]
    for name in late:
        assert f"more than 1 (LOCI_LLM__{setting}): set LOCI_LLM__{setting}=" in found[name][1]
        assert found[name][1].endswith(done)


def test_doctor_says_that_another_deadline_stands_in_the_way(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer
) -> None:
    endpoint.script = lambda request: obedient(request, wait=1.3 if request.purpose == "rewrite" else 0)
    monkeypatch.setenv("LOCI_DEADLINES__READ", "1.5")
    configure(monkeypatch, ENDPOINT=endpoint.url, MODEL="scripted", RECALL_DEADLINE="1")
    said = examined(loci)["model rewrite (decompose)"][1]
    assert re.search(r"set LOCI_LLM__RECALL_DEADLINE=[0-9]+ and LOCI_DEADLINES__READ above it, or questions are", said)


def test_doctor_is_done_in_time_however_slow_the_model_is(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer
) -> None:
    endpoint.script = lambda request: hang() if request.purpose == "retain" else obedient(request)
    configure(monkeypatch, ENDPOINT=endpoint.url, MODEL="scripted", REQUEST_DEADLINE="1")
    started = time.monotonic()
    found = examined(loci, "--model-seconds", "2")
    assert time.monotonic() - started < 20
    ok, detail = found["model retain"]
    assert not ok
    assert "of 1 (LOCI_LLM__REQUEST_DEADLINE): take a faster model; until then rules decide" in detail
    assert "2 s were over before reflect, enrichment" in found["model time"][1]


def test_doctor_says_how_much_came_of_an_answer_that_did_not_end(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer
) -> None:
    endpoint.script = lambda request: replace(obedient(request), pause=0.5 * (request.purpose == "rewrite"), pieces=1000)
    configure(monkeypatch, ENDPOINT=endpoint.url, MODEL="scripted", RECALL_DEADLINE="1")
    said = examined(loci, "--model-seconds", "3")["model rewrite (decompose)"][1]
    assert re.search(r"no answer within \d s, of 1 \(LOCI_LLM__RECALL_DEADLINE\), [1-9]\d* tokens of one: take a faster", said)


def test_doctor_finds_that_an_endpoint_cuts_prompts(loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer) -> None:
    endpoint.script = lambda request: obedient(request, counted=500)
    configure(monkeypatch, ENDPOINT=endpoint.url, MODEL="scripted")
    found = examined(loci)
    assert any("the endpoint cuts prompts" in found[name][1] and not found[name][0] for name in TRIED)


def test_doctor_says_which_purposes_have_no_room_in_a_context(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer
) -> None:
    configure(monkeypatch, ENDPOINT=endpoint.url, MODEL="scripted", CONTEXT="256")
    found = examined(loci)
    assert all(not found[name][0] and "more than the context of 256 (LOCI_LLM__CONTEXT)" in found[name][1] for name in TRIED)
    assert [request.purpose for request in endpoint.chats] == ["doctor"]


def test_doctor_names_the_purpose_whose_answer_is_of_no_use(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer
) -> None:
    endpoint.script = lambda request: {"no": 1} if request.purpose == "settle" else obedient(request)
    configure(monkeypatch, ENDPOINT=endpoint.url, MODEL="scripted")
    found = examined(loci)
    assert [name for name in TRIED if not found[name][0]] == ["model settle"]
    assert "verdicts is missing" in found["model settle"][1]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (status(401), "look at LOCI_LLM__API_KEY"),
        (truncated({"word": "loci"}, 3), "LOCI_LLM__CONTEXT"),
        ({"no": 1}, "word is missing"),
    ],
    ids=["key", "length", "schema"],
)
def test_doctor_says_what_failed_and_which_setting_it_is(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, endpoint: ModelServer, reply: object, said: str
) -> None:
    endpoint.script = [reply]
    configure(monkeypatch, ENDPOINT=endpoint.url, ATTEMPTS="1")
    ok, detail = examined(loci)["model"]
    assert not ok
    assert said in detail


def test_doctor_says_that_nobody_listens(loci: Loci, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, ENDPOINT=CLOSED, ATTEMPTS="1")
    assert examined(loci)["model"] == (False, "127.0.0.1:9 cannot be reached; look at LOCI_LLM__ENDPOINT")


def test_doctor_reads_the_prompts(loci: Loci, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "dream.md").write_text("")
    configure(monkeypatch, PROMPTS=str(tmp_path))
    ok, detail = examined(loci)["prompts"]
    assert not ok
    assert detail == f"the prompt {tmp_path / 'dream.md'} is empty"


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["worker"]])
def test_a_bad_prompt_is_refused_at_the_start(
    loci: Loci, monkeypatch: pytest.MonkeyPatch, in_this_process: None, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "dream.md").write_text(" ")
    configure(monkeypatch, PROMPTS=str(tmp_path))
    refused = loci(*command)
    assert refused.exit_code == 1
    assert refused.stderr.startswith(f"error: the prompt {tmp_path / 'dream.md'} is empty")
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("given", ["none", ""])
def test_settings_can_be_taken_away_by_the_environment(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    configure(monkeypatch, TEMPERATURE=given, ENDPOINT=given, PROMPTS=given)
    llm = get_settings().llm
    assert (llm.temperature, llm.endpoint, llm.prompts) == (None, None, None)
    get_settings.cache_clear()
