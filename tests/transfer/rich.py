"""A namespace that has something of everything, and what two databases hold of a namespace, to be compared."""

import random
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from tests.databases import Database
from tests.factories import OPERATOR, Row, World, act_as, day

NASTY = [
    "quotes \" and ' and \\ and \\n, a tab\t, a return\r, a line\nbreak",
    "line separators \u2028 and \u2029, next line \u0085, bell \u0007, delete \u007f",
    "emoji 🧠👩‍👩‍👧, combining e\u0301, right to left שלום, high plane \U0001d543, noncharacter \uffff",
    '{"kind": "end", "sha256": "0"}',
    "%s %(namespace)s $1 {} <script>alert(1)</script> -- ; drop table memories",
    "   leading and trailing   ",
    "ß ẞ İ \u0131 ﬁ Straße",
]


def fill(connection: psycopg.Connection[Row], name: str, *, language: str = "german", settings: Row | None = None) -> World:
    """Make a namespace with something of everything, in many transactions, so that there are many moments to ask about."""
    act_as(connection, OPERATOR)
    row = connection.execute(
        "select loci_api.create_namespace(%s, 'Eine Welt', %s, %s) as id",
        [name, language, psycopg.types.json.Jsonb(settings or {"rrf_k": 9, "decay_rate": 0.02, "weights": {"names": 0.5}})],
    ).fetchone()
    assert row is not None
    world = World(connection, name, row["id"])
    for part in (_memories, _hierarchy, _graph, _tiers, _use):
        _commit(world)
        part(world)
    _commit(world)
    while not world.row("select * from loci_api.recalculate_decay_batch(%(ns)s, 'works_on')")[
        "done"
    ]:  # fades_at in step with the rates in force
        _commit(world)
    _commit(world)
    return world


def _commit(world: World) -> None:
    world.connection.commit()
    act_as(world.connection, OPERATOR)


def _memories(world: World) -> None:
    for city, number in (("Lissabon", 0), ("Berlin", 400), ("Porto", 800)):
        world.write(f"Alice wohnt in {city}", lineage="alice-ort", valid_from=day(number), source="Bob", tags=["ort", "ä/ö"])
        _commit(world)
    world.write("Alice wohnte in Faro", lineage="alice-ort", valid_from=day(200), valid_to=day(300))  # an interlude
    wrong = world.write("Alice mag Tee", lineage="alice-getränk")
    _commit(world)
    world.write("Alice mag Kaffee", lineage="alice-getränk", corrects=wrong["id"])
    for number, content in enumerate(NASTY):
        world.write(
            content,
            metadata={"k\u2028": [number, None, 1.10, 12345678901234567890123, {"tief": content}]},
            session_id=f"s {number}",
        )
    world.write("Zweimal gesagt")
    world.write("Zweimal gesagt")
    world.write("Eine Episode", layer=3)
    world.write("Eine Episode", layer=3)
    _commit(world)
    changed = world.write("Geändert", importance=0.1, category="arbeit/projekte")
    _commit(world)
    world.change(changed["id"], importance=0.9, tags=["neu"], category="arbeit")
    _commit(world)
    world.forget(changed["id"])
    _commit(world)
    world.forget(changed["id"], forget=False)
    world.forget(world.write("Vergessen", lineage="alt")["id"])


def _hierarchy(world: World) -> None:
    top = [world.write(f"Gebiet {n}", layer=0, lineage=f"gebiet-{n}") for n in range(3)]
    middle = [world.write(f"Begriff {n}", layer=1, lineage=f"begriff-{n}", parent_id=top[n % 3]["id"]) for n in range(5)]
    leaves = [world.write(f"Blatt {n}", lineage=f"blatt-{n}", parent_id=middle[n % 5]["id"]) for n in range(8)]
    for step in range(12):
        _commit(world)
        node, parent = (middle[step % 5], top[step % 3]) if step % 2 else (leaves[step % 8], middle[(step * 3) % 5])
        world.change(node["id"], parent_id=parent["id"])
        if step % 4 == 0:
            world.write(
                f"Blatt {step} neu",
                lineage=f"blatt-{step % 8}",
                parent_id=middle[(step + 1) % 5]["id"],
                valid_from=day(2000 + step),
            )
        if step % 5 == 0:
            world.change(leaves[(step + 1) % 8]["id"], parent_id=None)
    link = "select loci_api.link_memories(%(ns)s, %(a)s, %(b)s, %(type)s, %(strength)s)"
    for strength in (0.5, 0.75, 0.1):
        _commit(world)
        world.rows(link, a=leaves[0]["id"], b=leaves[1]["id"], type="stützt", strength=strength)
    world.rows(link, a=leaves[1]["id"], b=top[0]["id"], type="related_to", strength=1)
    _commit(world)
    world.rows("select loci_api.unlink_memories(%(ns)s, %(a)s, %(b)s, 'related_to')", a=leaves[1]["id"], b=top[0]["id"])


