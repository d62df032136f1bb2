"""Supersession of attributes by what contradicts them: signals, decisions, undoing, sweeping."""

import json
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.errors import ExclusionViolation, InsufficientPrivilege, InvalidParameterValue, NoDataFound
from psycopg.types.json import Jsonb

from tests.catalogue import ROOT
from tests.factories import Row, World, act_as, day, grant, stated
from tests.sql.undoing import operation, undo

PAIRS = [json.loads(line) for line in (ROOT / "bench/data/supersession.jsonl").read_text().splitlines()]


@pytest.fixture(autouse=True)
def alice(world: World) -> None:
    world.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Alice"}]\')')


def add_aspect(world: World, name: str = "Life", entity: str = "Alice", **fields: Any) -> UUID:
    row = world.row("select * from loci_api.upsert_aspect(%(ns)s, %(e)s, %(a)s)", e=entity, a=Jsonb({"name": name, **fields}))
    found: UUID = row["id"]
    return found


def add(world: World, content: str, aspect: UUID | None = None, **fields: Any) -> Row:
    return world.row(
        "select * from loci_api.add_attribute(%(ns)s, %(id)s, %(a)s)",
        id=aspect or add_aspect(world),
        a=Jsonb(stated({"content": content, **fields})),
    )


def change(world: World, id: UUID, **changes: Any) -> Row:
    return world.row("select * from loci_api.update_attribute(%(ns)s, %(id)s, %(c)s)", id=id, c=Jsonb(stated(changes)))


def setting(world: World, **settings: Any) -> None:
    world.rows("select * from loci_api.update_namespace(%(ns)s, %(s)s)", s=Jsonb({"settings": settings}))


def attribute(world: World, id: UUID) -> Row:
    row = world.row("select * from loci_data.attributes where namespace_id = %(ns_id)s and id = %(id)s", id=id)
    return {key: value for key, value in row.items() if key != "updated_at"}


def held(world: World, as_of: datetime | None = None, known_at: datetime | None = None) -> list[str]:
    rows = world.rows("select * from loci.list_aspects(%(ns)s, 'alice', %(as_of)s, %(known_at)s)", as_of=as_of, known_at=known_at)
    return sorted(item["content"] for row in rows for item in row["attributes"])


def decisions(world: World, **filters: Any) -> list[Row]:
    return world.rows(
        "select * from loci.list_supersessions(%(ns)s, %(status)s, %(signal)s, %(entity)s, %(limit)s, %(cursor)s)",
        **{"status": None, "signal": None, "entity": None, "limit": 100, "cursor": None, **filters},
    )


def decide(world: World, verb: str, id: UUID) -> Row:
    calls = {name: f"select * from loci_api.{name}_supersession(%(ns)s, %(id)s)" for name in ("apply", "undo", "dismiss")}
    return world.row(calls[verb], id=id)  # type: ignore[arg-type]


def sweep(world: World, entity: str | None = None, mode: str | None = None, limit: int = 500, cursor: str | None = None) -> Row:
    return world.row(
        "select * from loci_api.sweep_supersessions(%(ns)s, %(e)s, %(m)s, %(l)s, %(c)s)", e=entity, m=mode, l=limit, c=cursor
    )


def signal(world: World, older: str, newer: str, single_valued: bool | None = None) -> str | None:
    rows = world.rows("select * from loci.contradiction(%(o)s, %(n)s, %(s)s)", o=older, n=newer, s=single_valued)
    return rows[0]["signal"] if rows else None


# What contradicts


@pytest.mark.row("S7")
@pytest.mark.parametrize("split", ["tune", "held_out"])
def test_signals_on_labelled_pairs_are_contradictions_in_95_of_100(world: World, split: str) -> None:
    rows = world.rows(
        """select p.label, c.signal from jsonb_to_recordset(%(pairs)s) p(older text, newer text, single_valued boolean, label text)
           left join lateral loci.contradiction(p.older, p.newer, p.single_valued) c on true""",
        pairs=Jsonb([pair for pair in PAIRS if pair["split"] == split]),
    )
    fired = [row["label"] == "contradiction" for row in rows if row["signal"]]
    there = sum(row["label"] == "contradiction" for row in rows)
    assert sum(fired) / len(fired) >= 0.95
    assert sum(fired) / there >= 0.75


