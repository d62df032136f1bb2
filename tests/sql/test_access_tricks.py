"""What somebody with SQL in hand may try to read what was not granted: none of it works."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.rows import dict_row, tuple_row

from db.pool import OPERATOR, JsonObject, make_pool, open_transaction
from tests.catalogue import FUNCTIONS, PARTITIONS, RELATIONS
from tests.databases import PASSWORD, Database, url_for
from tests.factories import World, act_as, grant, new_world
from tests.services import PATIENCE, eventually
from tests.sql.test_access_isolation import MARKER, OPEN_TABLES, Secret, named, overloads

pytestmark = pytest.mark.every_case

Connection = psycopg.Connection[Any]
ROLES = ["agent", "analyst"]


class Neighbour:
    """An agent and an analyst, both admins of a namespace beside the secret one; sessions of either, and of the superuser."""

    def __init__(self, database: Database, secret: Secret, world: World, agent: UUID, key: bytes) -> None:
        self.database, self.secret, self.world, self.agent, self.key = database, secret, world, agent, key
        self.analyst = f"loci_test_{uuid4().hex[:8]}"
        with database.admin() as admin:
            admin.execute(
                sql.SQL("create role {} login password {} in role loci_analyst").format(
                    sql.Identifier(self.analyst), sql.Literal(PASSWORD)
                )
            )
            agent = grant(admin, world.name, "admin")
            admin.execute("update loci_data.agents set kind = 'analyst', database_role = %s where id = %s", [self.analyst, agent])

    def connect(self, who: str) -> Connection:
        """A session that belongs to one of them from its first moment on."""
        user = self.analyst if who == "analyst" else "loci_app"
        connection = psycopg.connect(url_for(self.database.admin_url, self.database.name, user), autocommit=True)
        if who == "agent":
            connection.execute("select set_config('loci.agent', %s, false)", [str(self.agent)])
        return connection


@pytest.fixture(scope="module")
def neighbour(own_database: Database) -> Iterator[Neighbour]:
    with psycopg.connect(own_database.app_url, row_factory=dict_row) as connection:
        secret = Secret(new_world(connection))
        world = new_world(connection)
        world.write("mine")
        key = uuid4().bytes * 2
        made_key: Any = "select agent_id from loci_api.create_key(%(ns)s, 'admin', 'k', %(id)s, %(key)s)"
        agent = world.value(made_key, id=uuid4(), key=key)
        connection.commit()
    with own_database.admin() as admin:
        admin.execute("analyze")
        made = Neighbour(own_database, secret, world, agent, key)
        yield made
        left = "select not exists (select from pg_stat_activity where usename = %s)"  # a session takes its own objects along
        eventually(lambda: admin.execute(left, [made.analyst]).fetchone() == (True,))
        admin.execute("delete from loci_data.agents where database_role = %s", [made.analyst])
        admin.execute(sql.SQL("drop role {}").format(sql.Identifier(made.analyst)))


@pytest.fixture(params=ROLES)
def session(request: pytest.FixtureRequest, neighbour: Neighbour) -> Iterator[Connection]:
    """A fresh session of the agent, then of the analyst."""
    with neighbour.connect(request.param) as connection:
        yield connection


@pytest.fixture
def analyst(neighbour: Neighbour) -> Iterator[Connection]:
    with neighbour.connect("analyst") as connection:
        yield connection


@pytest.fixture(scope="module")
def settled(neighbour: Neighbour) -> Iterator[dict[str, Connection]]:
    """One session of each for the tests that leave nothing behind."""
    with neighbour.connect("agent") as agent, neighbour.connect("analyst") as person:
        yield {"agent": agent, "analyst": person}


# Objects of one's own


@pytest.mark.row("X1")
@pytest.mark.parametrize("type", ["uuid", "text", "jsonb", "timestamptz"])
def test_types_of_ones_own_do_not_stand_in_for_those_of_functions(neighbour: Neighbour, analyst: Connection, type: str) -> None:
    kind = sql.Identifier(type)
    analyst.execute(
        sql.SQL(
            """create function pg_temp.spy(p pg_catalog.{}) returns pg_catalog.bool language plpgsql as $$
               begin raise exception 'the spy is %', current_user; end $$"""
        ).format(kind)
    )
    analyst.execute(sql.SQL("create domain pg_temp.{} as pg_catalog.{} check (pg_temp.spy(value))").format(kind, kind))
    calls: list[Any] = [
        "select content from loci.list_memories(%s)",
        "select name from loci.list_entities(%s)",
        "select memories::pg_catalog.text from loci.namespace_stats where namespace = %s",
        "select count(*)::pg_catalog.text from loci.search_text(%s, 'mine')",
    ]
    assert [str(analyst.execute(statement, [neighbour.world.name]).fetchall()) for statement in calls] == [
        "[('mine',)]",
        "[]",
        "[('1',)]",
        "[('1',)]",
    ]


def test_every_function_looks_for_temporary_types_last_and_definers_look_nowhere_else(connection: Connection) -> None:
    rows = connection.execute(
        """select p.oid::regprocedure::text as name from pg_proc p
           left join lateral (select split_part(c, '=', 2) as path from unnest(p.proconfig) c where c like 'search_path=%%') s on true
           where p.pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace) and (p.prosecdef and s.path is null or s.path not like '%%, pg_temp')"""
    ).fetchall()
    assert rows == []


def test_functions_for_analysts_without_a_search_path_declare_no_foreign_type(
    connection: Connection,
) -> None:
    """PL/pgSQL keeps the types of variables for the session: a function that a person calls first must not find that person's types."""
    rows = connection.execute(
        """select p.proname as name from pg_proc p join pg_language l on l.oid = p.prolang
           where p.pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace) and l.lanname = 'plpgsql' and has_function_privilege('loci_analyst', p.oid, 'execute')
             and not exists (select from unnest(p.proconfig) c where c like 'search_path=%')"""
    ).fetchall()
    assert rows == []