def _graph(world: World) -> None:
    json = psycopg.types.json.Jsonb
    world.rows(
        "select loci_api.upsert_entities(%(ns)s, %(e)s)",
        e=json(
            [{"name": "Straße  24", "type": "place", "aliases": ["Str. 24", "ΣΊΣΥΦΟΣ"]}, {"name": "Ada", "description": "Gräfin"}]
        ),
    )
    memory = world.write(
        "Ada Lovelace arbeitet an der Analytical Engine",
        entities=[{"name": "Ada", "type": "person"}, {"name": "Analytical Engine"}],
        edges=[{"source": "Ada", "type": "works_on", "target": "Analytical Engine", "confidence": 0.6}],
    )
    edge = {"source": "Ada", "type": "works_on", "target": "Analytical Engine"}
    for number, session in enumerate(("s1", "s1", "s2", None)):
        _commit(world)
        item = {**edge, "session_id": session, "confidence": 0.7, "observed_at": day(2300 + number).isoformat()}
        world.rows(
            "select loci_api.observe_edges(%(ns)s, %(e)s)",
            e=json([item, {"source": "Ada", "type": "geboren", "literal": "1815\n„London“"}]),
        )
    world.rows(
        "select loci_api.set_edge_type(%(ns)s, 'works_on', %(c)s)", c=json({"decay_rate": 0.001, "description": "arbeitet an"})
    )
    [ada] = [row["id"] for row in world.rows("select id from loci_data.entities where namespace_id = %(ns_id)s and name = 'Ada'")]
    _commit(world)
    world.rows(
        "select loci_api.update_entity(%(ns)s, %(id)s, %(c)s)", id=ada, c=json({"aliases": ["Lady Lovelace"], "metadata": {"x": 1}})
    )
    world.rows("select loci_api.pin_entity(%(ns)s, %(id)s, true)", id=ada)
    _merges(world)
    gone = world.rows(
        "select id from loci_api.observe_edges(%(ns)s, %(e)s)", e=json([{"source": "Ada", "type": "mag", "target": "Tee"}])
    )
    _commit(world)
    world.rows("select loci_api.delete_edge(%(ns)s, %(id)s)", id=gone[0]["id"])
    _commit(world)  # names are noted in a transaction of their own, as the worker does, which may read the same memory just now
    world.rows(
        "select loci_api.store_found_names(array[%(n)s, %(n)s], array[%(m)s, %(m)s]::uuid[], array['Ada Lovelace', 'Analytical Engine'])",
        n=world.id, m=memory["id"],
    )  # fmt: skip


def _merges(world: World) -> None:
    """One merge that holds, one that was undone, and a split."""
    json = psycopg.types.json.Jsonb
    for name in ("Bürgerin Ada", "Augusta Ada", "Die Maschine"):
        edges = [
            {"source": name, "type": "works_on", "target": "Analytical Engine"},
            {"source": name, "type": "ist", "target": "Ada"},
        ]
        world.write(f"{name} arbeitet", entities=[{"name": name, "aliases": [f"{name} II"]}], edges=edges)
    merge = "select merge_id from loci_api.merge_entities(%(ns)s, %(into)s, %(other)s, 'dieselbe „Person“')"
    for into, other in (("Ada", "Bürgerin Ada"), ("Ada", "Augusta Ada"), ("Analytical Engine", "Die Maschine")):
        _commit(world)
        made = world.value(merge, into=into, other=other)
    _commit(world)
    world.rows("select loci_api.undo_merge(%(ns)s, %(id)s)", id=made)
    _commit(world)
    world.rows("select loci_api.split_entity(%(ns)s, 'Ada', %(s)s)", s=json({"name": "Augusta Ada II", "reason": "doch nicht"}))