@pytest.mark.row("S7")
@pytest.mark.parametrize(
    ("older", "newer", "fires", "confidence"),
    [
        ("Alice eats meat", "Alice does not eat meat", "negation", 0.85),
        ("Dark mode is enabled", "Dark mode is disabled", "antonym", 0.80),
        ("The timeout is 30 s", "The timeout is 60 s", "value_conflict", 0.75),
        ("Alice lives in Paris with Bob", "Alice used to live in Paris", "temporal_marker", 0.70),
    ],
)
def test_each_signal_has_its_confidence(world: World, older: str, newer: str, fires: str, confidence: float) -> None:
    row = world.row("select * from loci.contradiction(%(o)s, %(n)s)", o=older, n=newer)
    assert (row["signal"], row["confidence"]) == (fires, confidence)
    assert row["evidence"]


@pytest.mark.parametrize("contraction", ["don't", "don’t", "do not", "DON'T", "no longer", "never"])
def test_a_negation_is_one_however_it_is_written(world: World, contraction: str) -> None:
    assert signal(world, "Guests eat in the lab", f"Guests {contraction} eat in the lab") == "negation"


@pytest.mark.parametrize("word", ["notable", "cannot-do", "knot", "nothingness"])
def test_a_negation_is_a_whole_word(world: World, word: str) -> None:
    assert signal(world, "The harbour is old", f"The harbour is {word} old") is None


def test_words_are_compared_without_regard_to_case_in_any_script(world: World) -> None:
    assert signal(world, "ÉCOLE Ångström is OPEN", "école ångström is closed") == "antonym"


@pytest.mark.parametrize(
    ("older", "newer"),
    [("loves", "hates"), ("loved", "hates"), ("loves", "hated"), ("likes", "dislikes"), ("always leaves", "always joins")],
)
def test_opposites_are_found_in_any_inflected_form(world: World, older: str, newer: str) -> None:
    assert signal(world, f"Alice {older} the club", f"Alice {newer} the club") == "antonym"


def test_at_least_sixty_pairs_of_opposites_are_known(owned: World) -> None:
    assert owned.as_owner("select count(*) as pairs from loci_internal.antonym_pairs() where one <> other")[0]["pairs"] >= 60


@pytest.mark.parametrize(("one", "other"), [("is not paid", "is unpaid"), ("does not fail", "never fails")])
def test_a_negated_opposite_says_the_same(world: World, one: str, other: str) -> None:
    assert signal(world, f"The nightly invoice {one}", f"The nightly invoice {other}") is None


@pytest.mark.row("S7")
@pytest.mark.parametrize(("shared", "fires"), [(2, "value_conflict"), (5, None)])
def test_statements_with_too_few_words_in_common_are_not_compared(world: World, shared: int, fires: str | None) -> None:
    rows = world.rows("select signal from loci.contradiction('lives in Paris', 'lives in Berlin', null, %(n)s)", n=shared)
    assert [row["signal"] for row in rows] == ([fires] if fires else [])


@pytest.mark.row("S7")
@pytest.mark.parametrize(("declared", "fires"), [(True, "value_conflict"), (None, None), (False, None)])
def test_facts_that_add_up_conflict_only_where_they_are_declared_single_valued(
    world: World, declared: bool | None, fires: str | None
) -> None:
    assert signal(world, "The team uses Slack", "The team uses Discord", declared) == fires
    assert signal(world, "Tova uses Rust", "Tova uses Python", declared) == fires  # without a word of the lexicon