def test_tables_and_functions_of_ones_own_do_not_stand_in_for_those_of_functions(neighbour: Neighbour, analyst: Connection) -> None:
    for table in ("memories", "namespaces", "grants", "agents"):
        analyst.execute(sql.SQL("create temp table {} (id int, name text, content text)").format(sql.Identifier(table)))
    analyst.execute("create function pg_temp.authorize(text, text) returns int language sql as 'select 1'")
    analyst.execute("set search_path = pg_temp, loci, loci_data, public")
    assert analyst.execute("select content from loci.list_memories(%s)", [neighbour.world.name]).fetchall() == [("mine",)]
    with pytest.raises(errors.InsufficientPrivilege):
        analyst.execute("select content from loci.list_memories(%s)", [neighbour.secret.world.name])


@pytest.mark.parametrize(
    "statement",
    [
        "create schema mine",
        "create schema loci_more",
        "create table public.mine ()",
        "create table loci_data.mine ()",
        "create function public.mine() returns int language sql as 'select 1'",
        "create function loci.mine() returns int language sql as 'select 1'",
        "create operator public.= (leftarg = text, rightarg = text, function = texteq)",
        "create extension pageinspect",
        "set role loci_owner",
        "set role postgres",
        "set session authorization loci_owner",
        "alter role current_user bypassrls",
        "grant loci_owner to current_user",
        "alter table loci_data.memories owner to current_user",
        "create policy mine on loci_data.memories using (true)",
        "create rule mine as on select to loci_data.memories do instead select 1",
        "create trigger mine after insert on loci_data.memories execute function loci_internal.log_rows_change()",
        "select * from pg_statistic",
        "select * from pg_authid",
        "select pg_read_file('PG_VERSION')",
        "copy loci_data.memories to '/tmp/mine'",
        "copy (select 1) to program 'cat'",
        "select lo_export(1, '/tmp/mine')",
        "load 'mine'",
    ],
)
def test_an_analyst_makes_or_becomes_nothing_that_sees_more(session: Connection, statement: Any) -> None:
    with pytest.raises((errors.InsufficientPrivilege, errors.WrongObjectType, errors.FeatureNotSupported)):
        session.execute(statement)


