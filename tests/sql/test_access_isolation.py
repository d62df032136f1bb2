"""Nobody sees or changes what they were not granted, whatever they call."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.rows import dict_row, tuple_row
from psycopg.types.json import Jsonb

from db.pool import OPERATOR, JsonObject, make_pool, open_transaction
from tests.catalogue import FUNCTIONS, PARTITIONS, RELATIONS, TABLES
from tests.databases import Database, Server
from tests.factories import World, act_as, grant, new_world

pytestmark = pytest.mark.every_case

MARKER = "zanzibar"  # stands in every secret text, and in no argument of any call
# Names of models, which are nobody's secret, and what the comments of views say.
OPEN_TABLES = {"loci_data.embedding_models", "loci.embedding_models", "loci.foreign_keys"}
VISITORS = ["nobody", "agent without a grant", "agent with an expired grant", "analyst without a grant"]


def named(relation: str) -> sql.Identifier:
    """A relation's name with its schema."""
    return sql.Identifier(*relation.split("."))


class Secret:
    """A namespace with something in every table, and the ids that calls name."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.rows("select loci_api.register_model('test', 3)")
        item = {
            "content": "zanzibar xylophone",
            "lineage": "zanzibar",
            "category": "zanzibar",
            "tags": ["zanzibar"],
            "source": "zanzibar",
            "session_id": "zanzibar",
            "metadata": {"k": "zanzibar"},
            "entities": [{"name": "Xylophone", "type": "tool", "aliases": ["zanzibar"]}],
            "edges": [{"source": "Xylophone", "type": "zanzibar", "target": "Zanzibar"}],
        }
        self.memory = world.write(**item)["id"]
        child = world.write("zanzibar xylophone child", parent_id=self.memory, embedding=[1.0, 0.0, 0.0])["id"]
        world.write("zanzibar later", lineage="zanzibar")
        world.rows("select * from loci_api.link_memories(%(ns)s, %(a)s, %(b)s, 'zanzibar')", a=self.memory, b=child)
        world.rows(
            "select loci_api.store_memory_pieces(%(ns)s, array[(select doc_id from loci_data.memories where id = %(id)s)], 'zanzibar',"
            " array['0123456789abcdef'::bytea], array['zanzibar'::bytea])",
            id=self.memory,
        )
        self.key = uuid4()
        world.rows("select * from loci_api.create_key(%(ns)s, 'reader', 'zanzibar', %(id)s, sha256('k'))", id=self.key)
        world.rows(
            "select loci_api.record_key_usage(array[%(id)s]::uuid[], array[%(ns)s], array['192.0.2.1']::inet[], '{answered}', '{1}')",
            id=self.key,
        )
        self.entity = world.value("select id from loci_data.entities where namespace_id = %(ns_id)s and name = 'Xylophone'")
        self.edge = world.value("select id from loci_data.edges where namespace_id = %(ns_id)s")
        rule = Jsonb({"content": "zanzibar", "kind": "constraint", "memory_id": str(self.memory)})
        aspect = world.value("select id from loci_api.upsert_aspect(%(ns)s, 'Xylophone', '{\"name\": \"zanzibar\"}')")
        attribute = world.value("select id from loci_api.add_attribute(%(ns)s, %(id)s, %(rule)s)", id=aspect, rule=rule)
        world.rows("select * from loci_api.update_attribute(%(ns)s, %(id)s, '{\"importance\": 1}')", id=attribute)
        world.rows('select * from loci_api.update_entity(%(ns)s, %(id)s, \'{"description": "zanzibar"}\')', id=self.entity)
        ended = {"source": "Xylophone", "type": "zanzibar", "target": "Zanzibar", "valid_to": "2100-01-01T00:00:00Z"}
        world.rows("select * from loci_api.observe_edges(%(ns)s, %(edges)s)", edges=Jsonb([ended]))
        world.rows("select loci_api.record_injections(%(ns)s, 'zanzibar', array[%(id)s]::uuid[])", id=self.memory)
        world.rows("select loci_api.record_hits(%(ns)s, 'zanzibar', array[%(id)s]::uuid[])", id=self.memory)
        world.rows("select loci_api.end_session(%(ns)s, 'zanzibar')")
        world.rows("select * from loci_api.observe_edges(%(ns)s, %(edges)s)", edges=Jsonb([{**ended, "source": "Zylophone"}]))
        self.recall = uuid4()
        asked = {
            "id": str(self.recall),
            "query": "zanzibar",
            "arms": ["lexical"],
            "fusion": "rrf",
            "k": 1,
            "results": 1,
            "took_ms": 1,
        }
        document = world.value(
            "select doc_id from loci_data.memories where namespace_id = %(ns_id)s and id = %(id)s", id=self.memory
        )
        answer = [{"document": document, "rank": 1, "score": 1, "arms": {"zanzibar": {"rank": 1, "score": 1}}}]
        world.rows("select loci_api.log_recall(%(ns)s, %(r)s, %(m)s)", r=Jsonb(asked), m=Jsonb(answer))
        rating = [{"memory_id": str(self.memory), "useful": True, "note": "zanzibar"}]
        world.rows("select loci_api.rate_recall(%(ns)s, %(r)s, %(m)s)", r=self.recall, m=Jsonb(rating))
        world.rows("select * from loci_api.merge_entities(%(ns)s, 'Zanzibar', 'Zylophone', 'zanzibar')")
        [claimed] = [
            row for row in world.rows("select * from loci_api.claim_entities_to_embed(1000)") if row["entity_id"] == self.entity
        ]
        world.rows(
            "select loci_api.store_entity_vectors(%(m)s::smallint, array[%(ns_id)s], array[%(e)s]::uuid[], array['x'], array['[1,0,0]'::halfvec])",
            m=claimed["model_id"], e=self.entity,
        )  # fmt: skip
        entry = Jsonb({"xylophone": "zanzibar"})
        world.rows(
            "select * from loci_api.save_working_memory(%(ns)s, 'xylophone', %(value)s, 3600, 'xylophone', '{xylophone,zanzibar}')",
            value=entry,
        )
        turns = Jsonb([{"role": "zanzibar", "content": "zanzibar xylophone", "metadata": {"k": "zanzibar"}}])
        world.rows("select * from loci_api.add_turns(%(ns)s, 'xylophone', %(turns)s)", turns=turns)

    def argument(self, name: str, kind: str) -> Any:
        """What to pass for an argument so that the call would find something."""
        id_ = {
            "p_edge_id": self.edge,
            "p_entity_id": self.entity,
            "p_agent": uuid4(),
            "p_caller": None,
            "p_recall_id": self.recall,
            "p_key_id": self.key,
        }.get(name, self.memory)
        named: dict[str, Any] = {
            "p_namespace": self.world.name if kind == "text" else self.world.id,
            "p_namespace_id": self.world.id,
            "p_role": "reader",
            "p_ref": str(self.memory),
            "p_limit": 10,
            "p_embedding": [1.0, 0.0, 0.0],
            "p_start": ["Xylophone"],
            "p_namespaces": [self.world.name],
            "p_strength": 0.5,
            "p_type": "person",
            "p_cursor": None,
            "p_items": "[]",
            "p_entities": "[]",
            "p_edges": "[]",
            "p_changes": "{}",
            "p_settings": "{}",
            "p_filter": "{}",
            "p_space": None,
            "p_prefix": None,
        }
        if name in named and not kind.startswith("loci."):
            return named[name]
        by_type: dict[str, Any] = {
            "uuid": id_,
            "uuid[]": [id_],
            "text": "xylophone",
            "text[]": ["xylophone"],
            "jsonb": "{}",
            "integer": 1,
            "boolean": True,
        }
        return by_type.get(kind)


@pytest.fixture(scope="module")
def secret(own_database: Database) -> Iterator[Secret]:
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as connection:
        made = Secret(new_world(connection))
        connection.commit()
        act_as(connection, UUID(int=0))
        yield made


@pytest.fixture(scope="module")
def visits(own_database: Database, secret: Secret) -> Iterator[dict[str, psycopg.Connection[Any]]]:
    """One open session for each visitor."""
    analyst = f"loci_test_{uuid4().hex[:8]}"
    with own_database.admin() as admin:
        admin.execute(sql.SQL("create role {} login in role loci_analyst").format(sql.Identifier(analyst)))
        admin.execute(
            "insert into loci_data.agents (id, name, kind, database_role) values (gen_random_uuid(), 'a', 'analyst', %s)",
            [analyst],
        )
        stranger = grant(admin, "no-such-namespace", "admin")
        late = grant(admin, secret.world.name, "admin", expires_at=datetime(2021, 1, 1, tzinfo=UTC))
        sessions = {name: own_database.admin() for name in VISITORS}
        for name, agent in zip(VISITORS, ["", stranger, late, UUID(int=0)], strict=True):
            sessions[name].execute("select set_config('loci.agent', %s, false)", [str(agent)])
            role = analyst if name.startswith("analyst") else "loci_app"
            sessions[name].execute(sql.SQL("set session authorization {}").format(sql.Identifier(role)))
        yield sessions
        for session in sessions.values():
            session.close()
        admin.execute("delete from loci_data.agents where database_role = %s", [analyst])
        admin.execute(sql.SQL("drop role {}").format(sql.Identifier(analyst)))


def rows_of(connection: psycopg.Connection[Any], relation: str) -> list[Any]:
    """All that a session reads of a relation; nothing, where it may not."""
    try:
        return connection.execute(sql.SQL("select * from {}").format(named(relation))).fetchall()
    except errors.InsufficientPrivilege:
        return []


@pytest.mark.row("X1")
@pytest.mark.parametrize("visitor", VISITORS)
def test_a_stranger_reads_no_row_of_any_table(visits: dict[str, psycopg.Connection[Any]], visitor: str) -> None:
    held = [name for name in [*RELATIONS, *PARTITIONS] if name not in OPEN_TABLES]
    assert {name: rows for name in held if (rows := rows_of(visits[visitor], name))} == {}


def overloads(connection: psycopg.Connection[Any], function: str) -> list[tuple[list[str], list[str]]]:
    """Names and types of the input arguments of each function of this name."""
    rows = (
        connection.cursor(row_factory=tuple_row)
        .execute(
            """select coalesce(p.proargnames[1:p.pronargs], '{}'), array(select format_type(t, null) from unnest(p.proargtypes) t)
           from pg_proc p where p.pronamespace = %s::regnamespace and p.proname = %s""",
            function.split("."),
        )
        .fetchall()
    )
    return [(list(names), list(types)) for names, types in rows]


def call(connection: psycopg.Connection[Any], secret: Secret, function: str, names: list[str], types: list[str]) -> str | None:
    """The text of what a call returns; None if it was refused for lack of privilege. Other errors count as their message."""
    arguments = sql.SQL(", ").join(sql.SQL("%s::{}").format(sql.SQL(kind)) for kind in types)  # type: ignore[arg-type]
    values = [secret.argument(name, kind) for name, kind in zip(names, types, strict=True)]
    statement = sql.SQL("select coalesce(json_agg(t)::text, '') from (select * from {}({})) t").format(
        sql.Identifier(*function.split(".")), arguments
    )
    try:
        with connection.transaction(force_rollback=True):
            row = connection.cursor(row_factory=tuple_row).execute(statement, values).fetchone()
            assert row is not None
            return str(row[0])
    except errors.InsufficientPrivilege:
        return None
    except psycopg.Error as error:
        return str(error)


def tells_nothing(answer: str) -> bool:
    """Whether an answer is a row of nulls."""
    try:
        rows = json.loads(answer)
    except ValueError:
        return False
    return bool(rows) and all(isinstance(row, dict) and not any(value is not None for value in row.values()) for row in rows)


def shown(connection: psycopg.Connection[Any], secret: Secret, function: str) -> list[str]:
    """What a call of a function gives away: the secret, or an answer in its namespace that is no refusal."""
    told = []
    for names, types in overloads(connection, function):
        answer = call(connection, secret, function, names, types)
        if (
            answer is not None
            and not tells_nothing(answer)
            and (MARKER in answer.lower() or {"p_namespace", "p_namespace_id"} & set(names))
        ):
            told.append(answer)
    return told


@pytest.mark.row("X1")
@pytest.mark.parametrize("visitor", VISITORS)
def test_a_stranger_gets_nothing_from_any_function(
    visits: dict[str, psycopg.Connection[Any]], secret: Secret, visitor: str
) -> None:
    asked = [name for name in FUNCTIONS if name != "loci_api.begin_request"]  # it authenticates; see the tests of keys
    assert {name: told for name in asked if (told := shown(visits[visitor], secret, name))} == {}


def test_the_calls_of_the_walk_would_have_found_something(secret: Secret) -> None:
    readers = [
        "loci.search_text",
        "loci.match_entities",
        "loci.get_memories",
        "loci.history",
        "loci.subtree",
        "loci.similar_memories",
        "loci.list_memories",
        "loci.edges_as_of",
        "loci_api.list_keys",
        "loci_api.list_key_usage",
        "loci.get_working_memory",
        "loci.list_working_memory",
        "loci.search_working_memory",
        "loci.list_turns",
        "loci.search_turns",
        "loci.conversation_log",
        "loci.list_conversations",
    ]
    answers = {
        name: call(secret.world.connection, secret, name, *overloads(secret.world.connection, name)[0]) or "" for name in readers
    }
    assert [name for name, answer in answers.items() if len(answer) < 10] == []


WRITES = ("insert into {} default values", "delete from {}", "truncate {}", "lock table {}")


def refused(connection: psycopg.Connection[Any], statement: sql.Composed) -> bool:
    """Whether a session has no right to a statement."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(statement)
    except errors.InsufficientPrivilege:
        return True
    return False