@pytest.mark.parametrize(("declared", "fires"), [(None, "value_conflict"), (False, None)])
def test_values_of_what_is_declared_multi_valued_do_not_conflict(world: World, declared: bool | None, fires: str | None) -> None:
    assert signal(world, "Alice lives in Paris", "Alice lives in Berlin", declared) == fires


def test_a_negation_ends_even_what_is_declared_multi_valued(world: World) -> None:
    assert signal(world, "Alice lives in Paris", "Alice does not live in Paris", False) == "negation"


@pytest.mark.parametrize(("value", "fires"), [("60 seconds", None), ("1 minute", None), ("2 minutes", "value_conflict")])
def test_a_quantity_is_the_same_in_any_unit(world: World, value: str, fires: str | None) -> None:
    assert signal(world, "The session timeout is 60 s", f"The session timeout is {value}") == fires


@given(older=st.text(max_size=60), newer=st.text(max_size=60))
def test_any_two_texts_can_be_compared(world: World, older: str, newer: str) -> None:
    texts = [text.replace("\0", "").encode("utf-8", "ignore").decode() for text in (older, newer)]
    assert signal(world, texts[0], texts[1]) in {None, "negation", "antonym", "value_conflict", "temporal_marker"}
    assert signal(world, texts[0], texts[0]) is None


# What a write does


@pytest.mark.row("S7")
def test_a_newer_fact_supersedes_what_it_contradicts(world: World) -> None:
    old = add(world, "Alice lives in Paris", valid_from=day(0))
    known_at = world.now()
    new = add(world, "Alice lives in Berlin", valid_from=day(100))
    assert (new["superseded"], new["proposed"], new["status"]) == ([old["id"]], [], "active")
    row = attribute(world, old["id"])
    assert (row["status"], row["superseded_by"], row["valid_to"]) == ("superseded", new["id"], day(100))
    assert row["superseded_at"] is not None
    assert (held(world), held(world, day(50))) == (["Alice lives in Berlin"], ["Alice lives in Paris"])
    assert held(world, day(150), known_at) == ["Alice lives in Paris"]


def test_a_back_dated_fact_is_superseded_by_the_one_that_came_after_it(world: World) -> None:
    new = add(world, "Alice lives in Berlin", valid_from=day(100))
    old = add(world, "Alice lives in Paris", valid_from=day(0))
    assert (old["status"], old["superseded_by"], old["valid_to"], old["superseded"]) == (
        "superseded",
        new["id"],
        day(100),
        [old["id"]],
    )
    assert held(world) == ["Alice lives in Berlin"]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [0, 3, 1, 2], [3, 0, 2, 1], [1, 3, 0, 2], [2, 0, 3, 1]])
def test_in_whatever_order_facts_are_written_one_is_true_at_each_moment(world: World, order: list[int]) -> None:
    cities = ["Paris", "Berlin", "Rome", "Oslo"]
    for place in order:
        add(world, f"Alice lives in {cities[place]}", valid_from=day(100 * place))
    assert [held(world, day(100 * n + 50)) for n in range(4)] == [[f"Alice lives in {city}"] for city in cities]


def test_a_fact_that_was_over_before_is_not_contradicted(world: World) -> None:
    add(world, "Alice lives in Paris", valid_from=day(0), valid_to=day(50))
    assert add(world, "Alice lives in Berlin", valid_from=day(100))["superseded"] == []


def test_an_interlude_is_only_proposed_because_the_older_fact_goes_on_after_it(world: World) -> None:
    old = add(world, "Alice lives in Paris", valid_from=day(0))
    new = add(world, "Alice lives in Berlin", valid_from=day(100), valid_to=day(200))
    assert (new["superseded"], len(new["proposed"])) == ([], 1)
    assert attribute(world, old["id"])["status"] == "active"


