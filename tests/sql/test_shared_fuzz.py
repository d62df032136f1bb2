"""Every function that may be called answers whatever it is given, or says what is wrong with it: never an internal error, never for long."""

import json
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.rows import dict_row

from tests.catalogue import FUNCTIONS, OBJECTS
from tests.databases import Database, Server
from tests.factories import World, grant, new_world

# What a function may raise: wrong data, a broken constraint, no grant, not there, a limit, too large, others at the same moment.
# Never a bug in its body (42883, 42P01, 42703, 42804, 2F, P0003), an internal error (XX), or the time of a statement (57014).
ANSWERS = re.compile(r"22...|23...|28000|42501|P0002|53400|54...|55000|40001")
FIELD = re.compile(r"->>?\s*'(\w+)'|\?\s*'(\w+)'")
LISTED = re.compile(r"\{([a-z_?, \[\]{}:]+)\}")
RECORD = re.compile(r"\bas (?:u|i|r|x)?\s*\(([^;]+?)\)\)")
CALLED = re.compile(r"\b(loci(?:_api|_internal)?\.\w+)\(")


@cache
def source(name: str) -> str:
    return "\n".join("\n".join(item.statements) for item in OBJECTS if item.name == name)


PUBLIC = [name for name in FUNCTIONS if not name.startswith("loci_internal.")]
READ_ONLY = [name for name in PUBLIC if name.startswith("loci.")]
Signatures = dict[str, list[tuple[str, str]]]


@cache
def fields(name: str, depth: int = 2) -> set[str]:
    """Names of JSON fields that a function may look at: its own, and those of what it calls."""
    text = source(name)
    found = {field for pair in FIELD.findall(text) for field in pair if field}
    found |= {word for listed in LISTED.findall(text) for word in re.findall(r"[a-z_]{2,}", listed)}
    found |= {
        word
        for record in RECORD.findall(text)
        for word in re.findall(r"(\w+) (?:text|uuid|timestamptz|jsonb|double|smallint|real|boolean|integer)", record)
    }
    if depth:
        for called in set(CALLED.findall(text)) - {name}:
            found |= fields(called, depth - 1)
    return found


# Values


@dataclass(frozen=True)
class Json:
    """An argument of type jsonb."""

    obj: Any


TEXTS = st.one_of(
    st.sampled_from(
        [
            *(
                "",
                " ",
                "x",
                "Alice",
                "xylophone",
                "%",
                "\\",
                "'",
                "a/b",
                "/",
                "..",
                "../..",
                "\u200b",
                "\ufeff",
                "İ",
                "ß",
                "🙂" * 50,
            ),
            *(
                "e\u0301" * 20,
                "ﷺ",
                "\u202eabc",
                "\x7f",
                "\n",
                "null",
                "NaN",
                "infinity",
                "-1",
                "9" * 30,
                "x" * 300,
                "日本語の文",
                "{}",
                "[]",
            ),
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30),
)
LONG = st.sampled_from(["x" * 1_048_576, "word " * 20_000, "é" * 600_000, "a/" * 1000])
NUMBERS = st.sampled_from([0.0, 1.0, 0.5, -1.0, -0.0, 1.0000001, 5e-324, 1e308, -1e308, math.inf, -math.inf, math.nan])
MOMENTS = st.sampled_from(
    [
        *("infinity", "-infinity", "294276-12-31 23:59:59+00", "4713-01-01 00:00:00+00 BC", "9999-12-31 23:59:59.999999+00"),
        *("0001-01-01 00:00:00+00", "2020-01-01 00:00:00+00", "2100-01-01 00:00:00+00", "1970-01-01 00:00:00+15:59"),
    ]
)
NAMED = "uuid-of-the-memory", "uuid-of-the-entity"  # replaced by ids that are there
IDS = st.sampled_from([*NAMED, "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"])
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.sampled_from([0, 1, 0.5, 2, -1, 1e308, 1e-320]), TEXTS, MOMENTS, IDS
)


DEEP = "deep"  # replaced by arrays in each other, 5,000 of them
MANY = 3000 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1000  # elements of a large array


def json_for(name: str) -> st.SearchStrategy[Any]:
    """JSON that a function may look into: its fields, with values that may fit and values that do not."""
    keys = sorted(fields(name)) or ["name"]
    values = st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys) | TEXTS, inner, max_size=3),
        max_leaves=5,
    )
    items = st.dictionaries(st.sampled_from(keys), values, max_size=6)
    likely = items.map(
        lambda item: {"content": "x", "name": "Alice", "source": "Alice", "type": "t", "target": "Bob", "role": "user"} | item
    )
    return st.one_of(items, st.lists(items, max_size=3), st.lists(likely, min_size=1, max_size=3), likely, values, st.just(DEEP))