@pytest.mark.parametrize("visitor", ["operator", *VISITORS])
def test_nobody_but_functions_writes_a_table(visits: dict[str, psycopg.Connection[Any]], secret: Secret, visitor: str) -> None:
    connection = secret.world.connection if visitor == "operator" else visits[visitor]
    tried = [(verb, table) for table in [*(f"loci_data.{name}" for name in TABLES), *PARTITIONS] for verb in WRITES]
    assert [each for each in tried if not refused(connection, sql.SQL(each[0]).format(named(each[1])))] == []


@pytest.mark.parametrize(
    "table",
    [
        "agents",
        "api_keys",
        "browser_sessions",
        "cells",
        "grants",
        "idempotency_keys",
        "key_uses",
        "rate_buckets",
        "feeds",
        "namespace_cells",
        "namespace_locks",
        "namespace_moves",
        "service_locks",
        "turn_locks",
    ],
)
def test_keys_and_grants_are_read_by_functions_alone(secret: Secret, table: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege), secret.world.connection.transaction(force_rollback=True):
        secret.world.connection.execute(sql.SQL("select from loci_data.{}").format(sql.Identifier(table)))


@pytest.mark.parametrize(
    "statement",
    [
        "set role loci_owner",
        "set session authorization postgres",
        "alter role loci_app bypassrls",
        "create table loci.mine ()",
        "alter table loci_data.memories disable row level security",
        "drop function loci_api.uuid7()",
        "select loci_migration.drop_policies()",
    ],
)
def test_the_service_cannot_rise_above_its_role(secret: Secret, statement: Any) -> None:
    with pytest.raises(psycopg.ProgrammingError), secret.world.connection.transaction(force_rollback=True):
        secret.world.connection.execute(statement)


