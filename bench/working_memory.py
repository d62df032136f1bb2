"""Writes into working memory from eight agents at once, with the sweeper running; searches of it and of conversations.

    python -m bench.working_memory [--seconds N] [--quick]

Each agent writes its own space: forty keys over and over, and every tenth time a key that is new and expires a tenth of a second later. Each write is
a transaction of its own, durable as the server is set up. The floor is a bare upsert of the same rows into a table of key, value and expiry, in
slices that take turns with the measured ones. With --seconds 600 the size of the table shows whether it grows.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench import corpus
from bench.database import Database, database
from bench.measure import Figure, Options, against, interleaved, options, report, within

AGENTS = 8
NAME = "working-memory"
VALUE = {"status": "working", "step": 12, "note": "looked at the inbox and found three mails that need an answer today"}
SAVE = "select key from loci_api.save_working_memory(%s, %s, %s::jsonb, %s)"
SEARCH = "select key, score from loci.search_working_memory(%s, %s, p_prefix => %s)"
SAY = "select id from loci_api.add_turns(%s, %s, %s::jsonb)"
SEARCH_TURNS = "select id, score from loci.search_turns(%s, %s, %s)"
FLOOR_TABLE = """create table bench_entries (space integer, key text, value jsonb, expires_at timestamptz, primary key (space, key))
                 with (fillfactor = 50)"""
FLOOR = """insert into bench_entries values (%s, %s, %s::jsonb, clock_timestamp() + %s * interval '1 second')
           on conflict (space, key) do update set value = excluded.value, expires_at = excluded.expires_at"""
FLOOR_SWEEP = "delete from bench_entries where space = %s and expires_at < clock_timestamp()"
COMPUTED = """
    with entry as (select w.key, loci_internal.session_text_document(w.namespace_id, loci_internal.working_memory_text(w.key, w.value, w.category, w.tags)) as document
                   from loci_data.working_memory w where w.namespace_id = %s and w.key >= %s and w.key < %s),
         question as (select loci_internal.or_tsquery(tsvector_to_array(loci_internal.session_text_document(%s, %s))) as query)
    select key, ts_rank(document, query) from entry, question where document @@ query order by 2 desc, 1 limit 10"""


def keys(agent: int) -> Iterator[tuple[str, float]]:
    """Keys and times to live of one agent's writes, without end."""
    number = 0
    while True:
        fresh = number % 10 == 9
        yield (f"session/{agent}/new-{number}", 0.1) if fresh else (f"session/{agent}/{number % 40}", 60.0)
        number += 1


def at_once(seconds: float, works: list[Callable[[], Any]]) -> float:
    """Repeat works side by side; how many a second."""
    stop = time.perf_counter() + seconds
    counts = [0] * len(works)

    def repeat(number: int) -> None:
        while time.perf_counter() < stop:
            works[number]()
            counts[number] += 1

    threads = [threading.Thread(target=repeat, args=(n,)) for n in range(len(works))]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - started)


