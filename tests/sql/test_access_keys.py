"""Keys in SQL: what a key may do of what its agent may, who may make and replace one, and how much it may ask for."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.blocking import started
from tests.databases import Database
from tests.factories import OPERATOR, World, act_as, new_world
from tests.services import PATIENCE

ROLES = {"read": "reader", "write": "writer", "admin": "admin"}
Made = dict[str, Any]


def make(world: World, role: str | None = "writer", **fields: Any) -> Made:
    """A key, made by whoever acts; its hash beside what the call says."""
    id_, secret = uuid4(), uuid4().bytes
    given = {"scope": "admin", "namespaces": None, "agent_id": None, "rate_limit": None, "expires_at": None, "default_namespace": None,
             "space": None, **fields}  # fmt: skip
    row = world.row(
        "select * from loci_api.create_key(%(ns)s, %(role)s, 'k', %(id)s, %(hash)s, %(expires_at)s,"
        " %(scope)s, %(namespaces)s, %(agent_id)s, %(rate_limit)s, %(default_namespace)s, %(space)s)",
        role=role,
        id=id_,
        hash=hashlib.sha256(secret).digest(),
        **given,
    )
    return {**row, "hash": hashlib.sha256(secret).digest()}


def enter(world: World, key: Made | None, namespace: str | None = None, role: str | None = None) -> Made:
    """Begin as the holder of a key, or as the operator."""
    return world.row(
        "select * from loci_api.begin_request(%(hash)s, %(namespace)s, %(role)s)",
        hash=key and key["hash"],
        namespace=namespace,
        role=role,
    )


def refused(world: World, kind: type[psycopg.Error] | tuple[type[psycopg.Error], ...], work: Any) -> str:
    """The message of what is refused; the transaction goes on."""
    with pytest.raises(kind) as caught, world.connection.transaction(force_rollback=True):
        work()
    return caught.value.diag.message_primary or ""


def lease(world: World, key: Made, wanted: int = 1, default: int | None = None, returned: int = 0) -> Made:
    """Ask for requests."""
    rows = world.rows(
        "select * from loci_api.lease_requests(%(hash)s, %(wanted)s, %(default)s, %(returned)s)",
        hash=key["hash"],
        wanted=wanted,
        default=default,
        returned=returned,
    )
    return rows[0] if rows else {}


def kept(world: World, key: Made) -> Made:
    """The stored row of a key, as the owner sees it."""
    world.connection.execute("reset session authorization")
    row = world.row("select * from loci_data.api_keys where id = %(id)s", id=key["id"])
    world.connection.execute("set session authorization loci_app")
    return row


# Who a key is


def test_a_key_is_looked_up_by_a_fingerprint_that_is_not_its_hash(owned: World) -> None:
    row = kept(owned, make(owned))
    assert row["fingerprint"] == hashlib.sha256(row["hash"]).digest()[:8]
    assert row["fingerprint"] not in row["hash"]


def test_a_hash_with_the_fingerprint_of_a_key_and_another_end_is_no_key(owned: World) -> None:
    key = make(owned)
    owned.connection.execute("reset session authorization")
    owned.connection.execute("alter table loci_data.api_keys alter column fingerprint drop expression")
    other = hashlib.sha256(b"another").digest()
    owned.connection.execute(
        "update loci_data.api_keys set fingerprint = %s where id = %s", [hashlib.sha256(other).digest()[:8], key["id"]]
    )
    owned.connection.execute("set session authorization loci_app")
    refused(owned, errors.InvalidAuthorizationSpecification, lambda: enter(owned, {"hash": other}))


@pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
def test_a_change_after_the_end_of_a_key_is_not_told_to_its_running_request(owned: World, end: str) -> None:
    key = make(owned, "reader")
    enter(owned, key, owned.name, "reader")
    read = "select * from loci_api.read_changes(array[%(ns)s], p_place => 0)"
    owned.rows(read)
    owned.connection.execute("reset session authorization")
    ended = sql.SQL("update loci_data.api_keys set {} = clock_timestamp() where id = %s").format(sql.Identifier(end))
    owned.connection.execute(ended, [key["id"]])
    owned.connection.execute("set session authorization loci_app")
    assert refused(owned, errors.InvalidAuthorizationSpecification, lambda: owned.rows(read)) == "the API key is expired or revoked"


@pytest.mark.parametrize("state", ["unknown", "expired", "revoked"])
def test_unknown_expired_and_revoked_keys_get_the_same_answer(world: World, state: str) -> None:
    key = make(world)
    if state == "expired":
        change(world, key, expires_at="2021-01-01T00:00:00Z")
    if state == "revoked":
        world.rows("select loci_api.revoke_key(%(ns)s, %(id)s)", id=key["id"])
    if state == "unknown":
        key["hash"] = bytes(32)
    assert refused(world, errors.InvalidAuthorizationSpecification, lambda: enter(world, key)).startswith(
        "invalid API key: it is unknown, expired or revoked"
    )
    assert lease(world, key) == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("select * from loci_api.create_browser_session(sha256('none'), sha256('token'), 3600)", "invalid API key"),
        ("select * from loci_api.list_invitations()", "not authenticated"),
    ],
    ids=["a session without a key", "a list without a caller"],
)
def test_a_call_without_a_valid_key_is_refused_in_words_that_a_user_knows(world: World, call: LiteralString, message: str) -> None:
    def ask() -> None:
        world.connection.execute("set local loci.agent = ''")
        world.rows(call)

    assert refused(world, (errors.InvalidAuthorizationSpecification, errors.InsufficientPrivilege), ask) == message


# Scopes


@pytest.mark.parametrize("needed", ROLES.values())
@pytest.mark.parametrize("scope", ROLES)
@pytest.mark.parametrize("role", ROLES.values())
def test_a_key_does_what_role_and_scope_both_allow(world: World, role: str, scope: str, needed: str) -> None:
    key = make(world, role, scope=scope)
    ranks = list(ROLES.values())
    if ranks.index(needed) <= min(ranks.index(role), ranks.index(ROLES[scope])):
        assert enter(world, key, world.name, needed)["namespace_id"] == world.id
    else:
        assert "is needed" in refused(world, errors.InsufficientPrivilege, lambda: enter(world, key, world.name, needed))


def test_a_read_key_of_an_admin_writes_nothing_whatever_is_called(world: World) -> None:
    enter(world, make(world, "admin", scope="read"))
    refused(world, errors.InsufficientPrivilege, lambda: world.write("x"))
    refused(world, errors.InsufficientPrivilege, lambda: make(world))
    refused(world, errors.InsufficientPrivilege, lambda: world.rows("select * from loci_api.list_keys(%(ns)s)"))
    assert world.rows("select * from loci.list_memories(%(ns)s)") == []


def test_the_role_that_a_namespace_is_listed_with_is_that_of_the_key(world: World) -> None:
    enter(world, make(world, "admin", scope="write"))
    assert [row["role"] for row in world.rows("select * from loci.list_namespaces()")] == ["writer"]


def test_a_key_kept_to_a_namespace_sees_no_other_of_its_agent(world: World) -> None:
    other = new_world(world.connection)
    agent = make(world, namespaces=[world.name, other.name])["agent_id"]
    other.write("elsewhere")
    world.write("here")
    key = make(world, None, agent_id=agent, namespaces=[world.name])
    enter(world, key)
    assert [row["content"] for row in world.rows("select content from loci_data.memories")] == ["here"]
    assert enter(world, key, role="writer")["namespace_id"] == world.id
    assert "no access" in refused(world, errors.InsufficientPrivilege, lambda: other.write("x"))
    assert [row["name"] for row in world.rows("select * from loci.list_namespaces()")] == [world.name]


def test_one_key_may_work_in_several_namespaces(world: World) -> None:
    other = new_world(world.connection)
    enter(world, make(world, namespaces=[world.name, other.name]))
    world.write("here")
    other.write("there")
    assert len(world.rows("select from loci_data.memories")) == 2


def test_the_scope_of_a_transaction_ends_with_it(world: World) -> None:
    enter(world, make(world, "writer", scope="read"))
    enter(world, None)
    assert world.write("x")["content"] == "x"


# Who may make and replace keys


def guest_of(world: World) -> tuple[World, Made]:
    """A namespace, and the key of an agent that is at home there and a writer of this one, too."""
    home = new_world(world.connection)
    key = make(home)
    world.rows("select * from loci_api.set_grant(%(ns)s, %(a)s, 'writer')", a=key["agent_id"])
    return home, key


def answers(world: World, key: Made) -> list[str]:
    """What an admin of a namespace is told who names a key, and its agent."""
    attempts: list[Any] = [
        lambda: make(world, None, agent_id=key["agent_id"]),
        lambda: rotate(world, key),
        lambda: change(world, key, expires_at=None),
        lambda: world.rows("select loci_api.revoke_key(%(ns)s, %(id)s)", id=key["id"]),
        lambda: world.rows("select * from loci_api.list_key_usage(%(ns)s, %(id)s)", id=key["id"]),
    ]
    said = [refused(world, errors.NoDataFound, attempt) for attempt in attempts]
    return [text.replace(str(key["id"]), "KEY").replace(str(key["agent_id"]), "AGENT") for text in said]


@pytest.mark.row("X8")
@pytest.mark.parametrize("whose", ["a guest's", "the operator's"])
def test_only_the_home_of_an_agent_touches_its_keys_and_to_others_there_are_none(world: World, whose: str) -> None:
    other = new_world(world.connection)
    key = guest_of(world)[1] if whose == "a guest's" else make(world, namespaces=[world.name, other.name])
    admin = make(world, "admin")
    enter(world, admin)
    assert [row["id"] for row in world.rows("select * from loci_api.list_keys(%(ns)s)")] == [admin["id"]]
    assert answers(world, key) == answers(world, {"id": uuid4(), "agent_id": uuid4()})
    assert enter(world, key, world.name, "writer")["agent_id"] == key["agent_id"]


def test_the_home_of_an_agent_touches_its_keys_wherever_they_reach(world: World) -> None:
    home, key = guest_of(world)
    enter(home, make(home, "admin"))
    further, rotated = make(home, None, agent_id=key["agent_id"]), rotate(home, key)
    change(home, further, expires_at=None, name="renamed")
    listed = {row["id"]: row["name"] for row in home.rows("select * from loci_api.list_keys(%(ns)s)")}
    assert {id_: listed[id_] for id_ in (key["id"], further["id"], rotated["id"])} == {
        key["id"]: "k",
        further["id"]: "renamed",
        rotated["id"]: "k",
    }
    home.rows("select loci_api.revoke_key(%(ns)s, %(id)s)", id=rotated["id"])
    enter(world, further, world.name, "writer")
    refused(world, errors.InvalidAuthorizationSpecification, lambda: enter(world, rotated))


def test_the_keys_of_a_home_that_was_deleted_are_the_operators(world: World) -> None:
    home, key = guest_of(world)
    home.rows("select loci_api.delete_namespace(%(ns)s)")
    admin = make(world, "admin")
    enter(world, admin)
    refused(world, errors.NoDataFound, lambda: rotate(world, key))
    enter(world, None)
    assert enter(world, rotate(world, key), world.name, "writer")["namespace_id"] == world.id


def test_a_key_that_is_kept_to_namespaces_makes_and_renews_none_that_reaches_more(world: World) -> None:
    home, key = guest_of(world)
    enter(home, make(home, "admin", namespaces=[home.name]))
    for attempt in (lambda: rotate(home, key), lambda: change(home, key, expires_at=None)):
        assert "reaches namespaces" in refused(home, errors.InsufficientPrivilege, attempt)
    made = make(home, None, agent_id=key["agent_id"])
    refused(world, errors.InsufficientPrivilege, lambda: enter(world, made, world.name, "reader"))
    both = [home.name, world.name]
    refused(home, errors.InsufficientPrivilege, lambda: make(home, None, agent_id=key["agent_id"], namespaces=both))


def test_a_further_key_is_kept_to_namespaces_that_its_agent_was_granted(world: World) -> None:
    home, key = guest_of(world)
    enter(home, make(home, "admin"))
    both = make(home, None, agent_id=key["agent_id"], namespaces=[home.name, world.name])
    said = {
        refused(home, errors.NoDataFound, lambda: make(home, None, agent_id=key["agent_id"], namespaces=[home.name, name])).replace(  # noqa: B023
            name, "NAME"
        )
        for name in ("default", "no-such-place")
    }
    assert len(said) == 1
    enter(world, both, world.name, "writer")


# Where a key means, that names no namespace


def test_the_default_namespace_of_a_key_is_the_home_of_its_agent_whatever_is_granted_since(world: World) -> None:
    home, key = guest_of(world)
    world.rows("select * from loci_api.set_grant('default', %(a)s, 'reader')", a=key["agent_id"])
    assert enter(home, key, role="writer")["namespace_id"] == home.id


def test_a_default_namespace_that_is_stated_stays_also_in_the_key_that_follows(world: World) -> None:
    home, guest = guest_of(world)
    key = make(home, None, agent_id=guest["agent_id"], default_namespace=world.name)
    assert enter(world, rotate(world, key), role="writer")["namespace_id"] == world.id
    enter(world, None)
    kept_to = {"agent_id": guest["agent_id"], "namespaces": [home.name], "default_namespace": world.name}
    assert "default_namespace" in refused(home, errors.InvalidParameterValue, lambda: make(home, None, **kept_to))
    refused(home, errors.NoDataFound, lambda: make(home, default_namespace="default"))


@pytest.mark.row("X8")
@pytest.mark.parametrize("end", ["revoked", "expired", "deleted"])
def test_a_key_whose_default_namespace_is_no_longer_granted_never_means_another(owned: World, end: str) -> None:
    world = owned
    home, key = guest_of(world)
    if end == "revoked":
        home.rows("select * from loci_api.delete_grant(%(ns)s, %(a)s)", a=key["agent_id"])
    elif end == "deleted":
        home.rows("select loci_api.delete_namespace(%(ns)s)")
    else:
        until = home.now() + timedelta(days=1)
        home.rows("select * from loci_api.set_grant(%(ns)s, %(a)s, 'writer', %(until)s)", a=key["agent_id"], until=until)
        world.as_owner(
            "update loci_data.grants set expires_at = clock_timestamp() where expires_at = %(until)s returning 1", until=until
        )
    said = refused(world, errors.InsufficientPrivilege, lambda: enter(world, key, role="reader"))
    assert "the default namespace of this key is not granted to it any more" in said
    enter(world, key)
    refused(world, errors.InsufficientPrivilege, lambda: world.rows("select * from loci.list_memories(null)"))
    assert world.row("select default_namespace, home from loci_api.whoami()") == {"default_namespace": None, "home": None}
    own = world.rows("select namespace from loci_api.recall_namespaces(array[%(ns)s]) where own")
    assert own == [{"namespace": None}]
    assert enter(world, key, world.name, "writer")["namespace_id"] == world.id


def test_a_caller_without_a_key_names_its_namespace_unless_it_is_the_operator(world: World) -> None:
    agent = make(world)["agent_id"]
    act_as(world.connection, agent)
    said = refused(world, errors.InsufficientPrivilege, lambda: world.rows("select * from loci.list_memories(null)"))
    assert "no namespace was named" in said
    act_as(world.connection, OPERATOR)
    assert world.rows("select * from loci.list_memories(null)") == world.rows("select * from loci.list_memories('default')")


def test_a_further_key_takes_the_role_of_its_agent(world: World) -> None:
    agent = make(world, "reader")["agent_id"]
    assert "role" in refused(world, errors.InvalidParameterValue, lambda: make(world, "admin", agent_id=agent))
    refused(world, errors.InsufficientPrivilege, lambda: enter(world, make(world, None, agent_id=agent), world.name, "writer"))


@pytest.mark.parametrize("agent", [OPERATOR, UUID(int=7)])
def test_no_key_is_made_for_the_operator_or_for_an_agent_without_a_grant(world: World, agent: UUID) -> None:
    refused(world, errors.NoDataFound, lambda: make(world, None, agent_id=agent))


def test_the_namespaces_of_a_key_hold_the_one_it_is_made_in(world: World) -> None:
    other = new_world(world.connection)
    assert "namespaces must hold" in refused(world, errors.InvalidParameterValue, lambda: make(world, namespaces=[other.name]))


def test_a_key_with_a_limit_gives_none_that_is_higher(world: World) -> None:
    enter(world, make(world, "admin", rate_limit=10))
    assert "at most 10" in refused(world, errors.InvalidParameterValue, lambda: make(world, rate_limit=11))
    key = make(world)
    assert lease(world, key)["rate_limit"] == 10
    refused(world, errors.InvalidParameterValue, lambda: change(world, key, rate_limit=None))


# Rotation


def rotate(world: World, key: Made, grace: int = 0, expires_at: datetime | None = None) -> Made:
    secret = uuid4().bytes
    row = world.row(
        "select * from loci_api.rotate_key(%(ns)s, %(id)s, %(new)s, %(hash)s, %(grace)s, %(expires)s)",
        id=key["id"],
        new=uuid4(),
        hash=hashlib.sha256(secret).digest(),
        grace=grace,
        expires=expires_at,
    )
    return {**row, "hash": hashlib.sha256(secret).digest()}


def change(world: World, key: Made, **changes: Any) -> None:
    world.rows("select loci_api.update_key(%(ns)s, %(id)s, %(changes)s)", id=key["id"], changes=Jsonb(changes))


def test_a_rotated_key_gives_way_to_one_with_the_same_rights(owned: World) -> None:
    old = make(owned, "admin", scope="write", rate_limit=30, namespaces=[owned.name], space="patrol/heartbeat")
    new = rotate(owned, old)
    refused(owned, errors.InvalidAuthorizationSpecification, lambda: enter(owned, old))
    before, after = kept(owned, old), kept(owned, new)
    same = ["agent_id", "name", "scope", "namespaces", "default_namespace_id", "space", "rate_limit", "bucket", "expires_at"]
    assert [before[name] for name in same] == [after[name] for name in same]
    assert before["replaced_by"] == new["id"]
    assert enter(owned, new, owned.name, "writer")["agent_id"] == before["agent_id"]


def test_both_keys_work_until_the_grace_is_over_and_share_one_allowance(world: World) -> None:
    old = make(world, rate_limit=5)
    new = rotate(world, old, grace=3600)
    assert new["old_ends_at"] - datetime.now(UTC) < timedelta(seconds=3601)
    assert enter(world, old)["agent_id"] == enter(world, new)["agent_id"]
    enter(world, None)
    assert lease(world, old, 4)["granted"] + lease(world, new, 4)["granted"] == 5


def test_a_new_key_lives_as_long_as_the_old_one_was_given(owned: World) -> None:
    old = kept(owned, make(owned, expires_at=datetime.now(UTC) + timedelta(days=90)))
    new = kept(owned, rotate(owned, old))
    assert new["expires_at"] - new["created_at"] == old["expires_at"] - old["created_at"]
    until = datetime(2100, 1, 1, tzinfo=UTC)
    assert kept(owned, rotate(owned, new, expires_at=until))["expires_at"] == until


def test_a_grace_lengthens_no_life(world: World) -> None:
    ends = datetime.now(UTC) + timedelta(minutes=50)
    assert rotate(world, make(world, expires_at=ends), grace=3600)["old_ends_at"] == ends


@pytest.mark.parametrize("state", ["rotated", "revoked", "expired"])
def test_a_key_that_is_rotated_revoked_or_expired_is_not_rotated(world: World, state: str) -> None:
    key = make(world)
    if state == "expired":
        change(world, key, expires_at="2021-01-01T00:00:00Z")
    if state == "rotated":
        rotate(world, key, grace=60)
    if state == "revoked":
        world.rows("select loci_api.revoke_key(%(ns)s, %(id)s)", id=key["id"])
    refused(world, errors.UniqueViolation, lambda: rotate(world, key))


def test_no_key_is_made_that_has_ended(world: World) -> None:
    past, key = datetime.now(UTC) - timedelta(seconds=1), make(world)
    for attempt in (lambda: make(world, expires_at=past), lambda: rotate(world, key, expires_at=past)):
        assert refused(world, errors.InvalidParameterValue, attempt).startswith("expires_at must be in the future, not ")


@pytest.mark.parametrize("grace", [-1, 2_592_001])
def test_a_grace_is_up_to_thirty_days(world: World, grace: int) -> None:
    assert "grace_seconds" in refused(world, errors.InvalidParameterValue, lambda: rotate(world, make(world), grace))


def test_one_of_concurrent_rotations_wins(own_database: Database) -> None:
    with own_database.app() as first, own_database.app() as second:
        first.row_factory = second.row_factory = dict_row  # type: ignore[assignment]
        world = new_world(first)  # type: ignore[arg-type]
        key = make(world)
        first.commit()
        act_as(first, OPERATOR)
        act_as(second, OPERATOR)
        rotate(world, key, grace=60)
        with own_database.admin() as watcher, ThreadPoolExecutor(1) as pool:
            racing = started(pool, watcher, second, lambda: rotate(World(second, world.name, world.id), key, grace=60))  # type: ignore[arg-type]
            first.commit()
            with pytest.raises(errors.UniqueViolation, match="was rotated into"):
                racing.result(PATIENCE)
        second.rollback()


# What is told of a key


def noted(world: World, kind: str = "key") -> list[Made]:
    world.connection.execute("reset session authorization")
    rows = world.rows(
        "select action, subject_id, before, after from loci_data.outbox where namespace_id = %(ns_id)s and kind = %(kind)s order by id",
        kind=kind,
    )
    world.connection.execute("set session authorization loci_app")
    return rows


def test_the_operations_log_has_every_change_of_a_key_and_never_its_hash(owned: World) -> None:
    key = make(owned, "reader", rate_limit=10)
    change(owned, key, rate_limit=20, name="other")
    change(owned, key, rate_limit=20)  # changes nothing
    new = rotate(owned, key, grace=60)
    owned.rows("select loci_api.revoke_key(%(ns)s, %(id)s)", id=new["id"])
    rows = noted(owned)
    assert [(row["action"], row["subject_id"]) for row in rows] == [
        ("created", key["id"]),
        ("changed", key["id"]),
        ("created", new["id"]),
        ("changed", key["id"]),
        ("changed", new["id"]),
    ]
    assert rows[0]["after"]["rate_limit"] == 10
    assert (rows[1]["before"], rows[1]["after"]) == ({"name": "k", "rate_limit": 10}, {"name": "other", "rate_limit": 20})
    assert set(rows[3]["after"]) == {"expires_at", "replaced_by"}
    assert set(rows[4]["after"]) == {"revoked_at"}
    assert not any(secret in str(rows) for secret in (key["hash"].hex(), kept(owned, key)["fingerprint"].hex()))


def test_a_change_of_a_key_is_noted_at_home_and_not_where_it_is_a_guest(owned: World) -> None:
    home, key = guest_of(owned)
    home.rows("select loci_api.revoke_key(%(ns)s, %(id)s)", id=key["id"])
    assert [row["action"] for row in noted(home)] == ["created", "changed"]
    assert noted(owned) == []


def test_a_key_of_the_operators_is_noted_where_it_was_asked_for(owned: World) -> None:
    other = new_world(owned.connection)
    key = make(owned, namespaces=[owned.name, other.name])
    owned.rows("select loci_api.revoke_key(%(ns)s, %(id)s)", id=key["id"])
    assert ([row["action"] for row in noted(owned)], noted(other)) == (["created", "changed"], [])


def test_a_key_in_a_list_names_only_namespaces_that_the_reader_knows(world: World) -> None:
    home, guest = guest_of(world)
    key = make(home, None, agent_id=guest["agent_id"], namespaces=[home.name, world.name], default_namespace=world.name)
    enter(home, make(home, "admin"))
    row = home.row("select * from loci_api.list_keys(%(ns)s, p_key_id => %(id)s)", id=key["id"])
    assert (row["namespaces"], row["default_namespace"]) == ([home.name], None)


# What a key was used for


def use(world: World, *uses: tuple[Any, ...]) -> None:
    keys, namespaces, addresses, outcomes, counts = zip(*uses, strict=True)
    world.rows(
        "select loci_api.record_key_usage(%(k)s::uuid[], %(n)s::text[], %(a)s::inet[], %(o)s, %(c)s)",
        k=list(keys),
        n=list(namespaces),
        a=list(addresses),
        o=list(outcomes),
        c=list(counts),
    )


def test_the_home_of_a_key_sees_its_uses_wherever_they_were(world: World) -> None:
    home, key = guest_of(world)
    use(world, (key["id"], None, None, "answered", 1), (key["id"], world.name, None, "refused", 2))
    enter(home, make(home, "admin"))
    rows = home.rows("select * from loci_api.list_key_usage(%(ns)s, %(id)s)", id=key["id"])
    assert {row["namespace"]: row["requests"] for row in rows} == {home.name: 1, world.name: 2}


def test_uses_of_a_key_add_up_by_namespace_address_and_outcome(world: World) -> None:
    key = make(world)["id"]
    use(world, (key, None, "192.0.2.1", "answered", 2), (key, world.name, "192.0.2.1", "answered", 3))
    use(world, (key, world.name, "192.0.2.1", "answered", 1), (key, world.name, None, "refused", 1))
    rows = world.rows("select * from loci_api.list_key_usage(%(ns)s, %(id)s) order by requests desc", id=key)
    assert [(r["namespace"], r["address"], r["outcome"], r["requests"]) for r in rows] == [
        (world.name, "192.0.2.1", "answered", 6),
        (world.name, None, "refused", 1),
    ]
    assert rows[0]["first_at"] <= rows[0]["last_at"]
    assert world.value("select last_used_at is not null from loci_api.list_keys(%(ns)s)")


def test_a_namespace_that_a_key_does_not_reach_is_not_named_in_its_uses(world: World) -> None:
    other = new_world(world.connection)
    key = make(world)["id"]
    use(world, (key, other.name, None, "refused", 1), (key, "no-such-place", None, "refused", 1))
    rows = world.rows("select * from loci_api.list_key_usage(%(ns)s, %(id)s)", id=key)
    assert [(row["namespace"], row["requests"]) for row in rows] == [(None, 2)]


def test_keys_that_are_not_valid_are_counted_by_address_for_the_operator(world: World) -> None:
    use(world, (None, None, "2001:db8::", "unauthorized", 5))
    (row,) = world.rows("select * from loci_api.list_refused_requests()")
    assert (row["address"], row["requests"]) == ("2001:db8::", 5)
    enter(world, make(world, "admin"))
    refused(world, errors.InsufficientPrivilege, lambda: world.rows("select * from loci_api.list_refused_requests()"))
    refused(world, errors.InsufficientPrivilege, lambda: use(world, (None, None, None, "unauthorized", 5)))


def test_uses_are_kept_for_the_days_of_their_namespace(owned: World) -> None:
    old = make(owned)["id"]
    use(owned, (old, None, None, "answered", 1), (None, None, None, "unauthorized", 1))
    owned.connection.execute("reset session authorization")
    owned.connection.execute("update loci_data.key_uses set hour = hour - interval '50 days'")
    owned.connection.execute("set session authorization loci_app")
    assert owned.value("select loci_api.sweep_log('key_uses')") == 0
    owned.rows("select loci_api.update_namespace(%(ns)s, %(c)s)", c=Jsonb({"settings": {"key_use_days": 40}}))
    assert owned.value("select loci_api.sweep_log('key_uses')") == 1
    assert len(owned.rows("select * from loci_api.list_refused_requests()")) == 1


# Rate limits


def test_a_key_without_a_limit_is_granted_all_and_writes_nothing(owned: World) -> None:
    key = make(owned)
    assert (lease(owned, key, 1000)["granted"], lease(owned, key)["rate_limit"]) == (1000, None)
    owned.connection.execute("reset session authorization")
    assert owned.rows("select from loci_data.rate_buckets where bucket = %(id)s", id=key["id"]) == []


def filled(world: World, key: Made, tokens: float, seconds: float) -> float:
    """The bucket held so much so many seconds ago; that moment, in seconds since 1970."""
    world.connection.execute("reset session authorization")
    since = world.value(
        """update loci_data.rate_buckets set tokens = %(t)s, refilled_at = clock_timestamp() - %(s)s * interval '1 second'
           where bucket = %(id)s returning extract(epoch from refilled_at)""",
        t=tokens,
        s=seconds,
        id=key["id"],
    )
    world.connection.execute("set session authorization loci_app")
    return float(since)


def test_a_burst_takes_a_minutes_requests_and_no_more(owned: World) -> None:
    key = make(owned, rate_limit=10)
    assert lease(owned, key)["remaining"] == 9
    filled(owned, key, 10, -3600)  # and is not filled within this hour
    assert [lease(owned, key)["granted"] for _ in range(12)] == [1] * 10 + [0, 0]
    last = lease(owned, key)
    assert last["remaining"] == 0
    assert 0 < last["next_in"] <= 6
    assert 50 < last["full_in"] <= 60


def test_a_bucket_refills_evenly_and_never_over_its_limit(owned: World) -> None:
    key = make(owned, rate_limit=60)
    lease(owned, key)
    since = filled(owned, key, 0, 10)
    leased = lease(owned, key, 60)
    assert leased["granted"] == min(60, int(leased["clock"] - since))
    filled(owned, key, 0, 3600)
    assert lease(owned, key, 100)["granted"] == 60


def test_a_small_limit_is_granted_one_by_one_and_a_large_one_in_leases_that_shrink(owned: World) -> None:
    assert lease(owned, make(owned, rate_limit=100))["granted"] == 1
    key = make(owned, rate_limit=6000)
    assert lease(owned, key)["granted"] == 50
    filled(owned, key, 160, -3600)
    assert lease(owned, key)["granted"] == 10
    assert lease(owned, key, 20)["granted"] == 20


def test_leases_of_a_process_add_nothing_to_a_burst(world: World) -> None:
    key = make(world, rate_limit=600)
    leased = [lease(world, key, 100) for _ in range(7)]
    refilled = 10 * (leased[-1]["clock"] - leased[0]["clock"])
    assert 595 <= sum(each["granted"] for each in leased) <= 600 + refilled


def test_tokens_that_were_not_used_return(world: World) -> None:
    key = make(world, rate_limit=10)
    assert lease(world, key, 10)["granted"] == 10
    assert lease(world, key, 0, returned=4)["granted"] == 0
    assert lease(world, key, 10)["granted"] == 4


def test_a_limit_that_is_not_stated_is_the_services(world: World) -> None:
    key = make(world)
    assert lease(world, key, 5, default=3)["granted"] == 3
    change(world, key, rate_limit=100)
    assert lease(world, key, 5, default=3)["rate_limit"] == 100


@pytest.mark.parametrize("limit", [0, 1_000_001])
def test_a_limit_is_from_one_to_a_million(world: World, limit: int) -> None:
    refused(world, errors.CheckViolation, lambda: make(world, rate_limit=limit))


def test_no_function_lets_the_service_see_a_hash(connection: psycopg.Connection[Any]) -> None:
    rows = connection.execute(
        """select p.proname from pg_proc p where p.pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace)
           and has_function_privilege('loci_app', p.oid, 'execute')
           and (p.prorettype = 'loci_data.api_keys'::regtype or p.proallargtypes @> array['loci_data.api_keys'::regtype::oid])"""
    ).fetchall()
    assert rows == []