@pytest.mark.row("X1")
def test_row_level_security_is_enabled_and_forced_on_every_table(connection: psycopg.Connection[Any]) -> None:
    rows = connection.execute(
        """select relname from pg_class where relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace) and relkind in ('r', 'p')
           and not (relrowsecurity and relforcerowsecurity)"""
    ).fetchall()
    assert rows == []


@pytest.mark.row("X1")
@pytest.mark.parametrize("role", ["loci_app", "loci_analyst", "loci_owner"])
def test_no_role_of_loci_bypasses_row_level_security(connection: psycopg.Connection[Any], role: str) -> None:
    row = connection.execute(
        "select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb from pg_roles where rolname = %s", [role]
    ).fetchone()
    assert row == {"rolsuper": False, "rolbypassrls": False, "rolcreaterole": False, "rolcreatedb": False}


@pytest.mark.row("R1")
@pytest.mark.parametrize("role", ["loci_app", "loci_analyst"])
@pytest.mark.parametrize(
    ("setting", "value"),
    [("jit", "off"), ("hnsw.ef_search", "128"), ("hnsw.iterative_scan", "strict_order"), ("TimeZone", "UTC")],
)
def test_settings_that_plans_and_times_rest_on_hang_on_the_roles(
    connection: psycopg.Connection[Any], role: str, setting: str, value: str
) -> None:
    found = connection.execute(
        """select s.setconfig from pg_db_role_setting s join pg_roles r on r.oid = s.setrole join pg_database d on d.oid = s.setdatabase
           where r.rolname = %s and d.datname = current_database()""",
        [role],
    ).fetchone()
    assert found is not None
    assert f"{setting}={value}" in found["setconfig"]