def _tiers(world: World) -> None:
    """What no function writes yet, and changes of the graph that leave beliefs, past the service."""
    world.connection.execute("commit")
    with psycopg.connect(world.connection.info.dsn, user="postgres", row_factory=dict_row) as admin:
        ns = world.id
        admin.execute(
            """insert into loci_data.aspects (namespace_id, id, entity_id, name, canonical_name, weight)
               select %s, loci_api.uuid7(), id, 'Vorlieben  und Abneigungen', loci.canonical_name('Vorlieben  und Abneigungen'), 0.8
               from loci_data.entities where namespace_id = %s and name = 'Ada'""",
            [ns, ns],
        )
        admin.execute(
            """insert into loci_data.attributes (namespace_id, id, aspect_id, kind, content, memory_id)
               select %s, loci_api.uuid7(), a.id, k, 'Satz ' || k || n, (select id from loci_data.memories where namespace_id = %s and status = 'active' and valid_to is null limit 1)
               from loci_data.aspects a, unnest(array['attribute', 'constraint']) k, generate_series(1, 3) n where a.namespace_id = %s""",
            [ns, ns, ns],
        )
        admin.commit()
        admin.execute(
            """update loci_data.attributes set status = 'superseded', superseded_at = now(), superseded_by =
               (select id from loci_data.attributes where namespace_id = %s order by id desc limit 1)
               where namespace_id = %s and id = (select id from loci_data.attributes where namespace_id = %s order by id limit 1)""",
            [ns, ns, ns],
        )
        admin.execute(
            """insert into loci_data.supersessions (namespace_id, id, older_id, newer_id, signal, confidence, evidence, origin, status, created_at)
               select namespace_id, loci_api.uuid7(), id, superseded_by, 'antonym', 0.8, '{an,aus}', 'inline', 'applied', now()
               from loci_data.attributes where namespace_id = %s and superseded_by is not null""",
            [ns],
        )
        act_as(admin, OPERATOR)
        admin.execute("select loci_api.propagate_memory_status(%s)", [world.name])  # what the rows above say of each other
        admin.execute(
            """insert into loci_data.supersession_verdicts (namespace_id, older_id, newer_id, contradicts, confidence)
               select namespace_id, older_id, newer_id, true, 0.8 from loci_data.supersessions where namespace_id = %s""",
            [ns],
        )
        admin.execute(
            """update loci_data.edges set valid_to = now(), updated_at = now(),
               aspect_id = (select id from loci_data.aspects where namespace_id = %s) where namespace_id = %s and type = 'geboren'""",
            [ns, ns],
        )
        for number, key in enumerate(("session/abc/plan", "patrol/heartbeat/ö")):
            admin.execute(
                """insert into loci_data.working_memory (namespace_id, space, key, agent_id, value, tags, stored_at, expires_at)
                   values (%s, %s, %s, loci_api.uuid7(), %s, '{a,"b c"}', now(), now() + interval '1 hour' * %s)""",
                [ns, key.rsplit("/", 1)[0], key, psycopg.types.json.Jsonb({"plan": [1, None]}), number],
            )
        admin.execute(
            """insert into loci_data.conversation_turns (namespace_id, session_id, agent_id, role, content, said_at)
               select %s, 's ' || n %% 3, loci_api.uuid7(), case n %% 2 when 0 then 'user' else 'assistant' end, 'Turn ' || n, now() + n * interval '1 second'
               from generate_series(1, 9) n""",
            [ns],
        )
        admin.execute(
            """update loci_data.working_memory set document = d.document, terms = loci_internal.count_terms(d.document)
               from (select o.key, loci_internal.session_text_document(o.namespace_id, loci_internal.working_memory_text(o.key, o.value, o.category, o.tags)) as document
                     from loci_data.working_memory o where o.namespace_id = %s) d
               where namespace_id = %s and working_memory.key = d.key""",
            [ns, ns],
        )
        admin.execute(
            """update loci_data.conversation_turns set document = loci_internal.session_text_document(namespace_id, content),
               terms = loci_internal.count_terms(loci_internal.session_text_document(namespace_id, content)) where namespace_id = %s""",
            [ns],
        )
        admin.execute(
            """insert into loci_data.context_sessions (namespace_id, session_id, agent_id, contexts, first_at, last_at)
               values (%s, 's 1', loci_api.uuid7(), 2, now(), now())""",
            [ns],
        )


