"""Asking: within the budget of a day whoever asks at the same time, written down with what it cost, and told to nobody."""

import asyncio
import json
import logging
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from db.errors import NeedsModel
from db.pool import make_pool
from service.llm.answer_parsing import Answer
from service.llm.endpoint_replies import Heard
from service.llm.factory import make_model
from service.llm.model import Completion, InvalidAnswer, ModelError, Usage
from service.llm.prompts import NAMES, BadPrompt, Prompts
from service.models.calls import BudgetSpent, Call, ask_model
from service.resources import Resources
from service.settings import LLMSettings, Settings
from tests.catalogue import PYTHONPATH
from tests.databases import Database
from tests.llm.model_server import ModelServer, cut, fence, hang, model_server, say, slow, status, truncated
from tests.llm.scripted import ScriptedModel

pytestmark = pytest.mark.anyio
CANARY = "quuxcanary"
PROMPT = "retain.md"


class Names(Answer):
    names: list[str]


SAID = {"names": [CANARY]}


@dataclass(frozen=True)
class Asked:
    """A namespace, how it asks, and what is written down."""

    work: Resources
    namespace: str
    database: Database

    async def ask(self, **options: Any) -> Names:
        given = {
            "namespace": self.namespace,
            "purpose": "retain",
            "prompt": PROMPT,
            "data": {"texts": [f"{CANARY} sang"]},
            **options,
        }
        return await ask_model(self.work, Names, **given)

    def rows(self, statement: Any, *parameters: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self.database.admin_url, autocommit=True, row_factory=dict_row) as connection:
            connection.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
            return connection.execute(statement, [self.namespace, *parameters]).fetchall()

    def calls(self) -> list[dict[str, Any]]:
        return self.rows("select * from loci.list_model_calls(%s, 1000)")

    def usage(self) -> dict[str, Any]:
        return self.rows("select * from loci.model_usage(%s)")[0]

    def budget(self, **settings: float) -> None:
        self.rows("select loci_api.update_namespace(%s, %s)", Jsonb({"settings": settings}))


@pytest.fixture
def endpoint() -> Iterator[ModelServer]:
    with model_server([SAID]) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / PROMPT).write_text(f"Name them. {CANARY}")
    return tmp_path


@pytest.fixture
async def make(own_database: Database, folder: Path) -> AsyncIterator[Callable[..., Any]]:
    """Make askers over one pool."""
    pool = make_pool(own_database.app_url, size=8)
    await pool.open(wait=True)
    models: list[Any] = []

    def made(model: Any = None, **llm: Any) -> Asked:
        settings = Settings(_env_file=None, llm=LLMSettings(**{"attempts": 1, "timeout": 5, "model": "scripted", **llm}))
        asked = model if model is not None else make_model(settings.llm)
        models.append(asked)
        name = f"llm-{uuid4().hex[:12]}"
        with own_database.admin() as connection:
            connection.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
            connection.execute("select loci_api.create_namespace(%s)", [name])
        return Asked(Resources(settings, pool, None, asked, Prompts(folder)), name, own_database)

    yield made
    for model in models:
        if model is not None:
            await model.close()
    await pool.close()


# What is written down


async def test_an_answer_is_read_and_what_it_cost_is_written_down(make: Any, endpoint: ModelServer) -> None:
    asked = make(endpoint=endpoint.url, prompt_price=3, completion_price=6)
    job = uuid4()
    assert (await asked.ask(job_id=job)).names == [CANARY]
    (call,) = asked.calls()
    assert (call["state"], call["purpose"], call["model"], call["job_id"]) == ("succeeded", "retain", "scripted", job)
    assert (call["prompt_tokens"], call["completion_tokens"], call["estimated"]) == (100, 50, False)
    assert float(call["cost"]) == pytest.approx(0.0006)
    assert endpoint.refused == []


async def test_the_prompt_comes_after_the_words_that_make_all_else_data(make: Any, endpoint: ModelServer) -> None:
    await make(endpoint=endpoint.url).ask(data={"texts": ["naïve"]})
    (request,) = endpoint.chats
    assert request.prompt.startswith(
        f"{Prompts().read_prompt('data.md')}\n\nName them. {CANARY}\n\nThe JSON object has this form: "
    )
    assert request.data == {"texts": ["naïve"]}
    assert "na\\u" not in request.body["messages"][1]["content"]
    assert request.purpose == "retain"