def test_which_of_several_facts_is_over_now_is_only_proposed(world: World) -> None:
    add(world, "The team uses Jenkins")
    assert len(add(world, "The team now uses Buildkite")["superseded"]) == 1
    add(world, "The team uses Ansible")
    add(world, "The team uses Terraform")
    new = add(world, "The team now uses Nix")
    assert (new["superseded"], len(new["proposed"])) == ([], 3)


@pytest.mark.row("S7")
@pytest.mark.parametrize("kinds", [("constraint", "attribute"), ("attribute", "constraint"), ("constraint", "constraint")])
def test_a_constraint_neither_supersedes_nor_is_superseded(world: World, kinds: tuple[str, str]) -> None:
    add(world, "Guests eat in the lab", kind=kinds[0])
    new = add(world, "Guests never eat in the lab", kind=kinds[1])
    assert (new["superseded"], new["proposed"]) == ([], [])
    assert sweep(world)["decided"] == []


def test_facts_of_other_aspects_and_of_other_namespaces_are_left_alone(world: World) -> None:
    add(world, "Alice lives in Paris")
    assert add(world, "Alice lives in Berlin", add_aspect(world, "Work"))["superseded"] == []


def test_new_content_supersedes_what_it_replaces_by_hand_and_what_else_it_contradicts(world: World) -> None:
    other = add(world, "The shop is open on Mondays")
    old = add(world, "The shop opens late")
    new = change(world, old["id"], content="The shop is closed on Mondays")
    assert set(new["superseded"]) == {old["id"], other["id"]}
    assert {row["older_id"]: row["signal"] for row in decisions(world)} == {other["id"]: "antonym", old["id"]: "replaced"}


@pytest.mark.row("S7")
@pytest.mark.parametrize(
    ("mode", "status", "proposed"), [("apply", "superseded", 0), ("propose", "active", 1), ("off", "active", 0)]
)
def test_the_setting_says_what_a_write_does(world: World, mode: str, status: str, proposed: int) -> None:
    setting(world, supersession=mode)
    old = add(world, "Alice lives in Paris")
    new = add(world, "Alice lives in Berlin")
    assert attribute(world, old["id"])["status"] == status
    assert [row["id"] for row in decisions(world, status="proposed")] == new["proposed"]
    assert len(new["proposed"]) == proposed


def test_a_signal_below_the_threshold_does_nothing(world: World) -> None:
    setting(world, supersession_threshold=0.8)
    add(world, "Alice lives in Paris")
    assert add(world, "Alice lives in Berlin")["superseded"] == []
    assert len(add(world, "Alice does not live in Paris")["superseded"]) == 1


def test_a_declared_aspect_has_one_value(world: World) -> None:
    aspect = add_aspect(world, single_valued=True)
    add(world, "The team uses Slack", aspect)
    add(world, "The team uses Discord", aspect)
    assert held(world) == ["The team uses Discord"]


@pytest.mark.row("S7")
def test_a_decision_says_why(world: World) -> None:
    old, new = add(world, "The timeout is 30 s"), add(world, "The timeout is 1 minute")
    (made,) = decisions(world)
    assert (made["signal"], made["confidence"], made["evidence"]) == ("value_conflict", 0.75, ["30 s", "60 s"])
    assert (made["older_id"], made["newer_id"], made["status"], made["origin"]) == (old["id"], new["id"], "applied", "inline")
    assert (made["entity"], made["aspect"], made["older"]) == ("Alice", "Life", "The timeout is 30 s")
    (row,) = world.rows("select * from loci.supersessions where namespace = %(ns)s")
    assert {key: row[key] for key in made.keys() & row.keys()} == {key: made[key] for key in made.keys() & row.keys()}


# Decisions


@pytest.mark.row("S7")
@pytest.mark.parametrize("valid_to", [None, day(90_000)])
def test_undoing_an_applied_decision_restores_the_facts(world: World, valid_to: datetime | None) -> None:
    old = add(world, "Alice lives in Paris", valid_from=day(0), **({"valid_to": valid_to} if valid_to else {}))
    before = attribute(world, old["id"])
    add(world, "Alice lives in Berlin", valid_from=day(100))
    (made,) = decisions(world)
    undone = decide(world, "undo", made["id"])
    assert (undone["status"], undone["undone_at"] is None) == ("undone", False)
    assert attribute(world, old["id"]) == before