def _use(world: World) -> None:
    memory = world.value("select min(id::text) from loci.list_memories(%(ns)s, '{}', 1)")
    signals = [
        {"kind": "correction", "content": NASTY[0], "memory_id": memory, "session_id": "s"},
        {"kind": "note", "content": NASTY[4]},
    ]
    world.rows("select * from loci_api.record_signals(%(ns)s, %(signals)s)", signals=psycopg.types.json.Jsonb(signals))
    """Sessions: one that was ended and goes on, and one that was not."""
    shown = [
        row["id"] for row in world.rows("select distinct memory_id as id from loci_data.attributes where namespace_id = %(ns_id)s")
    ]
    for session, ended in (("s 1", True), ("s 2", False), ("s 1", False)):
        for call in ("loci_api.record_injections", "loci_api.record_hits"):
            world.rows("select " + call + "(%(ns)s, %(s)s, %(ids)s)", s=session, ids=shown)  # type: ignore[operator]
        if ended:
            world.rows("select loci_api.end_session(%(ns)s, %(s)s)", s=session)
        _commit(world)
    _recalls(world)


def _recalls(world: World) -> None:
    """Logged recalls: one that found something and was rated, one that found nothing."""
    json = psycopg.types.json.Jsonb
    documents = [
        row["doc_id"]
        for row in world.rows("select doc_id from loci_data.memories where namespace_id = %(ns_id)s order by 1 limit 3")
    ]
    for number, found in enumerate((documents, [])):
        [recall] = [row["id"] for row in world.rows("select loci_api.uuid7()::text as id")]
        asked = {"id": recall, "session_id": "s 1", "query": "Wo wohnt „Ada“?", "arms": ["lexical", "vector"], "fusion": "rrf", "k": 8,
                 "filters": {"category": "ä"}, "as_of": day(number).isoformat(), "skipped": {"vector": "kein Modell"},
                 "results": len(found), "took_ms": 1.25}  # fmt: skip
        results = [
            {"document": document, "rank": rank, "score": 1 / rank, "arms": {"lexical": {"rank": rank, "score": 7.5}}}
            for rank, document in enumerate(found, start=1)
        ]
        world.rows("select loci_api.log_recall(%(ns)s, %(r)s, %(m)s)", r=json(asked), m=json(results))
        _commit(world)
        rated = world.rows(
            "select memory_id::text from loci.recall_log where namespace = %(ns)s and recall_id = %(r)s and rank = 2", r=recall
        )
        ratings = [{"memory_id": row["memory_id"], "useful": False, "note": "wohnt „anderswo“"} for row in rated]
        world.rows("select loci_api.rate_recall(%(ns)s, %(r)s, %(m)s)", r=recall, m=json(ratings))
        _commit(world)


def contents(database: Database, name: str, *, without: frozenset[str] = frozenset()) -> dict[str, list[str]]:
    """Every row of every table with a namespace_id, as text, in an order of its own; `without` names tables and table.columns."""
    found: dict[str, list[str]] = {}
    with psycopg.connect(database.admin_url, row_factory=dict_row) as admin:
        admin.execute("set timezone = 'UTC'")
        for table in tables(admin):
            if table in without:
                continue
            left_out = ["namespace_id", *(c.split(".")[1] for c in without if c.startswith(f"{table}."))]
            statement = sql.SQL(
                """select (to_jsonb(t) - %s::text[])::text as row from loci_data.{} t
                   where namespace_id = (select id from loci_data.namespaces where name = %s) order by 1"""
            ).format(sql.Identifier(table))
            found[table] = [row["row"] for row in admin.execute(statement, [left_out, name]).fetchall()]
        statement = sql.SQL(
            "select (to_jsonb(n) - '{{id,name,rates_version}}'::text[])::text as row from loci_data.namespaces n where name = %s"
        )
        found["namespaces"] = [row["row"] for row in admin.execute(statement.format(), [name]).fetchall()]
    return found


def tables(connection: psycopg.Connection[Any]) -> list[str]:
    """Tables of loci_data whose rows belong to a namespace."""
    rows = connection.execute(
        """select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'namespace_id'
           where c.relnamespace = 'loci_data'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1"""
    ).fetchall()
    return [row["name"] for row in rows]


def moments(database: Database, name: str, count: int, seed: int = 7) -> list[tuple[str, str]]:
    """Pairs (as_of, known_at) of moments at which something became true, and at which something was recorded."""
    with psycopg.connect(database.admin_url) as admin:
        rows = admin.execute(
            """with m as (select m.* from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id where n.name = %s)
               select 'valid', valid_from::text from m union select 'valid', valid_to::text from m where valid_to is not null
               union select 'recorded', recorded_at::text from m union select 'recorded', believed_at::text from m
               union select 'recorded', updated_at::text from m order by 1, 2""",
            [name],
        ).fetchall()
    recorded = [moment for kind, moment in rows if kind == "recorded"]
    either = [moment for _, moment in rows]
    chosen = random.Random(seed)
    return [(chosen.choice(either), chosen.choice(recorded)) for _ in range(count)]