async def test_tokens_that_the_endpoint_did_not_count_are_reckoned(make: Any, endpoint: ModelServer) -> None:
    endpoint.script = [say({"names": ["x" * 300]}, usage=None)]
    asked = make(endpoint=endpoint.url)
    await asked.ask()
    (call,) = asked.calls()
    assert call["estimated"]
    assert call["prompt_tokens"] > 100
    assert 75 <= call["completion_tokens"] <= 150


@pytest.mark.parametrize(
    ("reply", "spent"),
    [
        (say({"name": CANARY}), (100, 50)),
        (say(f"No. {CANARY}!"), (100, 50)),
        (truncated(SAID), (100, 50)),
        (status(401, {"error": {"message": CANARY}}), (0, 0)),
        (status(500), (0, 0)),
    ],
    ids=["wrong schema", "prose", "truncated", "refused", "failed"],
)
async def test_a_call_that_came_to_nothing_is_written_down_with_what_it_cost(
    make: Any, endpoint: ModelServer, reply: Any, spent: tuple[int, int]
) -> None:
    endpoint.script = [reply]
    asked = make(endpoint=endpoint.url)
    with pytest.raises(ModelError):
        await asked.ask()
    (call,) = asked.calls()
    assert call["state"] == "failed"
    assert (call["prompt_tokens"], call["completion_tokens"]) == spent
    assert CANARY not in call["error"]


async def test_a_stream_that_broke_off_has_cost_what_was_heard(make: Any, endpoint: ModelServer) -> None:
    endpoint.script = [cut({"names": ["x" * 600]}, 700)]
    asked = make(endpoint=endpoint.url)
    with pytest.raises(ModelError, match="broke off"):
        await asked.ask()
    (call,) = asked.calls()
    assert call["prompt_tokens"] > 0
    assert call["completion_tokens"] < 700