INTEGERS = st.sampled_from([0, 1, 2, 10, -1, 100_000, 2**31 - 1, -(2**31)])
ARRAYS = {"text": TEXTS, "uuid": IDS, "integer": INTEGERS, "bigint": st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])}
ARRAYS |= {"real": NUMBERS, "double precision": NUMBERS}
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "text": st.one_of(TEXTS, TEXTS, TEXTS, IDS, LONG),
    "uuid": IDS,
    "boolean": st.booleans(),
    "integer": INTEGERS,
    "smallint": st.sampled_from([0, 1, -1, 2**15 - 1, -(2**15)]),
    "bigint": ARRAYS["bigint"],
    "double precision": NUMBERS,
    "timestamp with time zone": MOMENTS,
    "bytea": st.binary(max_size=40),
    "regconfig": st.sampled_from(["english", "simple"]),
    "halfvec[]": st.sampled_from([[], ["[1,0,0]"], ["[1]"], ["[0,0,0]"], [None]]),
}


def values_for(name: str, kind: str) -> st.SearchStrategy[Any]:
    """Arguments of a type: null, and what is empty, huge, odd or not there."""
    if kind == "jsonb":
        return st.none() | json_for(name).map(Json)
    if kind.endswith("[]") and kind[:-2] in ARRAYS:
        element = ARRAYS[kind[:-2]]
        return st.one_of(st.none(), st.lists(element | st.none(), max_size=4), element.map(lambda value: [value] * MANY))
    return st.none() | SCALARS.get(kind, st.none())


# Calls


class Target:
    """A world to call functions in, as somebody, and another that must not notice."""

    def __init__(self, world: World, other: World) -> None:
        self.world, self.connection = world, world.connection
        self.other = other
        for place in (world, other):
            place.rows("select loci_api.register_model('test', 3)")
            place.write("Alice plays the xylophone", lineage="xylophone", embedding=[1.0, 0.0, 0.0], tags=["a"], category="a/b",
                        entities=[{"name": "Alice"}], edges=[{"source": "Alice", "type": "t", "target": "Bob"}])  # fmt: skip
            place.rows("select * from loci_api.save_working_memory(%(ns)s, 'a/b/c', '1')")
            place.rows('select * from loci_api.add_turns(%(ns)s, \'x\', \'[{"role": "user", "content": "x"}]\')')
            place.rows("select id from loci_api.upsert_aspect(%(ns)s, 'Alice', '{\"name\": \"x\"}')")
        self.ids = {
            NAMED[0]: str(world.value("select id from loci_data.memories where namespace_id = %(ns_id)s limit 1")),
            NAMED[1]: str(world.value("select id from loci_data.entities where namespace_id = %(ns_id)s and name = 'Alice'")),
        }
        self.connection.execute("set statement_timeout = '45s'")
        self.before = self.state()

    def state(self) -> Any:
        """How the other world is, and who we are."""
        return self.other.row(
            """select (select jsonb_agg(to_jsonb(m) order by m.id) from loci_data.memories m where m.namespace_id = %(ns_id)s) as memories,
                      (select jsonb_agg(to_jsonb(e) order by e.id) from loci_data.entities e where e.namespace_id = %(ns_id)s) as entities,
                      (select jsonb_agg(to_jsonb(e) order by e.id) from loci_data.edges e where e.namespace_id = %(ns_id)s) as edges,
                      (select count(*) from loci_data.working_memory w where w.namespace_id = %(ns_id)s) as entries,
                      (select count(*) from loci_data.conversation_turns t where t.namespace_id = %(ns_id)s) as turns,
                      session_user::text, current_user::text, loci.current_agent()"""
        )

    def filled(self, value: Any) -> Any:
        """The value, with ids that are there."""
        if isinstance(value, Json):
            return "[" * 5000 + "]" * 5000 if value.obj == DEEP else json.dumps(self.filled(value.obj))
        if isinstance(value, str):
            return self.ids.get(value, value)
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        if isinstance(value, dict):
            return {key: self.filled(item) for key, item in value.items()}
        return value

    def call(self, name: str, kinds: list[str], values: list[Any]) -> str | None:
        """Call a function and take everything back; the SQLSTATE, if it raised."""
        places = sql.SQL(", ").join(sql.SQL("%s::" + kind) for kind in kinds)  # type: ignore[arg-type]
        statement = sql.SQL("select * from {}({})").format(sql.Identifier(*name.split(".")), places)
        try:
            with self.connection.transaction(force_rollback=True):
                cursor = self.connection.cursor(row_factory=psycopg.rows.tuple_row, binary=False)
                cursor.execute(statement, [self.filled(value) for value in values])
                assert self.state() == self.before, "another namespace has changed"
        except psycopg.Error as error:
            if error.sqlstate is None:
                raise
            return error.sqlstate
        return None