@given(
    texts=st.lists(
        st.sampled_from([f"Alice lives in {city}" for city in ("Paris", "Berlin", "Rome")]), min_size=2, max_size=4, unique=True
    ),
    days=st.lists(st.integers(0, 50), min_size=4, max_size=4),
)
def test_undo_of_apply_is_nothing_and_apply_of_undo_is_apply(world: World, texts: list[str], days: list[int]) -> None:
    setting(world, supersession="propose")
    aspect = add_aspect(world, uuid4().hex)
    ids = [add(world, text, aspect, valid_from=day(n))["id"] for text, n in zip(texts, days, strict=False)]
    for made in decisions(world, limit=10):
        if made["aspect_id"] == aspect and attribute(world, made["older_id"])["status"] == "active":
            before = [attribute(world, id) for id in ids]  # noqa: A001
            decide(world, "apply", made["id"])
            applied = [{**attribute(world, id), "superseded_at": None} for id in ids]  # noqa: A001
            decide(world, "undo", made["id"])
            assert [attribute(world, id) for id in ids] == before  # noqa: A001
            decide(world, "apply", made["id"])
            assert [{**attribute(world, id), "superseded_at": None} for id in ids] == applied  # noqa: A001


def test_undoing_a_change_in_between_restores_the_earlier_order(world: World) -> None:
    first = add(world, "Alice lives in Paris", valid_from=day(0))
    add(world, "Alice lives in Oslo", valid_from=day(200))
    before = attribute(world, first["id"])
    add(world, "Alice lives in Rome", valid_from=day(100))
    (made,) = [row for row in decisions(world) if row["older"] == "Alice lives in Paris" and row["newer"] == "Alice lives in Rome"]
    assert attribute(world, first["id"])["valid_to"] == day(100)
    decide(world, "undo", made["id"])
    assert attribute(world, first["id"]) == before


def test_an_undone_supersession_is_not_repeated_by_a_sweep(world: World) -> None:
    old = add(world, "Alice lives in Paris")
    add(world, "Alice lives in Berlin")
    decide(world, "undo", decisions(world)[0]["id"])
    assert sweep(world, mode="apply")["decided"] == []
    assert attribute(world, old["id"])["status"] == "active"


def test_a_fact_made_active_by_hand_counts_as_undone(world: World) -> None:
    old = add(world, "Alice lives in Paris")
    add(world, "Alice lives in Berlin")
    change(world, old["id"], status="active")
    assert decisions(world)[0]["status"] == "undone"
    assert sweep(world, mode="apply")["decided"] == []


def test_a_proposal_is_accepted_or_dismissed(world: World) -> None:
    setting(world, supersession="propose")
    old, new = add(world, "Alice lives in Paris"), add(world, "Alice lives in Berlin")
    made = decisions(world)[0]["id"]
    assert decide(world, "dismiss", made)["status"] == "dismissed"
    assert sweep(world, mode="apply")["decided"] == []
    assert attribute(world, old["id"])["status"] == "active"
    assert decide(world, "apply", made)["status"] == "applied"
    assert attribute(world, old["id"])["superseded_by"] == new["id"]


@pytest.mark.parametrize("verb", ["apply", "undo", "dismiss"])
def test_a_decision_made_twice_is_made_once(world: World, verb: str) -> None:
    setting(world, supersession="apply" if verb == "undo" else "propose")
    add(world, "Alice lives in Paris")
    add(world, "Alice lives in Berlin")
    made = decisions(world)[0]["id"]
    assert decide(world, verb, made) == decide(world, verb, made)