async def test_no_word_of_a_prompt_or_an_answer_is_logged_or_stored(
    make: Any, endpoint: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.script = [SAID, fence(SAID), {"wrong": CANARY}, truncated(SAID), cut(SAID, 400), status(400, {"error": CANARY}), SAID]
    asked = make(endpoint=endpoint.url, api_key=f"sk-{CANARY}")
    for _ in range(7):
        with suppress(ModelError):
            await asked.ask()
    assert len(asked.calls()) == 7
    assert "model call succeeded: answered" in caplog.text
    logged = "".join(
        str(vars(record)) for record in caplog.records if not record.name.startswith(("psycopg", "httpcore", "asyncio"))
    )
    assert CANARY not in logged
    assert CANARY not in str(asked.rows("select to_jsonb(c)::text from loci.model_calls c where c.namespace = %s"))


async def test_the_log_says_what_a_call_was_for_and_what_it_cost(
    make: Any, endpoint: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "service.models.calls")
    asked = make(endpoint=endpoint.url, completion_price=1_000_000)
    await asked.ask()
    fields = [record for record in caplog.records if record.name == "service.models.calls"][-1].fields  # type: ignore[attr-defined]
    assert {name: fields[name] for name in ("namespace", "purpose", "model", "outcome", "cost")} == {
        "namespace": asked.namespace,
        "purpose": "retain",
        "model": "scripted",
        "outcome": "succeeded",
        "cost": 50.0,
    }
    assert (fields["prompt_tokens"], fields["completion_tokens"]) == (100, 50)
    assert fields["ms"] >= 0


async def test_without_a_model_nothing_is_written_down(make: Any) -> None:
    asked = make()
    with pytest.raises(NeedsModel, match="Set LOCI_LLM__ENDPOINT and LOCI_LLM__MODEL") as raised:
        await asked.ask()
    assert raised.value.final
    assert asked.calls() == []


# The budget


async def test_a_spent_budget_asks_nobody_and_says_when_there_is_more(make: Any, endpoint: ModelServer) -> None:
    asked = make(endpoint=endpoint.url)
    asked.budget(model_tokens=10)
    with pytest.raises(BudgetSpent, match="setting model_tokens") as raised:
        await asked.ask()
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert raised.value.at == midnight
    assert endpoint.chats == []


async def test_money_is_a_budget_too(make: Any, endpoint: ModelServer) -> None:
    asked = make(endpoint=endpoint.url, prompt_price=1, completion_price=1)
    asked.budget(model_cost=0.0005)
    with pytest.raises(BudgetSpent, match="setting model_cost"):
        await asked.ask()
    assert endpoint.chats == []


async def test_the_endpoint_is_told_how_little_is_left(make: Any, endpoint: ModelServer) -> None:
    asked = make(endpoint=endpoint.url, max_tokens=16_000)
    asked.budget(model_tokens=5000)
    await asked.ask()
    (request,) = endpoint.chats
    assert 1000 <= request.body["max_tokens"] < 5000


@pytest.mark.row("L5")
async def test_askers_side_by_side_never_overspend(make: Any, endpoint: ModelServer) -> None:
    """Eight ask again and again, and each answer takes all that it may."""
    endpoint.script = lambda request: say({"names": []}, usage=(300, request.body["max_tokens"]), pause=0.01)
    asked = make(endpoint=endpoint.url, max_tokens=1500)
    asked.budget(model_tokens=20_000)
    refusals = []

    async def greedy() -> None:
        for _ in range(4):
            try:
                await asked.ask()
            except BudgetSpent as spent:
                refusals.append(spent)

    await asyncio.gather(*(greedy() for _ in range(8)))
    used = sum(call["prompt_tokens"] + call["completion_tokens"] for call in asked.calls())
    assert refusals
    assert 15_000 < used <= 20_000
    assert asked.usage()["running"] == 0


async def test_a_call_whose_process_is_killed_counts_with_what_it_reserved_and_then_with_what_is_usual(
    make: Any, endpoint: ModelServer, own_database: Database, folder: Path
) -> None:
    endpoint.script = [hang()]
    asked = make(endpoint=endpoint.url)
    program = f"""
        import asyncio
        from db.pool import make_pool
        from service.resources import Resources as Work
        from service.llm.factory import make_model
        from service.models.calls import ask_model
        from service.llm.answer_parsing import Answer
        from service.llm.prompts import Prompts
        from service.settings import Settings
        from pathlib import Path

        class Names(Answer):
            names: list[str]

        async def main():
            settings = Settings(_env_file=None, llm={{"endpoint": {endpoint.url!r}, "model": "scripted"}})
            async with make_pool({own_database.app_url!r}, size=2) as pool:
                work = Work(settings, pool, None, make_model(settings.llm), Prompts(Path({str(folder)!r})))
                await ask_model(work, Names, namespace={asked.namespace!r}, purpose="retain", prompt={PROMPT!r}, data={{}})

        asyncio.run(main())
    """
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", textwrap.dedent(program), env=environment)
    async with asyncio.timeout(60):
        while not endpoint.chats:  # noqa: ASYNC110 (it comes in another thread)
            await asyncio.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    (call,) = asked.calls()
    assert (call["state"], call["completion_tokens"], call["took_ms"]) == ("running", 16_000, None)
    row = asked.usage()
    assert row["token_limit"] - row["tokens_left"] == call["prompt_tokens"] + 16_000
    with own_database.admin() as admin:
        admin.execute("update loci_data.model_calls set ends_by = clock_timestamp() where id = %s", [call["id"]])
        admin.execute("select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)")
        assert admin.execute("select loci_api.settle_model_calls()").fetchone() == (1,)
    (call,) = asked.calls()
    assert (call["state"], call["error"], call["estimated"]) == ("failed", "whoever made the call was lost", True)
    row = asked.usage()
    assert (row["running"], row["token_limit"] - row["tokens_left"]) == (0, call["prompt_tokens"] + 4000)  # a quarter: none before


async def test_a_call_that_is_cancelled_counts_with_what_was_heard(
    make: Any, endpoint: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.script = [slow({"names": ["x" * 300]}, 1, pieces=30)]
    asked, heard, take = make(endpoint=endpoint.url), asyncio.Event(), Heard.take_piece

    def listened(self: Heard, piece: Any) -> None:
        take(self, piece)
        if self.length:
            heard.set()

    monkeypatch.setattr(Heard, "take_piece", listened)
    asking = asyncio.create_task(asked.ask())
    async with asyncio.timeout(30):
        await heard.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    (call,) = asked.calls()
    assert (call["state"], call["error"], call["estimated"]) == ("failed", "CancelledError", True)
    assert (call["prompt_tokens"] > 100, 0 < call["completion_tokens"] < 120) == (True, True)


async def test_a_call_that_is_cancelled_before_a_word_was_heard_counts_with_what_is_usual(make: Any, endpoint: ModelServer) -> None:
    endpoint.script = [say(SAID, usage=(100, 70)), say(SAID, usage=(100, 90)), hang()]
    asked = make(endpoint=endpoint.url)
    for _ in range(2):
        await asked.ask()
    asking = asyncio.create_task(asked.ask())
    async with asyncio.timeout(30):
        while len(endpoint.chats) < 3:  # noqa: ASYNC110 (it comes in another thread)
            await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    call = asked.calls()[0]
    assert (call["state"], call["error"], call["completion_tokens"]) == ("failed", "CancelledError", 80)


async def test_no_transaction_is_open_while_a_model_thinks(make: Any, own_database: Database) -> None:
    open_ones: list[int] = []

    def look(data: Any) -> Any:
        with own_database.admin() as connection:
            row = connection.execute(
                "select count(*) from pg_stat_activity where datname = current_database() and usename = 'loci_app' and xact_start is not null"
            ).fetchone()
        open_ones.append(row[0] if row else -1)
        return SAID

    await make(ScriptedModel(look)).ask()
    assert open_ones == [0]


async def test_an_invalid_answer_of_any_model_changes_nothing_but_the_log(make: Any) -> None:
    asked = make(ScriptedModel({"names": CANARY}))
    with pytest.raises(InvalidAnswer, match="names should be a valid array"):
        await asked.ask()
    assert [call["state"] for call in asked.calls()] == ["failed"]


async def test_a_model_that_counts_nothing_is_counted(make: Any) -> None:
    class Silent(ScriptedModel):
        async def complete(self, *arguments: Any, **options: Any) -> Completion:  # noqa: ARG002
            return Completion(json.dumps(SAID), None, None, 1)

    asked = make(Silent(SAID))
    await asked.ask()
    assert asked.calls()[0]["estimated"]


# Prompts


@pytest.mark.row("L4")
def test_an_operators_file_takes_the_place_of_ours(folder: Path) -> None:
    assert Prompts(folder).read_prompt(PROMPT) == f"Name them. {CANARY}"
    assert Prompts(folder).read_prompt("data.md") == Prompts().read_prompt("data.md")


def test_files_that_are_no_prompts_are_named(folder: Path) -> None:
    (folder / "retian.md").write_text("x")
    (folder / ".hidden").write_text("x")
    assert Prompts(folder).check_folder() == ["retian.md"]


@pytest.mark.parametrize(
    ("content", "why"), [(b"", "is empty"), (b" \n", "is empty"), (b"\xff", "is not UTF-8"), (b"x" * 100_001, "longer than")]
)
def test_a_file_that_is_no_text_is_refused(folder: Path, content: bytes, why: str) -> None:
    (folder / PROMPT).write_bytes(content)
    with pytest.raises(BadPrompt, match=rf"retain\.md.*{why}"):
        Prompts(folder).check_folder()


def test_an_unreadable_prompt_file_is_refused(folder: Path) -> None:
    (folder / PROMPT).unlink()
    (folder / PROMPT).mkdir()
    with pytest.raises(BadPrompt, match="Is a directory"):
        Prompts(folder).check_folder()
    (folder / PROMPT).rmdir()
    (folder / PROMPT).symlink_to(folder / "nowhere")
    with pytest.raises(BadPrompt, match="No such file"):
        Prompts(folder).check_folder()
    with pytest.raises(BadPrompt, match="LOCI_LLM__PROMPTS"):
        Prompts(folder / "nowhere").check_folder()


def test_only_known_names_are_read(folder: Path) -> None:
    with pytest.raises(KeyError):
        Prompts(folder).read_prompt("../secret")
    assert "data.md" in NAMES


class Written(Call):
    """A call that is written down slowly."""

    begun, go, ends = asyncio.Event(), asyncio.Event(), []  # type: ignore[var-annotated]

    async def record_end(self, completion: Completion | None, error: BaseException | None, usage: Usage | None = None) -> None:
        self.begun.set()
        await self.go.wait()
        self.ends.append((completion, error, usage))


async def test_usage_of_a_call_is_written_though_its_caller_leaves() -> None:
    call = Written(*[None] * 9)  # type: ignore[arg-type]
    said = Completion("said", 1, 2, 3)

    async def work() -> tuple[Completion, str]:
        return said, "made"

    asking = asyncio.create_task(call.run_and_record(work))
    await call.begun.wait()
    asking.cancel()
    assert await asyncio.wait({asking}, timeout=0.1) == (set(), {asking})
    call.go.set()
    await asyncio.wait({asking})
    assert (asking.cancelled(), call.ends) == (True, [(said, None, None)])
