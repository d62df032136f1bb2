"""A dream: which passes run, what their failures do, and what becomes of the log of conversations."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from db.errors import NeedsModel
from service.dreams import dream as dreaming
from service.dreams.dream import PassesFailed, run_dream, wanted_passes
from service.dreams.passes import Applied, Pass, Plan, Seen
from service.jobs.job import Postponed
from service.llm.context_size import UNMEASURED_BYTES_PER_TOKEN, Sizes
from service.llm.model import InvalidAnswer, ModelError, TooLong
from tests.databases import Database
from tests.dreams.dreaming import Sleeper, new_sleeper, preference, preferences
from tests.factories import Row
from tests.llm.scripted import ScriptedModel

NAMES = ("memories", "entities", "preferences", "graph")


@pytest.fixture
def sleeper(own_database: Database) -> Iterator[Sleeper]:
    with new_sleeper(own_database) as made:
        yield made


def plain(name: str) -> Pass[Any]:
    """A pass that always asks, and changes nothing."""

    async def look(*_: Any) -> Seen:
        return Seen(data={"pass": name}, count=1)

    async def apply(*_: Any) -> Applied:
        return Applied()

    def check(*_: Any) -> Plan:
        return Plan(steps=[], proposed=0)

    real = dreaming.PASSES["preferences"]
    return Pass(name, real.prompt, real.answer, look, check, apply)


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four passes that only ask, so that the test sees which."""
    monkeypatch.setattr(dreaming, "PASSES", {name: plain(name) for name in NAMES})


def asking(failing: dict[str, Exception] | None = None) -> tuple[list[str], Any]:
    """Which passes have asked, in order, and a script that fails for some."""
    asked: list[str] = []

    def script(data: Row) -> Any:
        asked.append(data["pass"])
        return (failing or {}).get(data["pass"]) or preferences()

    return asked, script


# Which passes run


@pytest.mark.row("L4")
def test_the_passes_run_in_their_order(sleeper: Sleeper, four: None) -> None:
    asked, script = asking()
    sleeper.dream(script)
    assert asked == list(NAMES)


@pytest.mark.row("L4")
def test_passes_switched_off_by_the_namespace_are_left_out(sleeper: Sleeper, four: None) -> None:
    sleeper.setting(dream_memories=False, dream_graph=False)
    asked, script = asking()
    sleeper.dream(script)
    assert asked == ["entities", "preferences"]


def test_a_pass_that_is_asked_for_by_name_runs_even_if_it_is_switched_off(sleeper: Sleeper, four: None) -> None:
    sleeper.setting(dream_graph=False)
    asked, script = asking()
    sleeper.dream(script, passes=["graph", "memories"])
    assert asked == ["memories", "graph"]


def test_a_finished_dream_says_what_each_pass_did(sleeper: Sleeper, four: None) -> None:
    job = sleeper.job(passes=["entities", "graph"])
    sleeper.dream(asking()[1], job)
    state = sleeper.state(job.id)
    told = {"outcome": "applied", "seen": 1, "proposed": 0, "applied": 0, "refused": 0}
    assert (state["state"], state["result"]) == ("succeeded", {"entities": told, "graph": told})


# Failures


def test_a_pass_that_fails_keeps_no_other_from_running(sleeper: Sleeper, four: None) -> None:
    asked, script = asking({"entities": ModelError("the endpoint is down")})
    job = sleeper.job()
    with pytest.raises(PassesFailed, match="entities: ModelError: the endpoint is down"):
        sleeper.dream(script, job)
    assert asked == list(NAMES)
    assert [row["pass"] for row in sleeper.reports()] == ["graph", "preferences", "memories"]
    assert sleeper.state(job.id)["finished_at"] is None


def test_only_what_failed_is_tried_again(sleeper: Sleeper, four: None) -> None:
    job = sleeper.job()
    with pytest.raises(PassesFailed):
        sleeper.dream(asking({"entities": InvalidAnswer("no JSON")})[1], job)
    asked, script = asking()
    sleeper.dream(script, job)
    assert asked == ["entities"]
    assert set(sleeper.state(job.id)["result"]) == set(NAMES)