@pytest.mark.anyio
async def test_a_pooled_connection_does_not_keep_the_agent_of_the_request_before(own_database: Database, secret: Secret) -> None:
    pool = make_pool(own_database.app_url, size=1)
    await pool.open(wait=True)
    async with open_transaction(pool, key_hash=OPERATOR, namespace=secret.world.name, role="reader") as tx:
        seen = await tx.rows(JsonObject, "select id from loci_data.memories")
    async with pool.connection() as connection:
        left = await (await connection.execute("select id from loci_data.memories")).fetchall()
        agent = await (await connection.execute("select loci.current_agent() as agent")).fetchone()
    await pool.close()
    assert seen
    assert (left, agent) == ([], {"agent": None})


def test_an_agent_cannot_be_told_apart_whether_a_namespace_exists(
    visits: dict[str, psycopg.Connection[Any]], secret: Secret
) -> None:
    visitor = visits["agent without a grant"]
    answers = []
    for name in (secret.world.name, "no-such-namespace"):
        with pytest.raises(errors.InsufficientPrivilege) as raised, visitor.transaction(force_rollback=True):
            visitor.execute("select loci.list_memories(%s)", [name])
        answers.append(str(raised.value).replace(name, "…"))
    assert answers[0] == answers[1]


# Roles

NEEDED = {
    "select * from loci.get_memories(%(ns)s, '{}')": "reader",
    "select * from loci.list_memories(%(ns)s)": "reader",
    "select * from loci.search_text(%(ns)s, 'x')": "reader",
    "select * from loci.similar_memories(%(ns)s, '{1,2,3}')": "reader",
    "select * from loci.list_categories(%(ns)s)": "reader",
    "select * from loci.match_entities(%(ns)s, 'x')": "reader",
    "select * from loci.list_entities(%(ns)s)": "reader",
    "select * from loci.edges_as_of(%(ns)s, now())": "reader",
    "select * from loci.list_namespaces(%(ns)s)": "reader",
    "select * from loci.list_recalls(%(ns)s)": "reader",
    "select * from loci.namespace_growth(%(ns)s)": "reader",
    "select * from loci_api.preview_erasure(%(ns)s, '{}')": "writer",
    "select * from loci_api.search_context(%(ns)s, 'x', '{}')": "reader",
    "select * from loci_api.recall_arms_in_namespaces(array[%(ns)s], null, 'x', null, '{lexical}')": "reader",
    """select loci_api.log_recall(%(ns)s, jsonb_build_object('id', loci_api.uuid7(), 'query', 'x', 'arms', '["lexical"]'::jsonb, 'fusion', 'rrf',
                                                        'k', 1, 'results', 0, 'took_ms', 1), '[]')""": "reader",
    "select * from loci.list_working_memory(%(ns)s)": "reader",
    "select * from loci.search_working_memory(%(ns)s)": "reader",
    "select * from loci.list_turns(%(ns)s, 's')": "reader",
    "select * from loci.search_turns(%(ns)s, 'x')": "reader",
    "select * from loci.conversation_log(%(ns)s)": "reader",
    "select * from loci_api.save_working_memory(%(ns)s, 'plan', '1')": "writer",
    "select * from loci_api.delete_working_memory(%(ns)s, 'plan')": "writer",
    'select * from loci_api.add_turns(%(ns)s, \'s\', \'[{"role": "user", "content": "x"}]\')': "writer",
    "select * from loci_api.delete_turns(%(ns)s, 's')": "writer",
    "select * from loci_api.clear_conversation_log(%(ns)s, '{}')": "writer",
    "select * from loci_api.remember(%(ns)s, '[]')": "writer",
    "select * from loci_api.upsert_entities(%(ns)s, '[]')": "writer",
    "select loci_api.touch_entities(%(ns)s, '{}')": "writer",
    "select loci_api.update_namespace(%(ns)s, '{}')": "admin",
    "select * from loci_api.list_keys(%(ns)s)": "admin",
    "select * from loci_api.create_key(%(ns)s, 'reader', 'k', gen_random_uuid(), sha256('a'))": "admin",
    "select loci_api.delete_namespace(%(ns)s)": "admin",
}
RANKS = ["reader", "writer", "admin"]