def test_an_analyst_does_not_become_the_service(analyst: Connection) -> None:
    for statement in ("set role loci_app", "set session authorization loci_app"):
        with pytest.raises(errors.InsufficientPrivilege):
            analyst.execute(statement)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "statement",
    [
        "set loci.agent = '00000000-0000-0000-0000-000000000000'",
        "select set_config('loci.agent', '00000000-0000-0000-0000-000000000000', false)",
        "set role loci_analyst",
        "set search_path = ''",
        "set session_replication_role = default",
        "set default_transaction_isolation = 'serializable'",
        "set plan_cache_mode = force_generic_plan",
        "set enable_seqscan = off",
        "set enable_indexscan = off",
    ],
)
def test_no_setting_of_an_analyst_shows_more(analyst: Connection, statement: Any) -> None:
    with suppress(errors.InsufficientPrivilege):
        analyst.execute(statement)
    assert analyst.execute("select content from loci_data.memories").fetchall() == [("mine",)]
    assert analyst.execute("select content from loci.current_memories").fetchall() == [("mine",)]


def test_row_level_security_is_not_switched_off_but_in_the_way(session: Connection) -> None:
    session.execute("set row_security = off")
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        session.execute("select content from loci_data.memories")


# Plans, and sessions that others used before


@pytest.mark.parametrize("mode", ["auto", "force_generic_plan", "force_custom_plan"])
@pytest.mark.parametrize(
    "statement",
    [
        "select content from loci_data.memories order by 1",
        "select content from loci.current_memories order by 1",
        "select count(*)::text from loci.memory_versions",
        "select name from loci.list_namespaces()",
    ],
)
def test_a_plan_made_for_one_agent_shows_another_only_its_own(neighbour: Neighbour, mode: str, statement: Any) -> None:
    with psycopg.connect(neighbour.database.app_url) as connection:
        connection.execute(sql.SQL("set plan_cache_mode = {}").format(sql.Identifier(mode)))
        connection.execute(sql.SQL("prepare shared as ") + sql.SQL(statement))
        seen = []
        for agent in (UUID(int=0), neighbour.agent, None, UUID(int=0)):
            act_as(connection, agent)
            for _ in range(7):  # past the point where a generic plan may be taken
                rows = connection.execute("execute shared").fetchall()
            seen.append(str(rows))
        assert seen[0] == seen[3] != seen[1] != seen[2]
        assert MARKER not in seen[1] + seen[2]


@pytest.mark.anyio
async def test_a_request_never_acts_as_the_agent_that_a_session_was_left_with(neighbour: Neighbour) -> None:
    pool = make_pool(neighbour.database.app_url, size=1)
    await pool.open(wait=True)
    async with pool.connection() as connection:  # a bug that leaves the operator behind, for the session
        await connection.execute("select set_config('loci.agent', %s, false)", [str(UUID(int=0))])
    async with open_transaction(pool, key_hash=neighbour.key, namespace=None, role="reader") as tx:
        assert await tx.rows(JsonObject, "select content from loci_data.memories") == [{"content": "mine"}]
    with pytest.raises(errors.InsufficientPrivilege):
        async with open_transaction(pool, key_hash=neighbour.key, namespace=neighbour.secret.world.name, role="reader") as tx:
            await tx.rows(JsonObject, "select content from loci_data.memories")
    await pool.close()