def test_the_longest_wait_that_an_endpoint_asked_for_is_kept(sleeper: Sleeper, four: None) -> None:
    failing = {"memories": ModelError("slow", retry_after=3.0), "graph": ModelError("slower", retry_after=9.0)}
    with pytest.raises(PassesFailed) as caught:
        sleeper.dream(asking(failing)[1])
    assert (caught.value.retry_after, caught.value.final) == (9.0, False)


def test_a_dream_waits_for_the_operator_only_if_no_failure_could_heal_by_itself(sleeper: Sleeper, four: None) -> None:
    with pytest.raises(PassesFailed) as caught:
        sleeper.dream(asking({"memories": ModelError("no such model", final=True), "graph": ModelError("down")})[1])
    assert not caught.value.final
    with pytest.raises(PassesFailed) as caught:
        sleeper.dream(asking({"memories": ModelError("no such model", final=True)})[1])
    assert caught.value.final


def test_the_last_failure_of_one_pass_leaves_another_waiting_for_the_operator(sleeper: Sleeper, four: None) -> None:
    failing = {"memories": ModelError("no such model", final=True), "graph": ModelError("down")}
    with pytest.raises(PassesFailed, match=r"memories: ModelError: no such model$") as caught:
        sleeper.dream(asking(failing)[1], attempts=1)
    assert caught.value.final
    assert ([row["outcome"] for row in sleeper.reports("graph")], sleeper.reports("memories")) == (["failed"], [])


def test_the_last_failure_leaves_a_report_of_each_pass_that_failed(sleeper: Sleeper, four: None) -> None:
    job = sleeper.job()
    with pytest.raises(PassesFailed):
        sleeper.dream(asking({"entities": ModelError("the endpoint is down")})[1], job, attempts=1)
    (report,) = sleeper.reports("entities")
    assert (report["outcome"], report["error"], report["operation_id"]) == ("failed", "ModelError: the endpoint is down", None)


def test_a_pass_that_failed_for_good_runs_when_the_job_is_tried_again_by_hand(sleeper: Sleeper, four: None) -> None:
    job = sleeper.job()
    with pytest.raises(PassesFailed):
        sleeper.dream(asking({"entities": ModelError("the endpoint is down")})[1], job, attempts=1)
    asked, script = asking()
    sleeper.dream(script, job)
    assert asked == ["entities"]
    assert [row["outcome"] for row in sleeper.reports("entities")] == ["applied"]


def test_an_error_of_the_database_in_a_report_quotes_no_row(sleeper: Sleeper, four: None) -> None:
    class Broken(Exception):
        pass

    Broken.__module__ = "psycopg.errors"
    with pytest.raises(PassesFailed):
        sleeper.dream(asking({"graph": Broken("Failing row contains (my password)")})[1], attempts=1)
    assert "password" not in str(sleeper.reports("graph")[0]["error"])


def test_without_a_model_a_dream_waits_for_the_operator_and_the_log_stays(sleeper: Sleeper) -> None:
    sleeper.say("Hello")
    job = sleeper.job()
    with pytest.raises(NeedsModel) as caught:
        sleeper.run(lambda work: run_dream(work, job), None)
    assert caught.value.final
    assert sleeper.logged() == ["Hello"]


def test_a_postponement_stops_a_dream_and_is_no_failure(sleeper: Sleeper, four: None) -> None:
    asked, script = asking({"entities": Postponed("the budget of the day is spent", datetime(2030, 1, 1, tzinfo=UTC))})
    job = sleeper.job()
    with pytest.raises(Postponed):
        sleeper.dream(script, job)
    assert asked == ["memories", "entities"]
    asked, script = asking()
    sleeper.dream(script, job)
    assert asked == ["entities", "preferences", "graph"]


# The log of conversations


@pytest.fixture
def one_reader(sleeper: Sleeper) -> Sleeper:
    """A namespace where only preferences are learned from conversations."""
    sleeper.setting(dream_entities=False)
    return sleeper


@pytest.mark.row("W3")
def test_a_dream_that_succeeds_clears_exactly_the_turns_that_it_has_read(one_reader: Sleeper) -> None:
    one_reader.say("Use tabs!")

    def thinking(_: Row) -> Row:
        one_reader.say("said meanwhile")
        return preferences()

    one_reader.dream(thinking, passes=["preferences"])
    assert one_reader.logged() == ["said meanwhile"]


