"""Consolidation of memories: what a model may do to them, guard by guard."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from service.dreams.consolidation import MEMORIES, Consolidation, Known, check_consolidation
from service.dreams.passes import Plan, Report, Seen, run_pass
from service.jobs.job import Job
from service.llm.model import InvalidAnswer
from tests.databases import Database
from tests.dreams.dreaming import Sleeper, new_sleeper
from tests.dreams.texts import reader
from tests.factories import Row, day
from tests.llm.scripted import ScriptedModel
from tests.services import PATIENCE

NOTHING: Row = {"merges": [], "deletes": [], "refinements": [], "anti_patterns": []}


# What is shown


class Night:
    """A namespace whose memories are consolidated."""

    def __init__(self, sleeper: Sleeper) -> None:
        self.sleeper = sleeper
        self.world = sleeper.world

    def write(self, *contents: str, **fields: Any) -> list[UUID]:
        """Write memories, one by one."""
        return [self.world.write(content, **fields)["id"] for content in contents]

    def fill(self, count: int) -> None:
        """Memories that have nothing to do with anything, so that a share of them may go."""
        self.world.remember(*[{"content": f"filler number {number}", "layer": 3} for number in range(count)])

    def consolidate(self, script: Any, *, dry_run: bool = False, job: Job | None = None) -> tuple[Report, ScriptedModel]:
        """Run the pass."""
        job = job or self.sleeper.job()
        model = ScriptedModel(script)
        return self.sleeper.run(lambda work: run_pass(work, job, MEMORIES, dry_run=dry_run), model), model

    def propose(self, **lists: Any) -> Report:
        """Run the pass with an answer whose texts name memories by their content."""

        def say(data: Row) -> Row:
            numbers = {memory["content"]: memory["n"] for memory in data["memories"]}
            signals = {signal["content"]: signal["n"] for signal in data["signals"]}

            def numbered(step: Row) -> Row:
                named = {"sources": ("source_ids", numbers), "memory": ("id", numbers), "signals": ("signal_ids", signals)}
                made = {key: value for key, value in step.items() if key not in named}
                for key, (field, known) in named.items():
                    if key in step:
                        made[field] = [known[name] for name in step[key]] if isinstance(step[key], list) else known[step[key]]
                return made

            return NOTHING | {name: [numbered(step) for step in steps] for name, steps in lists.items()}

        return self.consolidate(say)[0]

    def current(self) -> list[Row]:
        """Current memories that are no filler, oldest first."""
        found = self.world.rows("select * from loci.list_memories(%(ns)s, '{}', 2000)")
        return [row for row in found[::-1] if row["layer"] != 3]

    def contents(self) -> list[str]:
        """What they say."""
        return [row["content"] for row in self.current()]

    def signal(self, content: str, kind: str = "correction", **fields: Any) -> UUID:
        """Note a signal."""
        signals = Jsonb([{"kind": kind, "content": content, **{key: str(value) for key, value in fields.items()}}])
        return self.world.row("select * from loci_api.record_signals(%(ns)s, %(s)s)", s=signals)["id"]

    def attribute(self, memory: UUID, content: str) -> UUID:
        """A fact about Alice that rests on a memory."""
        self.world.rows("select * from loci_api.upsert_entities(%(ns)s, %(e)s)", e=Jsonb([{"name": "Alice"}]))
        aspect = self.world.row("select id from loci_api.upsert_aspect(%(ns)s, 'Alice', %(a)s)", a=Jsonb({"name": "taste"}))["id"]
        fact = Jsonb({"content": content, "memory_id": str(memory)})
        return self.world.row("select id from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)", id=aspect, a=fact)["id"]


@pytest.fixture
def night(own_database: Database) -> Iterator[Night]:
    with new_sleeper(own_database) as sleeper:
        yield Night(sleeper)


def test_memories_are_shown_by_numbers_with_category_tags_importance_and_the_day_they_were_saved(night: Night) -> None:
    days = [datetime.now(UTC).date().isoformat()]
    night.write("Alice likes tea", category="taste", tags=["drink"], importance=0.3)
    days.append(datetime.now(UTC).date().isoformat())  # midnight may have passed
    night.write("Never deploy on Fridays", importance=0.9)
    _, model = night.consolidate(NOTHING)
    (shown,) = [message["content"] for message in model.heard[0] if message["role"] == "user"]
    assert '"id"' not in shown
    row = '{"n": 2, "category": "taste", "tags": ["drink"], "content": "Alice likes tea", "importance": 0.3, "saved": '
    assert any(f'{row}"{day}"}}' in shown for day in days)
    assert '"kept": true' in shown


def test_episodes_domains_and_what_is_over_are_not_shown(night: Night) -> None:
    night.write("we met in Oslo", layer=3)
    night.write("everything", layer=0)
    night.write("lives in Rome", valid_from=day(0), valid_to=day(1))
    night.world.rows("select * from loci_api.forget_memory(%(ns)s, %(id)s, true)", id=night.write("forget me")[0])
    report, model = night.consolidate(NOTHING)
    assert (report.outcome, model.calls) == ("unchanged", 0)


def test_many_memories_are_all_shown_in_time_and_the_newest_always(night: Night) -> None:
    night.sleeper.setting(dream_limit=10)
    night.write(*[f"thing {number}" for number in range(30)])
    shown = [
        {
            row["content"]
            for row in night.world.rows(
                "select content from loci_api.memories_to_consolidate(%(ns)s, now() + %(d)s * interval '1 day')", d=7 * week
            )
        }
        for week in range(6)
    ]
    assert all({f"thing {number}" for number in range(25, 30)} <= seen and len(seen) <= 10 for seen in shown)
    assert set().union(*shown) == {f"thing {number}" for number in range(30)}


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_a_small_limit_shows_as_many(night: Night, limit: int) -> None:
    night.sleeper.setting(dream_limit=limit)
    night.write("one", "two", "three", "four")
    assert len(night.world.rows("select id from loci_api.memories_to_consolidate(%(ns)s)")) == limit


def test_a_model_hears_the_newest_signals_of_the_week_and_no_older_ones(night: Night) -> None:
    night.sleeper.setting(dream_signals=2)
    memory = night.write("mails go out at once")[0]
    for text in ("first", "second", "third"):
        night.signal(text, memory_id=memory)
    old = night.signal("ancient")
    with night.sleeper.database.admin() as admin:
        admin.execute("update loci_data.feedback_signals set at = at - interval '8 days' where id = %s", [old])
    _, model = night.consolidate(NOTHING)
    assert '"signals": [{"n": 1, "kind": "correction", "content": "third", "about": 1}, {"n": 2' in model.heard[0][-1]["content"]
    assert "first" not in model.heard[0][-1]["content"]
    assert "ancient" not in model.heard[0][-1]["content"]


# What is done


@pytest.mark.row("L4")
def test_duplicates_become_one_that_holds_since_the_earliest_and_counts_for_all(night: Night) -> None:
    night.fill(20)
    early = night.write(
        "Alice likes tea", valid_from=day(1), importance=0.2, confidence=0.9, tags=["tea", "a"], metadata={"x": 1, "y": 1}
    )[0]
    late = night.write("Alice likes green tea", importance=0.6, confidence=0.4, tags=["green"], metadata={"x": 2, "z": 3})[0]
    night.write("Alice likes green tea")
    report = night.propose(
        merges=[
            {
                "sources": ["Alice likes tea", "Alice likes green tea"],
                "content": "Alice likes green tea and tea",
                "category": "taste",
                "tags": ["new", "a"],
            }
        ]
    )
    (merged,) = night.current()
    assert merged["content"] == "Alice likes green tea and tea"
    assert (merged["valid_from"], merged["importance"], merged["confidence"], merged["observations"]) == (day(1), 0.6, 0.9, 3)
    assert (merged["category"], merged["tags"]) == ("taste", ["tea", "a", "green", "new"])
    first = night.world.get(early)["recorded_at"]
    assert merged["metadata"] == {
        "x": 1,
        "y": 1,
        "z": 3,
        "merged_from": [str(early), str(late)],
        "first_recorded_at": merged["metadata"]["first_recorded_at"],
    }
    assert datetime.fromisoformat(merged["metadata"]["first_recorded_at"]) == first
    assert report.changes == [{"action": "merge", "ids": [str(early), str(late)], "into": str(merged["id"])}]
    assert {night.world.get(source)["status"] for source in (early, late)} == {"forgotten"}


@pytest.mark.row("L4")
def test_listed_ids_and_all_sources_of_merges_go_also_where_the_model_lists_some_twice(night: Night) -> None:
    night.fill(40)
    night.write("Alice likes tea", "Alice likes the tea", "asdf", "Bob likes jazz")
    night.propose(
        merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea a lot"}],
        deletes=[
            {"memory": "Alice likes tea", "reason": "redundant"},
            {"memory": "asdf", "reason": "noise"},
            {"memory": "asdf", "reason": "noise"},
        ],
    )
    assert night.contents() == ["Bob likes jazz", "Alice likes tea a lot"]


def test_a_merge_may_keep_the_words_of_one_of_its_sources(night: Night) -> None:
    night.write("Alice likes tea", "Alice likes the tea")
    night.propose(merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea"}])
    assert night.contents() == ["Alice likes tea"]


@pytest.mark.row("L4")
def test_a_category_and_tags_are_refined_and_tags_of_provenance_stay(night: Night) -> None:
    night.write("User is in Chicago", category="general", tags=["inferred", "x"])
    night.propose(refinements=[{"memory": "User is in Chicago", "category": "user-preferences/timezone", "tags": ["timezone"]}])
    (memory,) = night.current()
    assert (memory["category"], memory["tags"]) == ("user-preferences/timezone", ["timezone", "inferred"])


@pytest.mark.row("L4")
def test_a_correction_becomes_an_anti_pattern_of_its_domain(night: Night) -> None:
    signal = night.signal("you used search_files again; use grep for content search")
    content = "Don't use search_files for content search - use grep instead"
    report = night.propose(
        anti_patterns=[
            {
                "domain": "File Operations",
                "content": content,
                "signals": ["you used search_files again; use grep for content search"],
            }
        ]
    )
    (lesson,) = night.current()
    assert (lesson["category"], lesson["tags"], lesson["content"]) == ("anti-patterns/file-operations", ["anti-pattern"], content)
    assert lesson["metadata"] == {"source": "dream", "signals": [str(signal)]}
    assert report.changes == [{"action": "learn", "ids": [str(signal)], "into": str(lesson["id"])}]


# What hangs on memories


def test_links_and_facts_of_sources_move_to_the_merged_memory(night: Night) -> None:
    world = night.world
    top, child, friend = night.write("tastes", layer=1)[0], None, night.write("Alice drinks a lot")[0]
    one = night.write("Alice likes tea", entities=[{"name": "Alice"}], parent_id=top)[0]
    two = night.write("Alice likes the tea", entities=[{"name": "Tea"}])[0]
    child = night.write("on Sunday it was Assam", layer=3, parent_id=two)[0]
    world.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'supports', 0.7)", a=two, b=friend)
    fact = night.attribute(two, "likes tea")
    night.propose(merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}])
    merged = night.current()[-1]
    assert merged["parent_id"] == top
    assert world.get(child)["parent_id"] == merged["id"]
    links = world.rows(
        "select target_id, type, strength from loci.list_links(%(ns)s, %(id)s) where source_id = %(id)s order by type, target_id",
        id=merged["id"],
    )
    assert [(link["type"], link["target_id"]) for link in links] == [
        *(("merged_from", source) for source in sorted([one, two])),
        ("supports", friend),
    ]
    named = world.rows(
        "select e.name from loci_data.memory_mentions m join loci_data.entities e on e.id = m.entity_id where m.memory_id = %(id)s order by 1",
        id=merged["id"],
    )
    assert [row["name"] for row in named] == ["Alice", "Tea"]
    assert world.row("select status, memory_id from loci_data.attributes where id = %(id)s", id=fact) == {
        "status": "active",
        "memory_id": merged["id"],
    }


def test_undoing_a_pass_brings_every_source_back_with_what_hung_on_it_and_undoing_that_merges_again(night: Night) -> None:
    world = night.world
    night.fill(30)
    one, two, noise = night.write("Alice likes tea", "Alice likes the tea", "asdf")
    refined = night.write("lives in Oslo", category="general")[0]
    child = night.write("on Sunday it was Assam", layer=3, parent_id=two)[0]
    fact = night.attribute(two, "likes tea")
    before = datetime.now(UTC)
    report = night.propose(
        merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}],
        deletes=[{"memory": "asdf", "reason": "noise"}],
        refinements=[{"memory": "lives in Oslo", "category": "home"}],
    )
    merged = night.current()[-1]["id"]
    between = datetime.now(UTC)
    undone = night.sleeper.undo(report.operation_id or "")
    assert set(night.contents()) == {"Alice likes tea", "Alice likes the tea", "asdf", "lives in Oslo"}
    assert {world.get(back)["status"] for back in (one, two, noise)} == {"active"}
    assert world.get(merged)["status"] == "forgotten"
    assert world.get(child)["parent_id"] == two
    assert world.get(refined)["category"] == "general"
    assert world.row("select status, memory_id from loci_data.attributes where id = %(id)s", id=fact) == {
        "status": "active",
        "memory_id": two,
    }

    def known(moment: datetime) -> set[str]:
        rows = world.rows("select content from loci.memories_as_of(%(ns)s, %(t)s, %(t)s) where layer <> 3", t=moment)
        return {row["content"] for row in rows}

    assert known(before) == {"Alice likes tea", "Alice likes the tea", "asdf", "lives in Oslo"}
    assert known(between) == {"Alice likes tea much", "lives in Oslo"}
    night.sleeper.undo(undone["operation_id"])
    assert set(night.contents()) == {"Alice likes tea much", "lives in Oslo"}
    assert world.row("select status, memory_id from loci_data.attributes where id = %(id)s", id=fact) == {
        "status": "active",
        "memory_id": merged,
    }
    assert world.get(child)["parent_id"] == merged


def test_a_merge_of_merged_memories_can_be_undone_step_by_step(night: Night) -> None:
    night.sleeper.setting(dream_unchanged_days=0)
    night.write("Alice likes tea", "Alice likes the tea", "tea: Alice likes it")
    first = night.propose(merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}])
    second = night.propose(
        merges=[{"sources": ["Alice likes tea much", "tea: Alice likes it"], "content": "tea is what Alice likes much"}]
    )
    assert night.contents() == ["tea is what Alice likes much"]
    night.sleeper.undo(second.operation_id or "")
    night.sleeper.undo(first.operation_id or "")
    assert set(night.contents()) == {"Alice likes tea", "Alice likes the tea", "tea: Alice likes it"}


# Guards of texts (pure)


def seen(*contents: str, **signals: str) -> Seen:
    memories = {
        number: {"id": uuid4(), "content": content, "category": "general", "tags": [], "updated_at": day(0)}
        for number, content in enumerate(contents, 1)
    }
    heard = {
        number: {"id": uuid4(), "kind": kind, "content": content, "memory_id": None}
        for number, (content, kind) in enumerate(signals.items(), 1)
    }
    return Seen(None, len(memories), None, Known(memories, heard))


@pytest.fixture
def checked(connection: psycopg.Connection[dict]) -> Callable[..., Plan]:
    """What the check lets pass of an answer."""
    read = reader(connection)

    def checked(said: Seen, **lists: Any) -> Plan:
        return check_consolidation(replace(said, read=read), Consolidation.model_validate(NOTHING | lists), None)  # type: ignore[arg-type]

    return checked


def refused(plan: Plan) -> list[tuple[str, str]]:
    return [(refusal.guard, refusal.reason) for refusal in plan.refused]


@pytest.mark.row("L5")
@pytest.mark.parametrize(
    ("contents", "text", "guard", "reason"),
    [
        (["Alice likes tea", "Alice likes green tea"], "Likes green tea", "coverage", "the text lost Alice"),
        (["Auth uses JWT", "Auth uses tokens"], "Auth uses tokens", "coverage", "the text lost JWT"),
        (["The budget is 1,000", "The budget is a thousand"], "The budget is a thousand", "coverage", "the text lost 1,000"),
        (["Due 2024-05-01", "Due in May"], "Due in May", "coverage", "the text lost 2024-05-01"),
        (["Alice likes tea", "Alice likes green tea"], "Alice and Bob like green tea", "invented", "no source says Bob"),
        (
            ["The meeting is tomorrow", "The meeting: tomorrow"],
            "The meeting is on 2024-05-02",
            "invented",
            "no source says 2024-05-02",
        ),
        (
            ["likes tea and biscuits", "plays chess every week"],
            "likes tea",
            "unlike",
            "the text says less than half of what one of its sources says",
        ),
        (["likes tea", "likes green tea"], "likes green tea " * 20, "long", "the text is longer than all its sources together"),
        (["likes tea", "likes green tea"], "  ", "empty", "the text is empty"),
    ],
)
def test_a_merge_that_loses_or_makes_up_something_is_refused(
    checked: Callable[..., Plan], contents: list[str], text: str, guard: str, reason: str
) -> None:
    plan = checked(seen(*contents), merges=[{"source_ids": [1, 2], "content": text}])
    assert refused(plan) == [(guard, reason)]
    assert plan.steps["merges"] == []


@pytest.mark.parametrize(
    ("merges", "guard"),
    [
        ([{"source_ids": [1, 99], "content": "likes tea"}], "unknown"),
        ([{"source_ids": [1, 1], "content": "likes tea"}], "alone"),
        ([{"source_ids": [], "content": "likes tea"}], "alone"),
        ([{"source_ids": [1, 2], "content": "likes tea", "category": "a//b"}], "category"),
        ([{"source_ids": [1, 2], "content": "likes tea", "tags": [" "]}], "tags"),
    ],
)
def test_a_merge_of_what_was_not_shown_or_of_nothing_is_refused(
    checked: Callable[..., Plan], merges: list[Row], guard: str
) -> None:
    assert [pair[0] for pair in refused(checked(seen("likes tea", "likes the tea"), merges=merges))] == [guard]


@pytest.mark.parametrize(
    ("before", "after"),
    [("general", "anti-patterns/email"), ("anti-patterns/email", "general"), ("general", "user-preferences/inferred")],
)
def test_no_memory_is_passed_off_as_a_lesson_or_an_inference_nor_a_lesson_as_anything_else(
    checked: Callable[..., Plan], before: str, after: str
) -> None:
    said = seen("likes tea", "likes the tea")
    for memory in said.known.memories.values():
        memory["category"] = before
    refine = checked(said, refinements=[{"id": 1, "category": after}, {"id": 2, "tags": ["inferred", "anti-pattern", "x"]}])
    merge = checked(said, merges=[{"source_ids": [1, 2], "content": "likes tea", "category": after}])
    assert [pair[0] for plan in (refine, merge) for pair in refused(plan)] == ["category", "category"]
    assert [step["tags"] for step in refine.steps["refinements"]] == [["x"]]


def test_a_memory_in_two_merges_goes_into_neither(checked: Callable[..., Plan], night: Night) -> None:
    said = seen("likes tea", "likes the tea", "likes tea, really")
    plan = checked(said, merges=[{"source_ids": [1, 2], "content": "likes tea"}, {"source_ids": [2, 3], "content": "likes tea"}])
    assert [pair[0] for pair in refused(plan)] == ["twice", "twice"]


def test_sources_of_a_refused_merge_are_not_deleted_although_the_model_lists_them(checked: Callable[..., Plan]) -> None:
    plan = checked(
        seen("Alice likes tea", "Alice likes the tea"),
        merges=[{"source_ids": [1, 2], "content": "likes tea"}],
        deletes=[{"id": 1, "reason": "redundant"}, {"id": 2, "reason": "redundant"}],
    )
    assert [pair[0] for pair in refused(plan)] == ["coverage", "spared", "spared"]
    assert plan.steps == {"merges": [], "deletes": [], "refinements": [], "lessons": []}


def test_a_removed_or_unshown_memory_is_not_refined(checked: Callable[..., Plan]) -> None:
    deletes = [{"id": 1, "reason": "noise"}, {"id": 7, "reason": "noise"}]
    refinements = [{"id": 1, "category": "x"}, {"id": 9, "category": "x"}, {"id": 2, "category": "/x"}]
    plan = checked(seen("a", "b"), deletes=deletes, refinements=refinements)
    assert [pair[0] for pair in refused(plan)] == ["unknown", "removed", "unknown", "category"]
    assert (len(plan.steps["deletes"]), plan.steps["refinements"]) == (1, [])


@pytest.mark.parametrize(
    ("lesson", "guard"),
    [
        ({"signal_ids": [], "content": "Don't shout"}, "unknown"),
        ({"signal_ids": [9], "content": "Don't shout"}, "unknown"),
        ({"signal_ids": [2], "content": "Don't shout"}, "signals"),
        ({"signal_ids": [1], "content": "Don't mail Bob"}, "invented"),
        ({"signal_ids": [1], "content": ""}, "empty"),
        ({"signal_ids": [1], "content": "Don't shout", "domain": "a/b"}, "category"),
    ],
)
def test_an_anti_pattern_that_rests_on_no_correction_or_says_more_is_refused(
    checked: Callable[..., Plan], lesson: Row, guard: str
) -> None:
    said = seen(**{"do not shout": "correction", "well done": "praise"})
    assert [pair[0] for pair in refused(checked(said, anti_patterns=[{"domain": "email", **lesson}]))] == [guard]


# Guards of rows


@pytest.mark.row("L5")
@pytest.mark.parametrize("fields", [{"importance": 0.8}, {}])
def test_a_protected_memory_is_neither_deleted_nor_merged_and_the_whole_merge_is_refused(night: Night, fields: Row) -> None:
    night.sleeper.setting(dream_unchanged_days=0)
    night.fill(100)
    for _ in range(1 if fields else 5):
        night.write("Alice likes tea", **fields)
    night.write("Alice likes the tea", "asdf")
    report = night.propose(
        merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}],
        deletes=[{"memory": "asdf", "reason": "noise"}],
    )
    assert [(refusal["guard"], refusal["action"], len(refusal["ids"])) for refusal in report.refused] == [("protected", "merge", 2)]
    assert night.contents() == ["Alice likes tea", "Alice likes the tea"]
    report = night.propose(deletes=[{"memory": "Alice likes tea", "reason": "outdated"}])
    assert [refusal["guard"] for refusal in report.refused] == ["protected"]
    assert "Alice likes tea" in night.contents()


@pytest.mark.parametrize(
    ("fields", "guard"),
    [
        ({"layer": 1}, "layers"),
        ({"lineage": "alice-tea"}, "named"),
        ({"valid_to": datetime.now(UTC) + timedelta(days=9)}, "validity"),
    ],
)
def test_memories_that_differ_in_more_than_words_are_not_merged(night: Night, fields: Row, guard: str) -> None:
    night.write("Alice likes tea")
    night.write("Alice likes the tea", **fields)
    report = night.propose(merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}])
    assert [refusal["guard"] for refusal in report.refused] == [guard]
    assert len(night.current()) == 2


def test_memories_of_one_subject_are_merged_into_one_about_it(night: Night) -> None:
    night.write("Likes strong tea", "Likes the strong tea", about="Rosa")
    shown = ["Rosa: Likes strong tea", "Rosa: Likes the strong tea"]
    assert not night.propose(merges=[{"sources": shown, "content": "Rosa: Likes strong tea"}]).refused
    (memory,) = night.current()
    assert memory["about"] == "Rosa"


@pytest.mark.parametrize(("content", "guards"), [("rosa likes strong tea", ["subjects"]), ("rosa and emil like strong tea", [])])
def test_memories_about_two_are_merged_only_into_a_text_that_names_both(night: Night, content: str, guards: list[str]) -> None:
    night.write("Likes strong tea", about="rosa")
    night.write("Likes strong tea", about="emil")
    report = night.propose(merges=[{"sources": ["rosa: Likes strong tea", "emil: Likes strong tea"], "content": content}])
    assert [refusal["guard"] for refusal in report.refused] == guards
    assert len(night.current()) == (2 if guards else 1)


def test_a_merge_that_says_what_a_third_memory_says_is_refused(night: Night) -> None:
    night.write("Alice likes tea", "Alice likes the tea", "Alice likes tea much")
    report = night.propose(merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}])
    assert [refusal["guard"] for refusal in report.refused] == ["exists"]
    assert len(night.current()) == 3


def test_a_memory_edited_forgotten_or_erased_while_the_model_thought_is_left_alone(night: Night) -> None:
    night.fill(100)
    edited, forgotten, erased, left = night.write("Alice likes tea", "asdf", "qwer", "yxcv")

    def say(data: Row) -> Row:
        night.world.change(edited, tags=["mine"])
        night.world.rows("select * from loci_api.forget_memory(%(ns)s, %(id)s, true)", id=forgotten)
        night.world.rows("select * from loci_api.erase_memories(%(ns)s, %(ids)s)", ids=[erased])
        return NOTHING | {"deletes": [{"id": memory["n"], "reason": "noise"} for memory in data["memories"]]}

    report, _ = night.consolidate(say)
    assert {(refusal["guard"], refusal["ids"][0]) for refusal in report.refused} == {
        ("changed", str(edited)),
        ("gone", str(forgotten)),
        ("gone", str(erased)),
    }
    assert [change["ids"] for change in report.changes] == [[str(left)]]
    assert night.contents() == ["Alice likes tea"]


# The breaker


def test_a_model_that_deletes_everything_is_stopped_and_nothing_is_applied(night: Night) -> None:
    night.write(*[f"memory of something {number}" for number in range(30)])
    report, _ = night.consolidate(
        lambda data: NOTHING | {"deletes": [{"id": memory["n"], "reason": "noise"} for memory in data["memories"]]}
    )
    assert (report.outcome, report.changes, report.operation_id) == ("stopped", [], None)
    assert report.error == "it would have removed 30 of 30 memories; the setting dream_removed_share allows 3 of them"
    assert len(night.current()) == 30


@pytest.mark.parametrize(("count", "outcome"), [(3, "applied"), (4, "stopped")])
def test_up_to_the_set_share_is_removed_and_not_one_more(night: Night, count: int, outcome: str) -> None:
    night.write(*[f"memory of something {number}" for number in range(30)])
    report, _ = night.consolidate(NOTHING | {"deletes": [{"id": number, "reason": "noise"} for number in range(1, count + 1)]})
    assert report.outcome == outcome
    assert len(night.current()) == (30 if outcome == "stopped" else 30 - count)


@pytest.mark.parametrize(("memories", "few"), [(9, 3), (5, 3), (4, 2), (2, 1), (1, 1)])
def test_a_small_namespace_may_lose_a_few_memories_but_at_most_half(night: Night, memories: int, few: int) -> None:
    night.write(*[f"memory of something {number}" for number in range(memories)])
    too_many = NOTHING | {"deletes": [{"id": number, "reason": "noise"} for number in range(1, few + 2)]}
    told: list[int] = []
    if few < memories:
        assert night.consolidate(lambda data: told.append(data["may_remove"]) or too_many)[0].outcome == "stopped"
    else:
        told = [few]
    report, _ = night.consolidate(NOTHING | {"deletes": [{"id": number, "reason": "noise"} for number in range(1, few + 1)]})
    assert (told, report.outcome, len(night.current())) == ([few], "applied", memories - few)


def test_a_share_of_nothing_removes_nothing_of_few_memories_either(night: Night) -> None:
    night.sleeper.setting(dream_removed_share=0)
    night.write("a thing", "b thing", "c thing")
    assert night.consolidate(NOTHING | {"deletes": [{"id": 1, "reason": "noise"}]})[0].outcome == "stopped"


def test_merging_everything_into_one_line_is_stopped_too(night: Night) -> None:
    night.sleeper.setting(dream_removed_share=0.2)
    night.write(*[f"likes {'very ' * number}green tea" for number in range(20)])
    report, _ = night.consolidate(NOTHING | {"merges": [{"source_ids": list(range(1, 21)), "content": "likes very green tea"}]})
    assert report.outcome == "stopped"
    assert len(night.current()) == 20


def test_a_stopped_pass_leaves_no_hash_so_the_next_one_asks_again(night: Night) -> None:
    night.write("a thing", "b thing")
    assert (
        night.consolidate(NOTHING | {"deletes": [{"id": 1, "reason": "noise"}, {"id": 2, "reason": "noise"}]})[0].outcome
        == "stopped"
    )
    assert night.consolidate(NOTHING)[1].calls == 1


# Calls that are saved, and answers that are not used


@pytest.mark.row("L5")
def test_an_unchanged_corpus_costs_no_call_and_a_changed_one_does(night: Night) -> None:
    night.write("Alice likes tea", "Alice likes the tea")
    merge = {"merges": [{"source_ids": [1, 2], "content": "Alice likes tea"}]}
    assert night.consolidate(NOTHING | merge)[0].outcome == "applied"
    report, model = night.consolidate(NOTHING)
    assert (report.outcome, model.calls) == ("unchanged", 0)
    night.write("Alice likes tea")  # once more: nothing new to see
    assert night.consolidate(NOTHING)[1].calls == 0
    night.write("Bob likes jazz")
    assert night.consolidate(NOTHING)[1].calls == 1
    assert night.consolidate(NOTHING)[1].calls == 0
    night.signal("wrong again")
    assert night.consolidate(NOTHING)[1].calls == 1


def test_after_seven_days_an_unchanged_corpus_is_asked_about_again(night: Night) -> None:
    night.write("Alice likes tea")
    night.consolidate(NOTHING)
    with night.sleeper.database.admin() as admin:
        admin.execute(
            "update loci_data.pass_runs set finished_at = finished_at - interval '6.9 days' where namespace_id = %s",
            [night.world.id],
        )
        assert night.consolidate(NOTHING)[1].calls == 0
        admin.execute(
            "update loci_data.pass_runs set finished_at = finished_at - interval '0.2 days' where namespace_id = %s",
            [night.world.id],
        )
    assert night.consolidate(NOTHING)[1].calls == 1


def test_another_prompt_is_worth_another_call(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    night.write("Alice likes tea")
    night.consolidate(NOTHING)
    monkeypatch.setattr("service.llm.prompts.Prompts.read_prompt", lambda _, name: f"my own {name}")
    assert night.consolidate(NOTHING)[1].calls == 1


def test_a_memory_written_while_the_model_thinks_is_looked_at_next_time(night: Night) -> None:
    night.write("Alice likes tea")

    def say(data: Row) -> Row:
        night.write("Bob likes jazz")
        return NOTHING

    night.consolidate(say)
    assert night.consolidate(NOTHING)[1].calls == 1


@pytest.mark.row("L5")
@pytest.mark.parametrize(
    "answer",
    [
        "no JSON at all",
        {"merges": [{"source_ids": [1, 2]}]},
        {"deletes": [{"id": 1, "reason": "noise"}, {"id": 2, "reason": "because"}]},
        {"deletes": [{"id": "all", "reason": "noise"}]},
        {"deletes": [{"id": 1, "reason": "noise"}], "drop": ["memories"]},
    ],
)
def test_an_invalid_answer_changes_nothing(night: Night, answer: Any) -> None:
    night.fill(50)
    night.write("Alice likes tea", "Alice likes the tea")
    with pytest.raises(InvalidAnswer):
        night.consolidate(answer)
    assert night.contents() == ["Alice likes tea", "Alice likes the tea"]


def test_a_dry_run_says_what_it_would_do_and_does_nothing(night: Night) -> None:
    night.write("Alice likes tea", "Alice likes the tea")
    merge = NOTHING | {"merges": [{"source_ids": [1, 2], "content": "Alice likes tea"}]}
    before = night.current()
    report, _ = night.consolidate(merge, dry_run=True)
    assert (report.outcome, report.applied, report.operation_id) == ("planned", 1, None)
    assert night.current() == before
    assert night.consolidate(merge)[0].outcome == "applied"


# Two at once, and a death in the middle


def test_two_dreams_at_once_merge_once(night: Night) -> None:
    night.write("Alice likes tea", "Alice likes the tea")
    together = threading.Barrier(2)

    def say(data: Row) -> Row:
        together.wait(PATIENCE)
        return NOTHING | {"merges": [{"source_ids": [1, 2], "content": "Alice likes tea"}]}

    jobs = [night.sleeper.job(), night.sleeper.job()]
    reports: list[Report] = []
    threads = [threading.Thread(target=lambda job=job: reports.append(night.consolidate(say, job=job)[0])) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert night.contents() == ["Alice likes tea"]
    assert sorted(report.applied for report in reports) == [0, 1]
    assert [refusal["guard"] for report in reports for refusal in report.refused] == ["gone"]


def test_a_death_before_the_report_leaves_nothing_half_done(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    night.write("Alice likes tea", "Alice likes the tea")
    merge = NOTHING | {"merges": [{"source_ids": [1, 2], "content": "Alice likes tea"}]}
    job = night.sleeper.job()

    async def die(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("service.dreams.passes.dreams.record_pass", die)
        with pytest.raises(KeyboardInterrupt):
            night.consolidate(merge, job=job)
    assert night.contents() == ["Alice likes tea", "Alice likes the tea"]
    assert night.consolidate(merge, job=job)[0].outcome == "applied"
    assert night.contents() == ["Alice likes tea"]
    assert night.consolidate(merge, job=job)[0] is None  # the job has run it


# Erasing


def merged_pair(night: Night) -> tuple[UUID, UUID, UUID]:
    """Two memories and the one that stands for them."""
    one, two = night.write("Alice likes tea", "Alice likes the tea")
    night.propose(merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}])
    return one, two, night.current()[-1]["id"]


def erase(night: Night, *ids: UUID, versions: str = "all") -> int:
    return int(
        night.world.row("select erased from loci_api.erase_memories(%(ns)s, %(ids)s, %(v)s)", ids=list(ids), v=versions)["erased"]
    )


@pytest.mark.parametrize("versions", ["all", "this"])
def test_erasing_a_source_takes_what_was_made_of_it_and_gives_the_other_source_back(night: Night, versions: str) -> None:
    one, two, _ = merged_pair(night)
    assert erase(night, one, versions=versions) == 2
    (left,) = night.current()
    assert (left["id"], left["content"], left["status"]) == (two, "Alice likes the tea", "active")


def test_erasing_a_merged_memory_takes_what_it_was_made_of(night: Night) -> None:
    *_, merged = merged_pair(night)
    assert erase(night, merged) == 3
    assert night.current() == []


def test_erasing_reaches_through_merges_of_merges_and_spares_what_they_did_not_make(night: Night) -> None:
    night.sleeper.setting(dream_unchanged_days=0)
    one, two, first = merged_pair(night)
    third = night.write("tea: Alice likes it")[0]
    night.propose(merges=[{"sources": ["Alice likes tea much", "tea: Alice likes it"], "content": "tea is what Alice likes much"}])
    assert erase(night, third) == 2
    assert [row["id"] for row in night.current()] == [first]
    assert erase(night, one) == 2
    assert [row["id"] for row in night.current()] == [two]


def test_a_source_that_was_brought_back_by_undoing_is_erased_with_what_had_been_made_of_it(night: Night) -> None:
    one, two = night.write("Alice likes tea", "Alice likes the tea")
    report = night.propose(merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}])
    night.sleeper.undo(report.operation_id or "")
    assert erase(night, one) == 2
    assert [row["id"] for row in night.current()] == [two]


def test_a_merged_memory_forgotten_by_hand_stays_forgotten_when_a_source_is_erased(night: Night) -> None:
    one, _, merged = merged_pair(night)
    night.world.rows("select * from loci_api.forget_memory(%(ns)s, %(id)s, true)", id=merged)
    erase(night, one)
    assert night.current() == []


def test_edges_of_merged_memories_stand_while_the_one_that_stands_for_them_does(night: Night) -> None:
    edge = {"source": "Alice", "type": "likes", "literal": "tea"}
    night.write("Alice likes tea", edges=[edge], session_id="a")
    night.write("Alice likes the tea", edges=[edge], session_id="b")

    def told() -> list[int]:
        return [row["observations"] for row in night.world.rows("select observations from loci.list_edges(%(ns)s)")]

    report = night.propose(merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}])
    merged = night.current()[-1]["id"]
    assert told() == [2]
    night.world.forget(merged)
    assert told() == []
    night.world.forget(merged, forget=False)
    assert told() == [2]
    night.sleeper.undo(report.operation_id or "")
    assert told() == [2]
    assert night.world.rows("select * from loci.verify(%(ns)s) where broken > 0") == []


def test_evidence_of_the_kept_memory_counts_when_its_duplicate_is_erased(night: Night) -> None:
    edge = {"source": "Alice", "type": "likes", "literal": "tea"}
    (one,) = night.write("Alice likes tea", edges=[edge])
    night.write("Alice likes the tea", edges=[edge])
    night.propose(merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}])
    erase(night, one)
    row = night.world.row(
        "select observations, carried_by from loci.list_edges(%(ns)s) e, loci_data.edge_observations o where o.edge_id = e.id"
    )
    assert row == {"observations": 1, "carried_by": None}


def test_facts_of_the_source_that_stays_stay(night: Night) -> None:
    one, two = night.write("Alice likes tea", "Alice likes the tea")
    night.attribute(one, "likes tea")
    stays = night.attribute(two, "owns a teapot")
    night.propose(merges=[{"sources": ["Alice likes tea", "Alice likes the tea"], "content": "Alice likes tea much"}])
    erase(night, one)
    facts = {
        row["id"]: (row["content"], row["status"])
        for row in night.world.rows("select * from loci_data.attributes where namespace_id = %(ns_id)s")
    }
    assert facts == {stays: ("owns a teapot", "active")}


def test_reports_keep_no_words_about_what_is_erased(night: Night) -> None:
    one, _ = night.write("Quuxcanary likes tea", "Quuxcanary likes the tea")
    night.propose(merges=[{"sources": ["Quuxcanary likes tea", "Quuxcanary likes the tea"], "content": "likes the tea"}])
    assert "Quuxcanary" in str(night.sleeper.reports())
    erase(night, one)
    assert "Quuxcanary" not in str(night.sleeper.reports())
    (refusal,) = night.sleeper.reports()[0]["refused"]
    assert (refusal["guard"], refusal["reason"]) == ("coverage", "[erased]")


def test_signals_about_a_memory_and_what_they_taught_go_with_it(night: Night) -> None:
    memory = night.write("mails go out at once")[0]
    night.signal("do not mail without asking", memory_id=memory)
    kept = night.signal("well done", kind="praise")
    night.propose(
        anti_patterns=[{"domain": "email", "content": "Don't mail without asking", "signals": ["do not mail without asking"]}]
    )
    assert len(night.current()) == 2
    assert erase(night, memory) == 2
    assert night.current() == []
    assert [row["id"] for row in night.world.rows("select * from loci.list_signals(%(ns)s)")] == [kept]