@pytest.mark.anyio
async def test_after_a_refusal_the_rest_of_a_pipeline_is_not_run(neighbour: Neighbour) -> None:
    pool = make_pool(neighbour.database.app_url, size=1)
    await pool.open(wait=True)
    cursors = list[Any]()

    async def ask_all() -> None:
        async with open_transaction(pool, key_hash=bytes(32), namespace=neighbour.secret.world.name, role="reader") as tx:
            cursors.extend([await tx.send(JsonObject, "select content from loci_data.memories") for _ in range(3)])
            await cursors[0].all()

    with pytest.raises(errors.InvalidAuthorizationSpecification):
        await ask_all()
    for cursor in cursors:
        with pytest.raises(psycopg.Error):
            await cursor.all()
    async with open_transaction(pool, key_hash=OPERATOR, namespace=neighbour.world.name, role="reader") as tx:
        assert await tx.rows(JsonObject, "select content from loci.list_memories(%(namespace)s)") == [{"content": "mine"}]
    await pool.close()


# Side channels


READABLE = [name for name in [*RELATIONS, *PARTITIONS] if name not in OPEN_TABLES]


QUESTIONS = (
    "select count(*) from {} r where pg_temp.leak(r::text)",
    "select count(*) from {} r where r::text::int = 1",
    "select 1 / length(r::text) from {} r order by pg_temp.leak(r::text)",
    "copy (select r from {} r) to stdout",
    "explain (analyze, verbose, timing off) select * from {}",
)


def told(connection: Connection, relation: str, heard: list[str]) -> str:
    """All that a session is told when it asks about a relation: rows, errors, and what is heard of notices meanwhile."""
    heard.clear()
    for question in QUESTIONS:
        statement = sql.SQL(question).format(named(relation))
        with suppress(errors.InsufficientPrivilege):
            try:
                if question.startswith("copy"):
                    with connection.cursor().copy(statement) as copied:
                        heard += [bytes(block).decode() for block in copied]
                else:
                    heard.append(str(connection.execute(statement).fetchall()))
            except psycopg.DataError as error:
                heard.append(str(error))
    return "\n".join(heard).lower()


@pytest.mark.parametrize("who", ROLES)
def test_no_function_or_error_in_a_question_is_shown_a_row_of_others(
    settled: dict[str, Connection], neighbour: Neighbour, who: str
) -> None:
    connection, heard = settled[who], list[str]()
    connection.execute(
        """create or replace function pg_temp.leak(p text) returns bool language plpgsql cost 0.0001 as $$
           begin raise notice '%', p; return true; end $$"""
    )

    def hear(note: psycopg.errors.Diagnostic) -> None:
        heard.append(str(note.message_primary))

    connection.add_notice_handler(hear)
    said = {relation: told(connection, relation, heard) for relation in READABLE}
    connection.remove_notice_handler(hear)
    assert [relation for relation, text in said.items() if MARKER in text or neighbour.secret.world.name in text] == []
    assert "mine" in said["loci_data.memories"]  # the questions do show rows of one's own


@pytest.mark.parametrize("view", ["pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"])
def test_statistics_show_no_values(session: Connection, view: str) -> None:
    rows = session.execute(
        sql.SQL("select * from {} where schemaname like 'loci%'").format(sql.Identifier("pg_catalog", view))
    ).fetchall()
    assert [row for row in rows if MARKER in str(row).lower()] == []
    assert len(rows) <= (13 if view == "pg_stats" else 0)  # tables that hold no tenant's data


def estimated(connection: Connection, condition: str) -> int:
    """How many memories the planner expects that are so."""
    asked = sql.SQL("explain (format json) select from loci_data.memories where {}").format(sql.SQL(condition))  # type: ignore[arg-type]
    ((plan,),) = connection.execute(asked).fetchall()
    return int(plan[0]["Plan"]["Plan Rows"])