def test_clearing_the_log_is_part_of_the_passs_operations(one_reader: Sleeper) -> None:
    one_reader.setting(replayed_turns=0)
    one_reader.say("Use tabs!")
    one_reader.dream(preferences(), passes=["preferences"])
    (operation,) = one_reader.world.rows("select * from loci.list_operations(%(ns)s, p_action => 'dream_preferences')")
    assert (operation["via"], operation["changes"]) == ("worker", {"turn.erased": 1})


@pytest.mark.parametrize("first", ["entities", "preferences"])
def test_a_turn_leaves_the_log_when_every_pass_has_read_it_that_is_switched_on(sleeper: Sleeper, first: str) -> None:
    sleeper.say("Use tabs!")
    asked: list[str] = []

    def script(data: Row) -> Row:
        asked.append("preferences" if "conversations" in data else "entities")
        return preferences() if "conversations" in data else {"entities": [], "triples": []}

    sleeper.dream(script, passes=[first])
    assert (asked, sleeper.logged()) == ([first], ["Use tabs!"])
    sleeper.dream(script, passes=[first])
    assert asked == [first]  # what it has read it is not shown again
    sleeper.dream(script, passes=["entities", "preferences"])
    assert (sorted(asked), sleeper.logged()) == (["entities", "preferences"], [])


def test_turns_left_for_a_disabled_pass_leave_the_log_with_the_next_dream(sleeper: Sleeper) -> None:
    sleeper.say("Use tabs!")
    sleeper.dream({"entities": [], "triples": []}, passes=["entities"])
    sleeper.setting(dream_preferences=False)
    sleeper.dream({"entities": [], "triples": []}, passes=["entities"])
    assert sleeper.logged() == []


@pytest.mark.parametrize("passes", [None, ["memories"]])
def test_unread_turns_stay_in_the_log_though_no_pass_wants_them(sleeper: Sleeper, four: None, passes: list[str] | None) -> None:
    sleeper.setting(dream_entities=False, dream_preferences=False)
    sleeper.say("Use tabs!")
    sleeper.dream(asking()[1], passes=passes)
    assert sleeper.logged() == ["Use tabs!"]


