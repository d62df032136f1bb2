"""Who may read a namespace, as an analyst sees it: agents, grants and keys, of the own namespaces alone, and no secrets."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.factories import World, act_as, grant, new_world

READERS = "select * from loci.readers where namespace = %(ns)s order by kind, agent_id, key"
SECRET = {"hash", "fingerprint", "bucket", "rate_limit", "space"}


def add_key(world: World, agent: Any, name: str, **fields: Any) -> None:
    """A key of an agent, past the service."""
    stated = {"expires_at": None, "revoked_at": None, "namespaces": None, **fields}
    world.as_owner(
        """insert into loci_data.api_keys (id, agent_id, name, hash, scope, namespaces, default_namespace_id, bucket, expires_at, revoked_at)
           values (gen_random_uuid(), %(agent)s, %(name)s::text, sha256(convert_to(%(name)s::text, 'UTF8')), 'read', %(namespaces)s, %(ns_id)s, gen_random_uuid(),
                   %(expires_at)s, %(revoked_at)s) returning id""",
        agent=agent,
        name=name,
        **stated,
    )


@pytest.fixture
def agents(owned: World) -> dict[str, Any]:
    """Agents of one namespace: one with keys of all kinds, one whose grant has ended, one without a key."""
    owned.connection.execute("reset session authorization")
    past = datetime.now(UTC) - timedelta(days=1)
    made = {
        "keyed": grant(owned.connection, owned.name, "writer"),
        "ended": grant(owned.connection, owned.name, "reader", expires_at=past),
        "bare": grant(owned.connection, owned.name, "reader"),
    }
    owned.connection.execute("set session authorization loci_app")
    prefix = uuid4().hex
    add_key(owned, made["keyed"], f"{prefix}-a good")
    add_key(owned, made["keyed"], f"{prefix}-b over", expires_at=past)
    add_key(owned, made["keyed"], f"{prefix}-c revoked", revoked_at=past)
    add_key(owned, made["keyed"], f"{prefix}-d here", namespaces=[owned.id])
    add_key(owned, made["ended"], f"{prefix}-e of one whose role ended")
    return made


def test_readers_are_agents_with_the_keys_that_reach_the_namespace(owned: World, agents: dict[str, Any]) -> None:
    found = [row for row in owned.rows(READERS) if row["kind"] == "key"]
    shown = {(row["agent_id"], (row["key"] or "").partition("-")[2], row["reads_now"]) for row in found}
    assert shown == {
        (agents["keyed"], "a good", True),
        (agents["keyed"], "b over", False),
        (agents["keyed"], "d here", True),
        (agents["ended"], "e of one whose role ended", False),
        (agents["bare"], "", False),
    }


def test_the_operator_reads_every_namespace_and_is_shown(owned: World) -> None:
    assert [(row["role"], row["reads_now"]) for row in owned.rows(READERS) if row["kind"] == "operator"]


@pytest.mark.parametrize("who", ["keyed", "ended"])
def test_nobody_sees_the_readers_of_a_namespace_that_is_closed_to_them(owned: World, agents: dict[str, Any], who: str) -> None:
    other = new_world(owned.connection)
    act_as(owned.connection, agents[who])
    assert bool(owned.rows(READERS)) is (who == "keyed")
    assert other.rows(READERS) == []


def test_no_secret_is_among_the_columns(owned: World) -> None:
    columns = {row["attname"] for row in owned.rows("select attname from pg_attribute where attrelid = 'loci.readers'::regclass")}
    assert columns & SECRET == set()


def test_the_count_of_an_operation_is_the_sum_of_its_kinds(owned: World) -> None:
    owned.connection.execute("reset session authorization")
    owned.rows(
        """with made as (insert into loci_data.operations (namespace_id, id, action, via, started_at)
                         values (%(ns_id)s, gen_random_uuid(), 'test', 'sql', now()) returning namespace_id, id)
           insert into loci_data.operation_counts (namespace_id, operation_id, kind, action, count)
           select m.namespace_id, m.id, c.kind, 'created', c.count from made m, (values ('memory', 2), ('edge', 3)) c(kind, count)
           returning count"""
    )
    found = owned.row("select change_count, changes from loci.operations where namespace = %(ns)s and action = 'test'")
    assert found == {"change_count": 5, "changes": {"memory.created": 2, "edge.created": 3}}


@pytest.mark.parametrize("on", [None, True, False])
def test_a_namespace_says_whether_its_recalls_are_logged(owned: World, on: bool | None) -> None:
    owned.connection.execute("reset session authorization")
    if on is not None:
        owned.rows(
            "update loci_data.namespaces set settings = jsonb_build_object('recall_log', %(on)s::boolean) where id = %(ns_id)s returning id",
            on=on,
        )
    assert owned.value("select logs_recalls from loci.namespace_stats where namespace = %(ns)s") is bool(on)


def test_an_analyst_may_use_the_views_and_their_tables_and_no_inner_schema(admin: psycopg.Connection[Any]) -> None:
    found = admin.execute(
        "select nspname as name from pg_namespace where nspname like 'loci%' and has_schema_privilege('loci_analyst', oid, 'usage') order by 1"
    ).fetchall()
    assert [row["name"] for row in found] == ["loci", "loci_data"]