@pytest.mark.parametrize(("mode", "verb"), [("propose", "undo"), ("apply", "dismiss")])
def test_a_decision_that_does_not_fit_its_status_is_refused_and_says_what_does(world: World, mode: str, verb: str) -> None:
    setting(world, supersession=mode)
    add(world, "Alice lives in Paris")
    add(world, "Alice lives in Berlin")
    with pytest.raises(InvalidParameterValue) as raised:
        decide(world, verb, decisions(world)[0]["id"])
    assert {"undo": "dismissed", "dismiss": "undone"}[verb] in str(raised.value.diag.message_hint)


def test_a_proposal_about_what_was_deleted_is_refused(world: World) -> None:
    setting(world, supersession="propose")
    old = add(world, "Alice lives in Paris")
    add(world, "Alice lives in Berlin")
    change(world, old["id"], status="deleted")
    with pytest.raises(ExclusionViolation, match="not active any more"):
        decide(world, "apply", decisions(world)[0]["id"])


def test_undoing_does_not_bring_back_what_was_deleted_since(world: World) -> None:
    old = add(world, "Alice lives in Paris")
    add(world, "Alice lives in Berlin")
    change(world, old["id"], status="deleted")
    decide(world, "undo", decisions(world)[0]["id"])
    assert attribute(world, old["id"])["status"] == "deleted"


def test_decisions_are_listed_newest_first_by_status_signal_and_entity(world: World) -> None:
    for pair in (("Alice lives in Paris", "Alice lives in Berlin"), ("The shop is open", "The shop is closed")):
        for text in pair:
            add(world, text)
    assert [row["signal"] for row in decisions(world)] == ["antonym", "value_conflict"]
    assert [row["signal"] for row in decisions(world, signal="antonym", status="applied", entity="alice")] == ["antonym"]
    assert decisions(world, status="undone") == []
    first = decisions(world, limit=1)
    assert [row["signal"] for row in decisions(world, cursor=first[0]["cursor"])] == ["value_conflict"]


@pytest.mark.parametrize("wrong", [{"status": "x"}, {"signal": "x"}, {"limit": 0}, {"cursor": "x"}], ids=str)
def test_a_wrong_list_is_refused_by_field(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterValue) as raised:
        decisions(world, **wrong)
    assert raised.value.diag.column_name == next(iter(wrong))


@pytest.mark.parametrize("verb", ["apply", "undo", "dismiss"])
def test_a_decision_of_nobody_is_not_found(world: World, verb: str) -> None:
    with pytest.raises(NoDataFound):
        decide(world, verb, uuid4())


def test_a_reader_lists_and_decides_nothing(owned: World) -> None:
    owned.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Alice"}]\')')
    add(owned, "Alice lives in Paris")
    add(owned, "Alice lives in Berlin")
    owned.connection.execute("reset session authorization")
    agent = grant(owned.connection, owned.name, "reader")
    owned.connection.execute("set session authorization loci_app")
    act_as(owned.connection, agent)
    (made,) = decisions(owned)
    with pytest.raises(InsufficientPrivilege), owned.connection.transaction():
        decide(owned, "undo", made["id"])
    with pytest.raises(InsufficientPrivilege), owned.connection.transaction():
        sweep(owned)


# The sweep


def test_a_sweep_finds_what_stood_before_and_a_second_one_nothing(world: World) -> None:
    setting(world, supersession="off")
    for n, city in enumerate(("Paris", "Berlin", "Rome")):
        add(world, f"Alice lives in {city}", valid_from=day(n))
    add(world, "Alice likes tea")
    setting(world, supersession="apply")
    swept = sweep(world)
    assert (swept["visited"], len(swept["superseded"]), swept["next_cursor"]) == (4, 2, None)
    assert held(world) == ["Alice likes tea", "Alice lives in Rome"]
    assert held(world, day(0.5)) == ["Alice lives in Paris"]
    assert sweep(world)["decided"] == []