ENDINGS = {
    "an endpoint that is down": ModelError("the endpoint is down"),
    "a wrong key": ModelError("401", final=True),
    "a refusal": InvalidAnswer("the model refused to answer"),
    "an answer that was cut off": InvalidAnswer("the answer was cut off"),
    "an answer that is none": "no JSON",
    "an answer to another question": {"merges": []},
    "a defect": RuntimeError("unexpected"),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("queue", ["failed", "aborted"])
def test_however_a_pass_fails_the_log_keeps_what_it_has_not_read(one_reader: Sleeper, ending: str, queue: str) -> None:
    one_reader.say("Use tabs!")
    job = one_reader.job(passes=["preferences"])
    with pytest.raises(PassesFailed):
        one_reader.dream(ENDINGS[ending], job, attempts=1)
    one_reader.ended(job, queue)
    assert (one_reader.state(job.id)["finished_at"] is not None, one_reader.logged()) == (True, ["Use tabs!"])
    one_reader.dream(preferences(preference("User wants tabs", 1, strength="strong")), passes=["preferences"])
    assert ([row["content"] for row in one_reader.preferences()], one_reader.logged()) == (["User wants tabs"], [])


@pytest.mark.parametrize("context", [2000, 3000])
def test_a_log_that_does_not_fit_the_context_is_read_in_pages(one_reader: Sleeper, context: int) -> None:
    one_reader.say(*(f"For report number {n}, use tabs and never spaces, please!" for n in range(60)))
    pages = []

    def script(data: Row) -> Row:
        pages.append([turn["said"] for conversation in data["conversations"] for turn in conversation["turns"]])
        return preferences()

    model = ScriptedModel(script, sizes=Sizes(context))
    job = one_reader.job(passes=["preferences"])
    while job is not None:
        one_reader.run(lambda work, job=job: run_dream(work, job), model)
        one_reader.ended(job, "succeeded")
        waiting = one_reader.world.rows(
            "select id from loci_data.jobs where namespace_id = %(ns_id)s and kind = 'dream' and state = 'waiting'"
        )
        job = one_reader.begun(waiting[0]["id"]) if waiting else None
    assert len(pages) > 1
    assert [turn for page in pages for turn in page] == [
        f"For report number {n}, use tabs and never spaces, please!" for n in range(60)
    ]
    assert one_reader.logged() == []
    longest = max(sum(len(message["content"].encode()) for message in heard) for heard in model.heard)
    assert longest / UNMEASURED_BYTES_PER_TOKEN + context // 4 <= context


def test_a_context_that_holds_no_turn_keeps_the_log_and_waits_for_the_operator(one_reader: Sleeper) -> None:
    one_reader.say("Use tabs!")
    job = one_reader.job(passes=["preferences"])
    model = ScriptedModel(preferences(), sizes=Sizes(500))
    with pytest.raises(PassesFailed, match="is longer than the model's context: raise LOCI_LLM__CONTEXT") as caught:
        one_reader.run(lambda work: run_dream(work, job), model)
    assert (caught.value.final, model.calls, one_reader.logged()) == (True, 0, ["Use tabs!"])


def test_a_page_that_the_endpoint_refuses_is_asked_again_smaller(one_reader: Sleeper) -> None:
    one_reader.say(*(f"For report number {n}, use tabs and never spaces, please!" for n in range(20)))
    sizes, asked = Sizes(), []

    def script(data: Row) -> Any:
        asked.append(sum(len(conversation["turns"]) for conversation in data["conversations"]))
        if asked[-1] > 5:
            sizes.learn_context(round(0.8 * (sizes.context or 3000)))
            return TooLong("the endpoint cuts prompts")
        return preferences()

    job = one_reader.job(passes=["preferences"])
    one_reader.run(lambda work: run_dream(work, job), ScriptedModel(script, sizes=sizes))
    assert (asked[0], asked[-1] <= 5, len(one_reader.logged())) == (20, True, 20 - asked[-1])


def test_a_kill_between_the_answer_and_the_report_loses_no_turn(one_reader: Sleeper, monkeypatch: pytest.MonkeyPatch) -> None:
    one_reader.say("Use tabs!")
    job = one_reader.job(passes=["preferences"])

    class Killed(BaseException):
        pass

    async def killed(*_: Any, **__: Any) -> None:
        raise Killed

    monkeypatch.setattr("service.dreams.passes._record_report", killed)
    with pytest.raises(Killed):
        one_reader.dream(preferences(preference("User wants tabs", 1, strength="strong")), job)
    assert (one_reader.preferences(), one_reader.logged()) == ([], ["Use tabs!"])
    monkeypatch.undo()
    one_reader.dream(preferences(preference("User wants tabs", 1, strength="strong")), job)
    (kept,) = one_reader.preferences()
    assert (kept["metadata"]["occurrences"], one_reader.logged()) == (1, [])


def test_a_pass_that_is_done_has_read_its_turns_whatever_becomes_of_the_others(sleeper: Sleeper) -> None:
    sleeper.say("Use tabs!")
    job = sleeper.job(passes=["entities", "preferences"])

    def script(data: Row) -> Row:
        if "texts" in data:
            raise ModelError("the endpoint is down")
        return preferences(preference("User wants tabs", 1, strength="strong"))

    with pytest.raises(PassesFailed):
        sleeper.dream(script, job, attempts=1)
    sleeper.ended(job, "failed")
    assert sleeper.logged() == ["Use tabs!"]
    model = sleeper.dream({"entities": [], "triples": []}, passes=["entities", "preferences"])
    assert (len(model.heard), sleeper.logged()) == (1, [])  # preferences had read it


def test_a_dream_that_is_skipped_leaves_the_log(one_reader: Sleeper) -> None:
    one_reader.say("Use tabs!")
    job = one_reader.job(passes=["preferences"])
    with pytest.raises(PassesFailed):
        one_reader.dream("no JSON", job)
    one_reader.world.rows("select loci_api.finish_job(%(ns)s, %(id)s, null, 'skipped', 'busy')", id=job.id)
    assert (one_reader.state(job.id)["state"], one_reader.logged()) == ("skipped", ["Use tabs!"])


@pytest.mark.parametrize("answer", ["no JSON", preferences()])
def test_a_dry_run_leaves_the_log_also_when_it_dies(one_reader: Sleeper, answer: Any) -> None:
    one_reader.say("Use tabs!")
    job = one_reader.job(passes=["preferences"], dry_run=True)
    with suppress(PassesFailed):
        one_reader.dream(answer, job, attempts=1)
    one_reader.ended(job, "failed")
    assert one_reader.logged() == ["Use tabs!"]


def test_passes_that_do_not_read_the_log_leave_it(sleeper: Sleeper, four: None) -> None:
    sleeper.say("Use tabs!")
    sleeper.dream(asking()[1], passes=["memories", "graph"])
    assert sleeper.logged() == ["Use tabs!"]


def test_a_dream_reads_the_oldest_turns_up_to_its_limit(one_reader: Sleeper) -> None:
    one_reader.setting(dream_limit=2)
    one_reader.say("one tab", "two tabs", "three tabs")
    model = one_reader.dream(preferences(preference("User likes tabs", 1, 2, 3)), passes=["preferences"])
    assert "three" not in model.heard[0][1]["content"]
    assert one_reader.logged() == ["three tabs"]


def test_a_turn_that_no_model_can_read_is_alone_in_the_end_and_all_others_are_read(one_reader: Sleeper) -> None:
    one_reader.setting(dream_limit=8)
    one_reader.say(*(f"turn {n}" for n in range(7)), "turn of poison")
    shown: list[list[str]] = []

    def script(data: Row) -> Row:
        shown.append([turn["said"] for said in data["conversations"] for turn in said["turns"]])
        if "turn of poison" in shown[-1]:
            raise InvalidAnswer("the model refused to answer")
        return preferences()

    for _ in range(12):
        with suppress(PassesFailed):
            one_reader.dream(script, passes=["preferences"])
    assert one_reader.logged() == shown[-1] == ["turn of poison"]
    assert len(shown[0]) == 8
    one_reader.say("said since")
    one_reader.dream(script, passes=["preferences"])
    assert one_reader.logged() == ["turn of poison"]  # what is new does not wait for it


def test_an_endpoint_that_is_down_makes_no_dream_smaller(one_reader: Sleeper) -> None:
    one_reader.say("one", "two")
    job = one_reader.job(passes=["preferences"])
    for _ in range(3):
        with pytest.raises(PassesFailed):
            one_reader.dream(ModelError("the endpoint is down"), job)
    model = one_reader.dream(preferences(), job)
    assert all(word in model.heard[0][1]["content"] for word in ("one", "two"))


def waiting(sleeper: Sleeper) -> list[Row]:
    return sleeper.world.rows(
        "select arguments, key, turn from loci_data.jobs where namespace_id = %(ns_id)s and finished_at is null order by id"
    )


def test_another_dream_follows_where_the_log_holds_more_than_one_reads(sleeper: Sleeper) -> None:
    sleeper.setting(dream_limit=2, dream_entities=False)
    sleeper.say("one", "two", "three")
    sleeper.dream(preferences(), passes=["preferences"], scheduled=False)
    (following,) = waiting(sleeper)
    assert following == {"arguments": {"passes": ["preferences"], "scheduled": False}, "key": "log", "turn": "dream"}
    sleeper.dream(preferences(), passes=["preferences"])
    assert (sleeper.logged(), waiting(sleeper)) == ([], [following])


@pytest.mark.parametrize("arguments", [{"passes": ["preferences"], "dry_run": True}, {"passes": ["preferences"]}])
def test_no_other_dream_follows_a_dry_run_or_one_that_has_read_all(sleeper: Sleeper, arguments: Row) -> None:
    sleeper.setting(dream_limit=2)
    sleeper.say("one", *(["two"] if arguments.get("dry_run") else []))
    sleeper.dream(preferences(), **arguments)
    assert waiting(sleeper) == []


# Order and names


@pytest.mark.parametrize("asked", [None, []])
def test_naming_no_pass_asks_for_all_that_are_wanted(sleeper: Sleeper, four: None, asked: list[str] | None) -> None:
    assert wanted_passes(sleeper.job(passes=asked)) == list(NAMES)