def writing(base: Database, seconds: float) -> list[Figure]:
    """Writes a second against the floor in alternating slices, and the table's size along the way."""
    value = json.dumps(VALUE)
    clients = [base.app() for _ in range(AGENTS)]
    bare = [base.owner() for _ in range(AGENTS)]
    bare[0].execute(FLOOR_TABLE)
    streams = [keys(agent) for agent in range(AGENTS)]
    floor_streams = [keys(agent) for agent in range(AGENTS)]
    done = threading.Event()

    def sweep() -> None:
        with base.app() as app, base.owner() as owner:
            while not done.wait(1):
                app.execute("select * from loci_api.sweep_working_memory()").fetchall()
                for space in range(AGENTS):
                    owner.execute(FLOOR_SWEEP, [space])

    def save(agent: int) -> Callable[[], None]:
        def work() -> None:
            key, ttl = next(streams[agent])
            clients[agent].execute(SAVE, (NAME, key, value, ttl)).fetchall()

        return work

    def upsert(agent: int) -> Callable[[], None]:
        def work() -> None:
            key, ttl = next(floor_streams[agent])
            bare[agent].execute(FLOOR, (agent, key, value, ttl))

        return work

    sweeper = threading.Thread(target=sweep, daemon=True)
    sweeper.start()
    slices = max(4, round(seconds / 10) // 4 * 4)
    rates: list[float] = []
    floors: list[float] = []
    sizes = [size(base)]
    for number in range(slices):
        rates.append(at_once(seconds / slices, [save(agent) for agent in range(AGENTS)]))
        floors.append(at_once(seconds / slices / 4, [upsert(agent) for agent in range(AGENTS)]))
        if (number + 1) % (slices // 4) == 0:
            sizes.append(size(base))
    done.set()
    sweeper.join()
    one = at_once(min(5.0, seconds / 4), [one_space(client, number, value) for number, client in enumerate(clients)])
    for connection in (*clients, *bare):
        connection.close()
    return figures(seconds, rates, floors, one, sizes)


def figures(seconds: float, rates: list[float], floors: list[float], one: float, sizes: list[int]) -> list[Figure]:
    """What the slices and sizes of `writing` come to."""
    rate, floor = sum(rates) / len(rates), sum(floors) / len(floors)
    return [
        Figure(
            f"entries written by {AGENTS} agents, {seconds:.0f} s",
            f"{rate:,.0f} a second, slowest slice {min(rates):,.0f}",
            f"{floor:,.0f}",
            floor / rate,
            "2,000 a second",
            rate >= 2000,
        ),
        Figure("… all into one space", f"{one:,.0f} a second"),
        Figure(
            "… size of the table at the start and after each quarter",
            ", ".join(f"{kib:,}" for kib in sizes) + " KiB",
            target="no growth in the second half",
            met=sizes[-1] <= 1.25 * sizes[2],
        ),
    ]


def one_space(client: Any, number: int, value: str) -> Callable[[], None]:
    """Writes of one agent into the space of all."""
    count = iter(range(10**9))
    return lambda: client.execute(SAVE, (NAME, f"session/all/{(next(count) * AGENTS + number) % 40}", value, 60)).fetchall()


def size(base: Database) -> int:
    """KiB of the table with its index and what is stored out of line."""
    with base.owner() as owner:
        (found,) = owner.execute("select pg_total_relation_size('loci_data.working_memory') / 1024").fetchone()
    return int(found)


def searching(base: Database, given: Options) -> list[Figure]:
    """Searches of a space of fifty entries, small and large, and of a namespace, against documents made while searching."""
    with base.owner() as owner, base.app() as app:
        (number,) = owner.execute("select id from loci_data.namespaces where name = %s", [NAME]).fetchone()
        spaces, parts = given.size(100), corpus.sentences(given.data)
        asked = corpus.questions(given.data)[:100]
        for n in range(50 * spaces):
            app.execute(SAVE, (NAME, f"small/{n % spaces}/{n}", json.dumps(parts[n % len(parts)]), 36000)).fetchall()
        large = [json.dumps(" ".join(corpus.recombined(parts, 1, seed=n, pieces=2000))[:100_000]) for n in range(50)]
        started = time.perf_counter()
        for n in range(50):
            app.execute(SAVE, (NAME, f"large/0/{n}", large[n], 36000)).fetchall()
        spent = (time.perf_counter() - started) * 20
        owner.execute("analyze loci_data.working_memory")
        figures = []
        cases = (
            ("50 small entries", "small/1", 40),
            ("50 entries of 100 KB", "large/0", 5),
            (f"{50 * spaces:,} small entries", "small", 10),
        )
        for name, prefix, rounds in cases:
            times = interleaved(
                {
                    "stored": lambda query, prefix=prefix: app.execute(SEARCH, (NAME, query, prefix)).fetchall(),
                    "computed": lambda query, prefix=prefix: owner.execute(
                        COMPUTED, (number, prefix + "/", prefix + "0", number, query)
                    ).fetchall(),
                },
                asked[:rounds],
            )
            figures.append(against(f"search of {name}", times["stored"], times["computed"], 1.0))
        figures.append(Figure("write of an entry of 100 KB", f"{spent:.1f} ms"))
        return figures


def conversing(base: Database, given: Options) -> list[Figure]:
    """Turns appended, replayed and searched, among 100,000."""
    with base.app() as app, base.owner() as owner:
        count, sessions, said, asked = given.size(100_000), 100, corpus.turns(given.data), corpus.questions(given.data, "locomo")
        for n in range(0, count, 1000):
            app.execute(SAY, (NAME, f"s{n // 1000 % sessions}", spoken(said, n, 1000))).fetchall()
        owner.execute("analyze loci_data.conversation_turns")
        owner.execute("create table bench_turns (session text, id bigserial, role text, content text, primary key (session, id))")
        times = interleaved(
            {
                "append": lambda n: app.execute(SAY, (NAME, f"s{n % sessions}", spoken(said, n, 1))).fetchall(),
                "bare": lambda n: owner.execute(
                    "insert into bench_turns (session, role, content) values ('s', 'user', %s)", [said[n]]
                ),
                "replay": lambda n: app.execute("select * from loci.list_turns(%s, %s)", (NAME, f"s{n % sessions}")).fetchall(),
                "session": lambda n: app.execute(SEARCH_TURNS, (NAME, asked[n], f"s{n % sessions}")).fetchall(),
                "all": lambda n: app.execute(SEARCH_TURNS, (NAME, asked[n], None)).fetchall(),
            },
            range(40),
        )
        return [
            against(
                f"turn appended to one of {sessions} sessions, {count:,} turns; a bare insert", times["append"], times["bare"], 3
            ),
            within("last 20 turns", times["replay"], p50=2),
            within(f"search of a session of {count // sessions:,} turns", times["session"], p50=20),
            within("search of the newest 10,000 turns", times["all"], p50=100),
        ]


def spoken(said: list[str], start: int, count: int) -> str:
    """Turns as JSON."""
    return json.dumps([{"role": "user", "content": said[n % len(said)]} for n in range(start, start + count)])


def run(base: Database, given: Options, seconds: float | None = None) -> list[Figure]:
    """Writes, then searches."""
    with base.owner() as owner, base.app() as app:
        app.execute("select loci_api.create_namespace(%s, null, 'english')", [NAME])
        figures = writing(base, seconds or given.size(20)) + searching(base, given) + conversing(base, given)
        return report("Working memory and conversations", owner, figures)


if __name__ == "__main__":
    own = argparse.ArgumentParser(add_help=False)
    own.add_argument("--seconds", type=float)
    asked, rest = own.parse_known_args(sys.argv[1:])
    chosen = options(__doc__, rest)
    with database(chosen) as opened:
        run(opened, chosen, asked.seconds)