def signatures(connection: psycopg.Connection[Any], role: str) -> Signatures:
    """Functions that a role may call: names and types of their arguments."""
    rows = connection.execute(
        """select p.pronamespace::regnamespace || '.' || p.proname as name, coalesce(p.proargnames[:p.pronargs], '{}') as names, array(select format_type(t, null) from unnest(p.proargtypes) t) as kinds
           from pg_proc p where p.pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace) and has_function_privilege(%s, p.oid, 'execute')""",
        [role],
    ).fetchall()
    return {row["name"]: list(zip(row["names"], row["kinds"], strict=True)) for row in rows}


@pytest.fixture(scope="module")
def service(own_database: Database) -> Iterator[Target]:
    """The service's role, acting as the operator."""
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as app:
        yield Target(new_world(app), new_world(app))
        app.rollback()


@pytest.fixture(scope="module")
def analysts_database(server: Server) -> Iterator[Database]:
    """Another database: each of the two targets is an open transaction that has registered a model, for which the other would wait."""
    made = server.clone("fuzz")
    yield made
    server.drop(made)


@pytest.fixture(scope="module")
def analyst(server: Server, analysts_database: Database) -> Iterator[Target]:
    """An analyst who may read a namespace, and not the other."""
    role = f"loci_fuzz_{uuid4().hex[:8]}"
    # before the transaction: whoever makes another analyst meanwhile would wait for its end
    server.execute("create role {} login in role loci_analyst", role)
    with psycopg.connect(analysts_database.admin_url, row_factory=dict_row) as admin:
        admin.execute("set session authorization loci_app")
        target = Target(new_world(admin), new_world(admin))
        admin.execute("reset session authorization")
        agent = grant(admin, target.world.name, "reader")
        admin.execute("update loci_data.agents set kind = 'analyst', database_role = %s where id = %s", [role, agent])
        admin.execute(sql.SQL("set session authorization {}").format(sql.Identifier(role)))
        target.before = target.state()
        yield target
        admin.rollback()
    server.execute("drop role {}", role)


@pytest.fixture(scope="module")
def known(own_database: Database) -> dict[str, Signatures]:
    """What each role may call."""
    with psycopg.connect(own_database.admin_url, row_factory=dict_row) as admin:
        return {role: signatures(admin, role) for role in ("loci_app", "loci_analyst")}


@pytest.mark.sample(60)
@pytest.mark.parametrize("name", PUBLIC)
def test_a_function_answers_the_service_whatever_it_is_given(service: Target, known: dict[str, Signatures], name: str) -> None:
    """Fewer examples of what is read: an analyst is given as many again."""
    fuzz(service, name, known["loci_app"][name], share=6 if name in READ_ONLY else 3)


@pytest.mark.sample(20)
@pytest.mark.row("SQL")
@pytest.mark.parametrize("name", READ_ONLY)
def test_a_function_answers_an_analyst_whatever_it_is_given(analyst: Target, known: dict[str, Signatures], name: str) -> None:
    fuzz(analyst, name, known["loci_analyst"][name], share=6)


def test_fuzzed_functions_are_those_that_may_be_called(known: dict[str, Signatures]) -> None:
    assert set(PUBLIC) == set(known["loci_app"])
    assert set(READ_ONLY) == set(known["loci_analyst"])


def fuzz(target: Target, name: str, signature: list[tuple[str, str]], *, share: int) -> None:
    """Call a function with arguments of its types, most of the time in a namespace that is there."""
    kinds = [kind for _, kind in signature]
    names = st.sampled_from([target.world.name] * 12 + [None, "", "nowhere", "x" * 300])
    strategies = [names if argument == "p_namespace" else values_for(name, kind) for argument, kind in signature]

    @settings(max_examples=max(4, settings().max_examples // share), phases=[Phase.generate], database=None)
    @given(st.tuples(*strategies))
    def answers(values: tuple[Any, ...]) -> None:
        state = target.call(name, kinds, list(values))
        assert state is None or ANSWERS.fullmatch(state), state

    answers()