def allowed(world: World, statement: Any) -> bool:
    """Whether a statement is not refused for lack of a role."""
    try:
        with world.connection.transaction(force_rollback=True):
            world.rows(statement)
    except errors.InsufficientPrivilege:
        return False
    return True


@pytest.mark.parametrize("role", RANKS)
def test_a_role_has_the_rights_it_includes_and_no_more(owned: World, role: str) -> None:
    owned.connection.execute("reset session authorization")
    agent = grant(owned.connection, owned.name, role)
    owned.connection.execute("set session authorization loci_app")
    act_as(owned.connection, agent)
    included = {statement for statement, needed in NEEDED.items() if RANKS.index(role) >= RANKS.index(needed)}
    assert {statement for statement in NEEDED if allowed(owned, statement)} == included


@pytest.mark.parametrize("statement", ["select loci_api.create_namespace('mine')", "select loci_api.register_model('m', 3)"])
def test_an_admin_of_a_namespace_is_not_the_operator(owned: World, statement: Any) -> None:
    owned.connection.execute("reset session authorization")
    agent = grant(owned.connection, owned.name, "admin")
    owned.connection.execute("set session authorization loci_app")
    act_as(owned.connection, agent)
    with pytest.raises(errors.InsufficientPrivilege):
        owned.rows(statement)