def test_a_sweep_in_pages_decides_what_one_in_whole_does(world: World) -> None:
    setting(world, supersession="off")
    for n in range(6):
        add(world, f"The retry limit is {n}", valid_from=day(n))
    cursor, pages = None, 0
    while pages == 0 or cursor:
        page = sweep(world, mode="apply", limit=2, cursor=cursor)
        cursor, pages = page["next_cursor"], pages + 1
    assert pages >= 3
    assert [held(world, day(n + 0.5)) for n in range(6)] == [[f"The retry limit is {n}"] for n in range(6)]


def test_a_sweep_of_an_entity_looks_at_no_other(world: World) -> None:
    world.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Bob"}]\')')
    setting(world, supersession="off")
    for entity in ("Alice", "Bob"):
        for city in ("Paris", "Berlin"):
            add(world, f"lives in {city}", add_aspect(world, entity=entity))
    assert sweep(world, entity="bob", mode="apply")["visited"] == 2
    assert [row["entity"] for row in decisions(world)] == ["Bob"]


def test_a_sweep_proposes_where_supersession_is_off(world: World) -> None:
    setting(world, supersession="off")
    old = add(world, "Alice lives in Paris")
    add(world, "Alice lives in Berlin")
    assert len(sweep(world)["decided"]) == 1
    assert (decisions(world)[0]["status"], attribute(world, old["id"])["status"]) == ("proposed", "active")


def test_a_sweep_that_applies_applies_earlier_proposals(world: World) -> None:
    setting(world, supersession="propose")
    add(world, "Alice lives in Paris")
    add(world, "Alice lives in Berlin")
    assert sweep(world, mode="propose")["decided"] == []
    assert len(sweep(world, mode="apply")["superseded"]) == 1
    assert [row["status"] for row in decisions(world)] == ["applied"]


def test_a_fact_that_moved_to_another_aspect_meets_its_new_siblings(owned: World) -> None:
    owned.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Alice"}]\')')
    old = add(owned, "Alice lives in Paris")
    other = add_aspect(owned, "Home")
    add(owned, "Alice lives in Berlin", other)
    owned.connection.execute("reset session authorization")
    owned.connection.execute("update loci_data.attributes set aspect_id = %s where id = %s", [other, old["id"]])
    owned.connection.execute("set session authorization loci_app")
    assert sweep(owned)["superseded"] == [old["id"]]


@pytest.mark.parametrize("wrong", [{"mode": "off"}, {"limit": 0}, {"cursor": "x"}], ids=str)
def test_a_wrong_sweep_is_refused_by_field(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterValue) as raised:
        sweep(world, **wrong)
    assert raised.value.diag.column_name == next(iter(wrong))


@pytest.mark.parametrize("older", [pair["older"] for pair in PAIRS if pair["label"] == "contradiction" and pair["split"] == "tune"])
def test_a_contradicting_fact_is_found_among_its_siblings_in_either_order(world: World, older: str) -> None:
    pair = next(pair for pair in PAIRS if pair["older"] == older and pair["split"] == "tune")
    expected = signal(world, pair["older"], pair["newer"], pair["single_valued"])
    found = []
    for backwards in (False, True):
        aspect = add_aspect(world, uuid4().hex, single_valued=pair["single_valued"])
        texts = [(pair["older"], day(0)), (pair["newer"], day(1))]
        for text, since in reversed(texts) if backwards else texts:
            add(world, text, aspect, valid_from=since)
        found.append([row["signal"] for row in decisions(world) if row["aspect_id"] == aspect])
    assert found == [[expected] if expected else []] * 2


# What rests on a memory


@pytest.mark.row("M9")
def test_a_fact_goes_with_the_memory_that_it_rests_on_and_comes_back_with_it(world: World) -> None:
    memory = world.write("Alice eats no meat")["id"]
    fact = add(world, "vegetarian", memory_id=memory)
    before = attribute(world, fact["id"])
    world.forget(memory)
    row = attribute(world, fact["id"])
    assert (row["status"], row["superseded_by"], row["withdrawn_at"] is None) == ("superseded", None, False)
    assert held(world) == []
    world.forget(memory, forget=False)
    assert attribute(world, fact["id"]) == before