def test_estimates_tell_how_common_a_guessed_value_is_and_patterns_tell_nothing(
    neighbour: Neighbour, settled: dict[str, Connection]
) -> None:
    """What is not closed: statistics are of all rows. Operators that are not known to keep what they see are estimated without."""
    person = settled["analyst"]
    with psycopg.connect(neighbour.database.app_url, row_factory=dict_row) as connection:
        items = [{"content": f"crate {n}", "category": "pemba/cloves"} for n in range(400)]
        other = new_world(connection)
        other.remember(*items)
        connection.commit()
    with neighbour.database.admin() as admin:
        admin.execute("analyze loci_data.memories")
    equal, other_value = (estimated(person, f"category = 'pemba/{each}'") for each in ("cloves", "pepper"))
    below, up_to = (estimated(person, f"category {each} 'pemba/cloves'") for each in ("<", "<="))
    assert (equal > 100 > other_value, up_to > 100 + below) == (True, True)  # what docs/security.md says that they tell
    for operator in ("like", "~", "ilike", "similar to"):
        known, unknown = (estimated(person, f"category {operator} '{each}'") for each in ("pemba/%", "nowhere/%"))
        assert known == unknown, operator
    guessed = "explain (analyze, timing off, costs off) select from loci_data.memories where category = 'pemba/cloves'"
    assert "Rows Removed by Filter" in str(person.execute(guessed).fetchall())
    assert person.execute("select from loci_data.memories where category = 'pemba/cloves'").fetchall() == []


def test_an_analyst_sees_nothing_of_what_others_run(analyst: Connection, neighbour: Neighbour) -> None:
    with psycopg.connect(neighbour.database.app_url) as busy:
        busy.execute("select 'zanzibar'")
        for view in ("pg_stat_activity", "pg_prepared_statements", "pg_cursors", "pg_locks"):
            rows = analyst.execute(sql.SQL("select v::text from {} v").format(sql.Identifier(view))).fetchall()
            assert MARKER not in str(rows)


def test_sequences_are_out_of_reach(session: Connection, connection: Connection) -> None:
    sequences = [
        row["name"]
        for row in connection.execute(
            "select oid::regclass::text as name from pg_class where relkind = 'S' and relnamespace = 'loci_data'::regnamespace"
        )
    ]
    assert sequences
    for statement in ("select last_value from {}", "select nextval('{}')", "select currval('{}')", "select setval('{}', 1)"):
        for sequence in sequences:
            with pytest.raises((errors.InsufficientPrivilege, errors.ObjectNotInPrerequisiteState)):
                session.execute(sql.SQL(statement.replace("{}", sequence)))  # type: ignore[arg-type]


def test_nothing_is_notified_whatever_others_do(analyst: Connection, neighbour: Neighbour) -> None:
    for channel in ("loci_changes", "loci_jobs", "procrastinate_any_queue_v1", '"procrastinate_queue_v1#loci"'):
        analyst.execute(f"listen {channel}")  # type: ignore[arg-type]
    with psycopg.connect(neighbour.database.app_url) as writer:
        act_as(writer, UUID(int=0))
        writer.execute('select loci_api.remember(%s, \'[{"content": "zanzibar again"}]\')', [neighbour.secret.world.name])
        writer.execute("select loci_api.enqueue_job(%s, 'dream')", [neighbour.secret.world.name])
        writer.commit()
        act_as(writer, UUID(int=0))
        writer.execute("select loci_api.sequence_changes(1000)")
        writer.execute("select loci_api.cancel_job(%s, id) from loci.jobs where namespace = %s", [neighbour.secret.world.name] * 2)
        writer.commit()
    analyst.execute("notify loci_changes, 'the end'")
    assert [notice.payload for notice in analyst.notifies(timeout=PATIENCE, stop_after=1)] == ["the end"]


def test_every_view_asks_with_the_rights_of_its_reader(connection: Connection) -> None:
    rows = connection.execute(
        """select relname from pg_class where relnamespace = 'loci'::regnamespace and relkind in ('v', 'm')
           and not coalesce(reloptions, '{}') @> '{security_invoker=true}'"""
    ).fetchall()
    assert rows == []