@pytest.mark.row("X2")
def test_a_grant_opens_one_namespace_and_no_other(owned: World) -> None:
    other = new_world(owned.connection)
    owned.write("mine")
    other.write("theirs")
    owned.connection.execute("reset session authorization")
    agent = grant(owned.connection, owned.name, "reader")
    owned.connection.execute("set session authorization loci_app")
    act_as(owned.connection, agent)
    assert owned.rows("select content from loci_data.memories") == [{"content": "mine"}]
    assert owned.rows("select name from loci.list_namespaces()") == [{"name": owned.name}]
    assert owned.visible() == ["mine"]


@pytest.fixture
def analyst(server: Server) -> Iterator[str]:
    """A role of the analysts, committed at once: while it is made, nobody on the server can make or drop another."""
    name = f"loci_test_{uuid4().hex[:8]}"
    server.execute("create role {} login in role loci_analyst", name)
    yield name
    server.execute("drop role {}", name)


@pytest.mark.row("X2")
def test_an_analyst_sees_in_sql_what_was_granted_and_no_more(analyst: str, owned: World) -> None:
    other = new_world(owned.connection)
    owned.write("mine")
    other.write("theirs")
    owned.connection.execute("reset session authorization")
    agent = grant(owned.connection, owned.name, "reader")
    owned.connection.execute("update loci_data.agents set kind = 'analyst', database_role = %s where id = %s", [analyst, agent])
    owned.connection.execute(sql.SQL("set session authorization {}").format(sql.Identifier(analyst)))
    act_as(owned.connection, UUID(int=0))  # an analyst who poses as the operator gains nothing
    assert owned.rows("select content from loci_data.memories") == [{"content": "mine"}]
    assert owned.rows("select * from loci.search_text(%(ns)s, 'theirs')") == []
    with pytest.raises(errors.InsufficientPrivilege):
        other.visible()