def test_a_fact_ends_when_its_memory_is_superseded(world: World) -> None:
    memory = world.write("Alice lives in Lisbon", lineage="home", valid_from=day(0))["id"]
    fact = add(world, "in Lisbon", memory_id=memory, valid_from=day(0))
    world.write("Alice lives in Porto", lineage="home", valid_from=day(100))
    row = attribute(world, fact["id"])
    assert (row["status"], row["valid_to"]) == ("superseded", day(100))
    assert (held(world), held(world, day(50))) == ([], ["in Lisbon"])


def test_a_restored_memory_brings_back_only_what_went_with_it(world: World) -> None:
    memory = world.write("Alice said so")["id"]
    add(world, "Alice lives in Paris", memory_id=memory)
    by_hand = add(world, "plays chess", memory_id=memory)
    change(world, by_hand["id"], status="superseded")
    add(world, "Alice lives in Berlin")
    going = add(world, "collects stamps", memory_id=memory)
    world.forget(memory)
    assert attribute(world, going["id"])["status"] == "superseded"
    world.forget(memory, forget=False)
    assert held(world) == ["Alice lives in Berlin", "collects stamps"]


def trigger(world: World, verb: LiteralString) -> None:
    world.connection.execute("reset session authorization")
    world.connection.execute(f"alter table loci_data.memories {verb} trigger memories_attributes")
    world.connection.execute("set session authorization loci_app")


def test_facts_that_are_not_in_step_with_their_memories_are_found_on_request(owned: World) -> None:
    owned.rows('select * from loci_api.upsert_entities(%(ns)s, \'[{"name": "Alice"}]\')')
    memory = owned.write("Alice eats no meat")["id"]
    add(owned, "vegetarian", memory_id=memory)
    trigger(owned, "disable")
    owned.forget(memory)
    trigger(owned, "enable")
    count = "select loci_api.propagate_memory_status(%(ns)s)"
    assert [held(owned), owned.value(count), held(owned), owned.value(count)] == [["vegetarian"], 1, [], 0]


def test_an_erased_fact_leaves_no_decision_about_it(world: World) -> None:
    memory = world.write("Alice said so")["id"]
    add(world, "Alice lives in Paris", memory_id=memory)
    add(world, "Alice lives in Berlin")
    world.erase(memory)
    assert (decisions(world), held(world)) == ([], ["Alice lives in Berlin"])


def test_a_fact_superseded_by_an_erased_one_holds_again(world: World) -> None:
    add(world, "Alice lives in Paris")
    memory = world.write("Alice said so")["id"]
    add(world, "Alice lives in Berlin", memory_id=memory)
    assert held(world) == ["Alice lives in Berlin"]
    world.erase(memory)
    assert held(world) == ["Alice lives in Paris"]


@pytest.mark.row("M2")
def test_a_version_of_the_future_ends_nothing_before_it_begins(world: World) -> None:
    then = world.now() + timedelta(days=30)
    memory = world.write("Alice lives in Paris", lineage="home")["id"]
    add(world, "Alice lives in Paris", memory_id=memory)
    _, moved = operation(world, lambda: world.write("Alice lives in Berlin", lineage="home", valid_from=then))
    present = world.row("select * from loci.get_memory(%(ns)s, %(id)s)", id=memory)
    assert (present["current"], present["superseded_at"], present["valid_to"]) == (True, None, then)
    ends = "select status, valid_to from loci_data.attributes where namespace_id = %(ns_id)s"
    assert (held(world), world.row(ends)) == (["Alice lives in Paris"], {"status": "active", "valid_to": then})
    undo(world, moved)
    assert world.row(ends) == {"status": "active", "valid_to": None}
