"""A model as the last judge of contradictions: pairs on which all signals are silent."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from db.errors import NeedsModel
from service.dreams.contradictions import CONTRADICTIONS, judge_contradictions
from service.llm.model import InvalidAnswer
from tests.blocking import started
from tests.catalogue import ROOT
from tests.databases import Database
from tests.dreams.stage import LOOP, Stage, shown, staged
from tests.factories import OPERATOR, Row, day, stated
from tests.services import PATIENCE

PAIRS = [json.loads(line) for line in (ROOT / "bench/data/supersession.jsonl").read_text().splitlines()]
VEGETARIAN = ("Alice is a strict vegetarian", "Alice eats a strict steak diet")
INTERN = ("Dan is an intern at Acme", "Dan was promoted to full-time engineer at Acme")


@pytest.fixture
def stage(own_database: Database) -> Iterator[Stage]:
    with staged(own_database) as made:
        made.setting(supersession_model="apply", dream_removed_share=1)
        made.world.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Alice"}]\')')
        yield made


def aspect(stage: Stage, name: str = "Life", **fields: Any) -> UUID:
    row = stage.world.row("select * from loci_api.upsert_aspect(%(ns)s, 'Alice', %(a)s)", a=Jsonb({"name": name, **fields}))
    found: UUID = row["id"]
    return found


def add(stage: Stage, content: str, under: UUID | None = None, **fields: Any) -> UUID:
    row = stage.world.row(
        "select * from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)",
        id=under or aspect(stage),
        a=Jsonb(stated({"content": content, **fields})),
    )
    assert not row["superseded"], f"{content}: a signal fired"
    found: UUID = row["id"]
    return found


def add_pair(stage: Stage, pair: tuple[str, str] = INTERN, under: UUID | None = None, **fields: Any) -> tuple[UUID, UUID]:
    under = under or aspect(stage)
    return add(stage, pair[0], under, **fields), add(stage, pair[1], under)


def says(contradicts: bool = True, confidence: float = 0.9, reason: str = "") -> Any:
    """A script that answers every pair alike."""
    return lambda data: {
        "verdicts": [
            {"pair": pair["pair"], "contradicts": contradicts, "confidence": confidence, "reason": reason} for pair in data["pairs"]
        ]
    }


def verdict(pair: int, contradicts: bool = True, confidence: float = 0.9) -> Row:
    return {"pair": pair, "contradicts": contradicts, "confidence": confidence, "reason": ""}


def status(stage: Stage, id: UUID) -> str:
    found: str = stage.world.value("select status from loci_data.attributes where namespace_id = %(ns_id)s and id = %(id)s", id=id)
    return found


def decisions(stage: Stage) -> list[Row]:
    return stage.world.rows("select * from loci.list_supersessions(%(ns)s, p_signal => 'model')")


def held(stage: Stage, as_of: datetime | None = None, known_at: datetime | None = None) -> list[str]:
    rows = stage.world.rows(
        "select * from loci.list_aspects(%(ns)s, 'alice', %(as_of)s, %(known_at)s)", as_of=as_of, known_at=known_at
    )
    return sorted(item["content"] for row in rows for item in row["attributes"])


def verdicts(stage: Stage) -> list[Row]:
    return stage.world.rows(
        "select * from loci_data.supersession_verdicts where namespace_id = %(ns_id)s order by older_id, newer_id"
    )


# What is asked


def test_the_model_is_shown_both_texts_with_the_times_of_each_and_what_they_are_about(stage: Stage) -> None:
    under = aspect(stage, "Work")
    add(stage, INTERN[1], under, valid_from=day(40))
    add(stage, INTERN[0], under, valid_from=day(10), valid_to=day(100))
    report = stage.perform(CONTRADICTIONS, says(False))
    assert (report.outcome, report.seen, report.proposed) == ("applied", 1, 0)
    (pair,) = shown(stage.heard[1])["pairs"]
    assert pair == {
        "pair": 1,
        "about": "Alice",
        "aspect": "Work",
        "older": {"statement": INTERN[0], "since": "2020-01-11", "until": "2020-04-10"},
        "newer": {"statement": INTERN[1], "since": "2020-02-10"},
    }


@pytest.mark.parametrize(
    ("pair", "fields", "declared"),
    [
        (("Alice likes green tea", "Alice visited Oslo"), {}, None),  # one word in common
        (("Alice eats meat", "Bob owns a dog"), {}, None),
        (INTERN, {"kind": "constraint"}, None),
        (INTERN, {}, False),
        (INTERN, {"valid_from": day(1), "valid_to": day(2)}, None),
        (("Alice likes green tea", "alice likes GREEN tea"), {}, None),
        (("Alice likes green tea", "Alice likes " + "green " * 200 + "tea"), {}, None),
    ],
    ids=["few words", "none", "constraint", "multi-valued", "over before", "the same", "no atomic fact"],
)
def test_pairs_that_cannot_or_may_not_conflict_are_not_asked_about(
    stage: Stage, pair: tuple[str, str], fields: Row, declared: bool | None
) -> None:
    add_pair(stage, pair, aspect(stage, single_valued=declared), **fields)
    report = stage.perform(CONTRADICTIONS, says())
    assert (report.outcome, report.seen, stage.heard) == ("unchanged", 0, [])


def test_siblings_are_facts_of_one_aspect(stage: Stage) -> None:
    add(stage, INTERN[0], aspect(stage, "Work"))
    add(stage, INTERN[1], aspect(stage, "Life"))
    assert stage.perform(CONTRADICTIONS, says()).seen == 0


@pytest.mark.row("S7")
def test_a_pair_on_which_a_signal_fires_is_not_asked_about_whatever_became_of_it(stage: Stage) -> None:
    stage.setting(supersession="propose")
    under = aspect(stage)
    add(stage, "Alice eats red meat", under)
    add(stage, "Alice does not eat red meat", under)
    assert stage.perform(CONTRADICTIONS, says()).seen == 0


def test_a_fact_is_compared_with_the_siblings_that_share_most_words_with_it(stage: Stage) -> None:
    stage.setting(supersession_model_siblings=1)
    under = aspect(stage)
    for text in ("Alice met Bob once", "Alice met Bob in Oslo with Carol", "Alice met Bob in Turin with Carol"):
        add(stage, text, under)
    stage.perform(CONTRADICTIONS, says(False))
    pairs = {(pair["older"]["statement"], pair["newer"]["statement"]) for pair in shown(stage.heard[1])["pairs"]}
    assert len(pairs) == 2  # of three
    assert ("Alice met Bob in Oslo with Carol", "Alice met Bob in Turin with Carol") in pairs


# What is done


def test_a_contradicted_fact_is_superseded_with_the_signal_model(stage: Stage) -> None:
    older, newer = add_pair(stage)
    report = stage.perform(CONTRADICTIONS, says(True, 0.93, "an Intern is no engineer, says Mallory"))
    (made,) = decisions(stage)
    assert (made["older_id"], made["newer_id"], made["status"], made["origin"]) == (older, newer, "applied", "pass")
    assert (made["signal"], made["confidence"], made["evidence"]) == ("model", 0.93, ["an", "intern", "is", "engineer"])
    assert held(stage) == [INTERN[1]]
    assert (report.outcome, report.proposed, report.applied, report.refused) == ("applied", 1, 1, [])
    assert report.changes == [{"action": "supersede", "ids": [str(made["id"])]}]


def test_earlier_beliefs_are_still_told(stage: Stage) -> None:
    under = aspect(stage)
    add(stage, INTERN[0], under, valid_from=day(10))
    add(stage, INTERN[1], under, valid_from=day(40))
    before = stage.world.now()
    stage.perform(CONTRADICTIONS, says())
    assert held(stage, as_of=day(20)) == [INTERN[0]]
    assert held(stage, as_of=day(50)) == [INTERN[1]]
    assert held(stage, as_of=day(50), known_at=before) == sorted(INTERN)


@pytest.mark.parametrize(
    "settings", [{"supersession_model": "propose"}, {"supersession": "propose"}, {"supersession_model": "off"}]
)
def test_a_namespace_that_wants_proposals_supersedes_nothing(stage: Stage, settings: Row) -> None:
    stage.setting(**settings)
    older, _ = add_pair(stage)
    report = stage.perform(CONTRADICTIONS, says())
    (made,) = decisions(stage)
    assert (made["status"], status(stage, older), report.applied) == ("proposed", "active", 1)
    stage.world.row("select * from loci_api.apply_supersession(%(ns)s, %(id)s)", id=made["id"])
    assert status(stage, older) == "superseded"


def test_undoing_the_decision_brings_the_fact_back_and_the_pair_is_not_asked_about_again(stage: Stage) -> None:
    older, _ = add_pair(stage)
    stage.perform(CONTRADICTIONS, says())
    stage.world.row("select * from loci_api.undo_supersession(%(ns)s, %(id)s)", id=decisions(stage)[0]["id"])
    assert status(stage, older) == "active"
    assert stage.perform(CONTRADICTIONS, says()).seen == 0


def test_undoing_the_operation_of_the_pass_brings_every_fact_back(stage: Stage) -> None:
    before = [add_pair(stage, INTERN, aspect(stage, name))[0] for name in ("Work", "Life")]
    state = held(stage)
    report = stage.perform(CONTRADICTIONS, says())
    assert [status(stage, fact) for fact in before] == ["superseded"] * 2
    stage.undo(report.operation_id)
    assert held(stage) == state
    assert {row["status"] for row in decisions(stage)} == {"undone"}
    assert stage.perform(CONTRADICTIONS, says()).seen == 0


def test_a_pair_that_was_judged_to_be_none_is_never_asked_about_twice(stage: Stage) -> None:
    add_pair(stage)
    stage.perform(CONTRADICTIONS, says(False))
    (kept,) = verdicts(stage)
    assert (kept["contradicts"], kept["confidence"]) == (False, 0.9)
    stage.world.rows("select * from loci_api.sweep_supersessions(%(ns)s)")
    assert stage.perform(CONTRADICTIONS, says()).seen == 0


def test_a_pair_that_the_answer_leaves_out_is_not_asked_about_for_ever(stage: Stage) -> None:
    add_pair(stage)
    report = stage.perform(CONTRADICTIONS, {"verdicts": []})
    assert (report.seen, report.proposed, report.applied) == (1, 0, 0)
    assert [row["contradicts"] for row in verdicts(stage)] == [None]
    assert stage.perform(CONTRADICTIONS, says()).seen == 0


def test_a_fact_that_several_contradict_is_superseded_by_the_first(stage: Stage) -> None:
    under = aspect(stage)
    texts = (INTERN[0], "Dan is head of sales at Acme", INTERN[1])
    first, second, third = (add(stage, text, under, valid_from=day(10 * n)) for n, text in enumerate(texts))
    report = stage.perform(CONTRADICTIONS, says())
    found = stage.world.rows("select id, superseded_by from loci_data.attributes where namespace_id = %(ns_id)s order by id")
    assert [row["superseded_by"] for row in found] == [second, third, None]
    assert [row["guard"] for row in report.refused] == ["overtaken"]
    assert report.proposed == report.applied + len(report.refused) == 3
    assert status(stage, first) == "superseded"


# What is refused


def test_less_sure_than_the_threshold_is_not_acted_on(stage: Stage) -> None:
    older, _ = add_pair(stage)
    report = stage.perform(CONTRADICTIONS, says(True, 0.69))
    assert (status(stage, older), decisions(stage)) == ("active", [])
    assert [row["guard"] for row in report.refused] == ["unsure"]


def test_a_pair_that_was_not_shown_is_refused(stage: Stage) -> None:
    older, _ = add_pair(stage)
    report = stage.perform(CONTRADICTIONS, {"verdicts": [verdict(n) for n in (-1, 0, 2, 10**12)] + [verdict(1, False)]})
    assert [row["guard"] for row in report.refused] == ["unknown"] * 4
    assert (report.proposed, status(stage, older)) == (4, "active")


def test_an_answer_that_says_both_of_a_pair_decides_nothing(stage: Stage) -> None:
    older, _ = add_pair(stage)
    report = stage.perform(CONTRADICTIONS, {"verdicts": [verdict(1), verdict(1, False)]})
    assert [row["guard"] for row in report.refused] == ["twice"]
    assert (status(stage, older), verdicts(stage)[0]["contradicts"]) == ("active", None)


def test_the_least_sure_of_agreeing_verdicts_counts(stage: Stage) -> None:
    older, _ = add_pair(stage)
    stage.perform(CONTRADICTIONS, {"verdicts": [verdict(1), verdict(1, confidence=0.2)]})
    assert status(stage, older) == "active"


@pytest.mark.parametrize(
    "meanwhile",
    [
        'select * from loci_api.update_attribute(%(ns)s, %(older)s, \'{"content": "Dan is an intern at Globex"}\')',
        'select * from loci_api.update_attribute(%(ns)s, %(newer)s, \'{"status": "deleted"}\')',
        'select * from loci_api.upsert_aspect(%(ns)s, \'Alice\', \'{"name": "Life", "single_valued": false}\')',
    ],
    ids=["older replaced", "newer deleted", "declared multi-valued"],
)
def test_a_pair_that_changed_since_it_was_shown_is_left_alone(stage: Stage, meanwhile: Any) -> None:
    older, newer = add_pair(stage)

    def thinks(data: Any) -> Any:
        stage.world.rows(meanwhile, older=older, newer=newer)
        return says()(data)

    report = stage.perform(CONTRADICTIONS, thinks)
    assert [row["guard"] for row in report.refused] == ["changed"]
    assert decisions(stage) == []
    assert (
        stage.world.rows("select from loci_data.attributes where namespace_id = %(ns_id)s and superseded_by = %(n)s", n=newer) == []
    )


@pytest.mark.parametrize("protection", ["the fact", "its memory", "its observations"])
def test_an_important_fact_is_only_proposed(stage: Stage, protection: str) -> None:
    fields: Row = {"importance": 0.8}
    if protection != "the fact":
        memory = stage.world.write(INTERN[0], importance=0.8 if protection == "its memory" else 0.1)["id"]
        for _ in range(0 if protection == "its memory" else 4):
            stage.world.write(INTERN[0])
        fields = {"memory_id": memory}
    older, _ = add_pair(stage, **fields)
    report = stage.perform(CONTRADICTIONS, says())
    assert (status(stage, older), [row["status"] for row in decisions(stage)]) == ("active", ["proposed"])
    assert report.changes[0]["guard"] == "protected"


def test_a_fact_that_outlasts_the_newer_one_is_only_proposed(stage: Stage) -> None:
    under = aspect(stage)
    older = add(stage, INTERN[0], under, valid_from=day(1))
    add(stage, INTERN[1], under, valid_from=day(2), valid_to=day(3))
    report = stage.perform(CONTRADICTIONS, says())
    assert (status(stage, older), report.changes[0]["guard"]) == ("active", "shorter")


def test_a_model_that_says_yes_to_everything_supersedes_no_more_than_the_share(stage: Stage) -> None:
    stage.setting(dream_removed_share=0.1)
    older = [add_pair(stage, INTERN, aspect(stage, f"Aspect {n}"))[0] for n in range(5)]
    report = stage.perform(CONTRADICTIONS, says())
    assert (report.outcome, report.applied, report.operation_id) == ("stopped", 0, None)
    assert "dream_removed_share" in (report.error or "")
    assert {row["guard"] for row in report.refused} == {"breaker"}
    assert [status(stage, fact) for fact in older] == ["active"] * 5
    assert [row["status"] for row in decisions(stage)] == ["proposed"] * 5


def test_the_share_is_one_of_a_day_not_of_a_call(stage: Stage) -> None:
    stage.setting(dream_removed_share=0.1)
    for number in range(4):
        add_pair(stage, INTERN, aspect(stage, f"Aspect {number}"))
        stage.perform(CONTRADICTIONS, says())
    assert [row["status"] for row in decisions(stage)] == ["proposed", "proposed", "proposed", "applied"]


@pytest.mark.parametrize(
    "answer",
    [
        "no JSON",
        '{"verdicts": [{"pair": 1',
        [],
        {"verdicts": [{"pair": 1, "contradicts": True, "confidence": 1.5, "reason": ""}]},
        {"verdicts": [{"pair": 1, "contradicts": True, "confidence": 0.9, "reason": "", "delete": "all"}]},
        {"verdicts": [{"pair": 1, "contradicts": "perhaps", "confidence": 0.9, "reason": ""}]},
        {"verdicts": [], "applied": True},
    ],
)
def test_an_invalid_answer_changes_nothing_and_the_pair_is_asked_about_again(stage: Stage, answer: Any) -> None:
    older, _ = add_pair(stage)
    with pytest.raises(InvalidAnswer):
        stage.perform(CONTRADICTIONS, answer)
    assert (status(stage, older), verdicts(stage), decisions(stage)) == ("active", [], [])
    assert stage.perform(CONTRADICTIONS, says()).applied == 1


def test_a_dry_run_writes_nothing_but_its_report(stage: Stage) -> None:
    older, _ = add_pair(stage)
    report = stage.perform(CONTRADICTIONS, says(), dry_run=True)
    assert (report.outcome, report.applied, report.operation_id) == ("planned", 1, None)
    assert (status(stage, older), verdicts(stage), decisions(stage)) == ("active", [], [])


# When


def test_a_fact_that_is_written_leaves_one_job_for_all_that_wait(stage: Stage) -> None:
    add_pair(stage)
    add_pair(stage, under=aspect(stage, "Work"))
    assert [(job["state"], job["turn"], job["arguments"]) for job in stage.jobs("contradictions")] == [("waiting", "dream", {})]


@pytest.mark.parametrize("settings", [{"supersession_model": "off"}, {"supersession": "off"}])
def test_a_judge_that_is_off_leaves_no_job(stage: Stage, settings: Row) -> None:
    stage.setting(**settings)
    add_pair(stage)
    assert stage.jobs("contradictions") == []


def test_the_job_asks_about_what_was_written_before_it_was_switched_on_too(stage: Stage) -> None:
    stage.setting(supersession_model="off")
    older, _ = add_pair(stage)
    stage.setting(supersession_model="apply")
    add(stage, "Something else happened")
    stage.handle(judge_contradictions, says(), stage.job("contradictions"))
    assert status(stage, older) == "superseded"


def test_facts_beyond_one_question_are_left_to_the_next_job(stage: Stage) -> None:
    stage.setting(supersession_model_pairs=2)
    older = [add_pair(stage, INTERN, aspect(stage, f"Aspect {n}"))[0] for n in range(5)]
    asked = 0
    while waiting := [job for job in stage.jobs("contradictions") if job["state"] == "waiting"]:
        job = stage.job("contradictions")
        for row in waiting:
            stage.world.rows("select loci_api.cancel_job(%(ns)s, %(id)s)", id=row["id"])
        model = stage.handle(judge_contradictions, says(), job)
        assert all(len(shown(messages[1]["content"])["pairs"]) <= 2 for messages in model.heard)
        asked += model.calls
    assert asked == 3
    assert [status(stage, fact) for fact in older] == ["superseded"] * 5


def test_without_a_model_the_job_waits_until_there_is_one(stage: Stage) -> None:
    add_pair(stage)
    work = stage.work(None)
    object.__setattr__(work, "model", None)
    with pytest.raises(NeedsModel) as later:
        LOOP.run_until_complete(judge_contradictions(work, stage.job("contradictions")))
    assert later.value.final


def test_a_fact_that_comes_back_or_moves_is_compared_again(stage: Stage) -> None:
    under = aspect(stage)
    older = add(stage, INTERN[0], under)
    stage.world.rows('select * from loci_api.update_attribute(%(ns)s, %(id)s, \'{"status": "deleted"}\')', id=older)
    newer = add(stage, INTERN[1], under)
    assert stage.perform(CONTRADICTIONS, says()).seen == 0
    stage.world.rows('select * from loci_api.update_attribute(%(ns)s, %(id)s, \'{"status": "active"}\')', id=older)
    assert stage.perform(CONTRADICTIONS, says()).seen == 1
    assert status(stage, newer) == "active"


def test_writers_who_leave_the_same_job_do_not_wait_for_each_other_in_a_circle(stage: Stage) -> None:
    one, other = aspect(stage, "Work"), aspect(stage, "Life")

    def write(connection: psycopg.Connection[Any], under: UUID, content: str) -> None:
        connection.execute("select loci_api.add_attribute(%s, %s, %s)", [stage.world.name, under, Jsonb({"content": content})])

    with ExitStack() as stack:
        first, second = (stack.enter_context(psycopg.connect(stage.database.app_url)) for _ in range(2))
        for connection in (first, second):
            connection.execute("select set_config('loci.agent', %s, false)", [str(OPERATOR)])
        write(first, other, "Alice likes green tea")
        write(second, one, INTERN[0])
        watcher = stack.enter_context(stage.database.admin())
        waiting = started(stack.enter_context(ThreadPoolExecutor(1)), watcher, first, lambda: write(first, one, INTERN[1]))
        second.commit()  # would wait for the first, which waits for this one, if the job were left earlier
        waiting.result(PATIENCE)
        first.commit()
    assert [job["state"] for job in stage.jobs("contradictions")] == ["waiting"]
    assert stage.perform(CONTRADICTIONS, says(False)).seen == 1


# How well it works, with a judge that knows


def test_a_judge_that_is_right_finds_what_the_signals_miss_among_the_labelled_pairs(stage: Stage) -> None:
    stage.setting(dream_removed_share=1)
    right = {(pair["older"], pair["newer"]): pair["label"] == "contradiction" for pair in PAIRS}
    written = stage.world.rows(
        """select p.pair ->> 'older' as older, p.pair ->> 'newer' as newer, o.id as older_id, w.id as newer_id
           from jsonb_array_elements(%(pairs)s) with ordinality p (pair, number)
           cross join lateral loci_api.upsert_aspect(%(ns)s, 'Alice',
               jsonb_build_object('name', 'Pair ' || p.number, 'single_valued', p.pair -> 'single_valued')) a
           cross join lateral loci_api.add_attribute(%(ns)s, a.id,
               jsonb_build_object('content', p.pair -> 'older', 'valid_from', %(first)s::timestamptz)) o
           cross join lateral loci_api.add_attribute(%(ns)s, case when o.id is not null then a.id end,
               jsonb_build_object('content', p.pair -> 'newer', 'valid_from', %(then)s::timestamptz)) w""",
        pairs=Jsonb(PAIRS),
        first=day(0),
        then=day(1),
    )
    known = {(row["older_id"], row["newer_id"]): right[row["older"], row["newer"]] for row in written}

    def judge(data: Any) -> Any:
        return {"verdicts": [verdict(p["pair"], right[p["older"]["statement"], p["newer"]["statement"]]) for p in data["pairs"]]}

    def scores() -> tuple[int, int]:
        rows = stage.world.rows(
            "select older_id, newer_id from loci_data.supersessions where namespace_id = %(ns_id)s and status = 'applied'"
        )
        found = [known[row["older_id"], row["newer_id"]] for row in rows]
        return sum(found), len(found)

    by_signals = scores()
    while stage.perform(CONTRADICTIONS, judge).seen:
        pass
    with_model = scores()
    assert by_signals[1] - by_signals[0] == with_model[1] - with_model[0]  # it adds no wrong one
    assert with_model[0] >= by_signals[0] + 7
    assert sum(right.values()) - with_model[0] <= 10  # these share one word