def test_tables_are_granted_for_reading_alone_and_to_the_two_roles_alone(connection: Connection) -> None:
    rows = connection.execute(
        """select distinct grantee, privilege_type from information_schema.role_table_grants
           where table_schema in ('loci', 'loci_data') and grantee <> 'loci_owner'"""
    ).fetchall()
    everywhere = connection.execute(
        """select c.oid::regclass from pg_class c cross join lateral aclexplode(c.relacl) a
           where c.relnamespace in ('loci'::regnamespace, 'loci_data'::regnamespace)
             and (a.grantee = 0 or a.privilege_type <> 'SELECT' and a.grantee <> c.relowner)"""
    ).fetchall()
    assert {(row["grantee"], row["privilege_type"]) for row in rows} <= {("loci_app", "SELECT"), ("loci_analyst", "SELECT")}
    assert everywhere == []


# Names and ids


def variants(name: str) -> list[str]:
    """Names that are nearly a name."""
    like = name.replace("o", "о")  # noqa: RUF001 (Cyrillic, on purpose)
    wide = "".join(chr(ord(c) + 0xFEE0) for c in name)
    shaped = [
        f"{name}-a",
        name[:-1],
        f"{name} ",
        f" {name}",
        f"{name}\n",
        f"{name}\u200b",
        f"{name}'",
        f'"{name}"',
        f"{name}--",
        f"{name}%",
    ]
    return [*shaped, name.upper(), like, wide, "%", "_" * len(name), f"{name[:-1]}_", f"{name},other", f"{{{name}}}", ".*", ""]


@pytest.mark.parametrize("number", range(len(variants("world"))))
def test_a_name_is_that_name_and_no_other(settled: dict[str, Connection], neighbour: Neighbour, number: int) -> None:
    own, foreign = variants(neighbour.world.name)[number], variants(neighbour.secret.world.name)[number]
    for name in (own, foreign):
        with pytest.raises(errors.InsufficientPrivilege, match="no access to namespace"):
            settled["agent"].execute("select loci.list_memories(%s)", [name])


def test_a_namespace_beside_one_with_a_longer_name_is_another(owned: World) -> None:
    longer = f"{owned.name}-a"
    owned.rows("select loci_api.create_namespace(%(name)s)", name=longer)
    owned.connection.execute("reset session authorization")
    agent = grant(owned.connection, longer, "admin")
    owned.connection.execute("set session authorization loci_app")
    act_as(owned.connection, agent)
    assert owned.rows("select name from loci.list_namespaces()") == [{"name": longer}]
    with pytest.raises(errors.InsufficientPrivilege):
        owned.visible()


def given_away(connection: Connection, neighbour: Neighbour, function: str) -> list[str]:
    """Answers of a function that show the secret."""
    answers = [ask(connection, neighbour, function, names, types) for names, types in overloads(connection, function)]
    return [answer for answer in answers if MARKER in answer.lower()]


@pytest.mark.row("X1")
@pytest.mark.parametrize("who", ROLES)
def test_ids_of_others_get_nothing_in_ones_own_namespace(settled: dict[str, Connection], neighbour: Neighbour, who: str) -> None:
    asked = [name for name in FUNCTIONS if name != "loci_api.begin_request"]
    assert {name: told for name in asked if (told := given_away(settled[who], neighbour, name))} == {}


def ask(connection: Connection, neighbour: Neighbour, function: str, names: list[str], types: list[str]) -> str:
    """What a call says in the neighbour's own namespace, with the secret's ids."""

    def argument(name: str, kind: str) -> Any:
        if name == "p_namespace":
            return neighbour.world.name if kind == "text" else neighbour.world.id
        return [neighbour.world.name] if name == "p_namespaces" and kind == "text[]" else neighbour.secret.argument(name, kind)

    arguments = sql.SQL(", ").join(sql.SQL("%s::{}").format(sql.SQL(kind)) for kind in types)  # type: ignore[arg-type]
    statement = sql.SQL("select coalesce(json_agg(t)::text, '') from (select * from {}({})) t").format(
        sql.Identifier(*function.split(".")), arguments
    )
    with connection.cursor(row_factory=tuple_row) as cursor:
        try:
            with connection.transaction(force_rollback=True):
                row = cursor.execute(statement, [argument(name, kind) for name, kind in zip(names, types, strict=True)]).fetchone()
        except psycopg.Error as error:
            return str(error)
    return str(row)