# Keys


def enter(world: World, key: bytes | None, role: str | None = "reader") -> dict[str, Any]:
    return world.row("select * from loci_api.begin_request(%(key)s, %(ns)s, %(role)s)", key=key, role=role)


@pytest.fixture
def key(world: World) -> tuple[UUID, bytes]:
    """A writer's key of the world: its id and its hash."""
    made = (uuid4(), uuid4().bytes * 2)
    world.rows("select * from loci_api.create_key(%(ns)s, 'writer', 'k', %(id)s, %(hash)s)", id=made[0], hash=made[1])
    return made


def test_a_key_acts_as_its_own_agent(world: World, key: tuple[UUID, bytes]) -> None:
    entered = enter(world, key[1], "writer")
    assert entered["namespace_id"] == world.id
    assert entered["agent_id"] != UUID(int=0)
    assert world.value("select loci.current_agent()") == entered["agent_id"]


def test_a_key_opens_its_only_namespace_when_none_is_named(world: World, key: tuple[UUID, bytes]) -> None:
    assert world.value("select namespace_id from loci_api.begin_request(%(key)s, null, 'reader')", key=key[1]) == world.id


def test_a_key_does_not_reach_past_its_role(world: World, key: tuple[UUID, bytes]) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        enter(world, key[1], "admin")


def test_an_unknown_key_is_refused(world: World) -> None:
    with pytest.raises(errors.InvalidAuthorizationSpecification):
        enter(world, bytes(32))


def test_a_revoked_key_is_refused(world: World, key: tuple[UUID, bytes]) -> None:
    world.rows("select loci_api.revoke_key(%(ns)s, %(id)s)", id=key[0])
    with pytest.raises(errors.InvalidAuthorizationSpecification):
        enter(world, key[1])


def test_an_expired_key_is_refused(world: World) -> None:
    made = uuid4()
    world.rows("select * from loci_api.create_key(%(ns)s, 'writer', 'k', %(id)s, sha256('x'))", id=made)
    world.rows('select loci_api.update_key(%(ns)s, %(id)s, \'{"expires_at": "2021-01-01T00:00:00Z"}\')', id=made)
    with pytest.raises(errors.InvalidAuthorizationSpecification):
        world.rows("select * from loci_api.begin_request(sha256('x'), %(ns)s, 'reader')")


def test_a_key_of_another_namespace_cannot_be_revoked(world: World, key: tuple[UUID, bytes]) -> None:
    other = new_world(world.connection)
    act_as(
        world.connection,
        other.value("select agent_id from loci_api.create_key(%(ns)s, 'admin', 'k', %(id)s, sha256('x'))", id=uuid4()),
    )
    with pytest.raises(errors.NoDataFound):
        other.rows("select loci_api.revoke_key(%(ns)s, %(id)s)", id=key[0])


def test_listed_keys_never_show_a_hash(world: World, key: tuple[UUID, bytes]) -> None:
    (listed,) = world.rows("select * from loci_api.list_keys(%(ns)s)")
    assert listed["id"] == key[0]
    assert "hash" not in listed
