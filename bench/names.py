"""Names of entities in a text: 1,000,000 entities, a message of 2,000 words that names 20 of them.

    python -m bench.names [--quick]

Two namespaces. In the plain one, names of one to four words are drawn from the 20,000 words that messages are made of, so that most
words of a message begin some name; every third entity has an alias. In the skewed one all names begin alike: "Project Alpha 1" and
so on. Messages have the word frequencies of English; one more kind repeats no word. The floor cuts the message and looks its words up,
all at once, and does no more.
"""

import random
from typing import Any

import httpx

from bench import fill, graph_data
from bench.database import Database, database
from bench.measure import Figure, Options, interleaved, milliseconds, options, report, within
from bench.server import running

ARM = "select * from loci.match_entities(%s, %s)"
FLOOR = """
select count(*) from loci_data.entity_names n
where n.namespace_id = %s and n.head = any (array(
    select hashtext(ltrim(u, ' ')) from unnest(loci_internal.name_tokens(loci.fold_characters(%s))) u))
"""
WORDS = """
create temp table word as
select i::integer as n, (select string_agg((%(syllables)s::text[])[1 + i / (20 ^ k)::bigint %% 20], '' order by k)
                         from generate_series(0, 1 + i %% 3 + (i > 400)::integer) k) as word
from generate_series(0::bigint, 19999) i
"""
NAMES = {
    "names-plain": """
        select i, case i %% 4 when 0 then initcap(a.word) || c.word || i / 20000 when 1 then initcap(a.word || ' ' || b.word)
                              when 2 then initcap(a.word) || ' ' || b.word || ' ' || c.word
                              else 'the ' || a.word || ' ' || b.word || ' team' end as name,
               case when i %% 3 = 0 then array[upper(a.word) || '-' || i] else '{}' end as aliases
        from generate_series(%(first)s::bigint, %(last)s) i
        join word a on a.n = abs(hashint8extended(i, 1)) %% 20000 join word b on b.n = abs(hashint8extended(i, 2)) %% 20000
        join word c on c.n = i %% 20000""",
    "names-skewed": """
        select i, 'Project Alpha ' || i as name, case when i %% 3 = 0 then array['PA-' || i] else '{}' end as aliases
        from generate_series(%(first)s::bigint, %(last)s) i""",
}
ADD = """
insert into loci_data.entities (namespace_id, id, name, canonical_name, aliases, first_seen_at, created_at, updated_at)
select %(ns)s::integer, (lpad(to_hex(%(ns)s::integer), 8, '0') || '00007000a000' || lpad(to_hex(n.i), 12, '0'))::uuid,
       n.name, loci.canonical_name(n.name), n.aliases, now(), now(), now()
from ({names}) n on conflict do nothing
"""
STATEMENT = 100_000


def load(owner: Any, name: str, entities: int) -> int:
    """Fill a namespace, unless an earlier run did, through the service's own triggers; its number."""
    number = fill.namespace(owner, name)
    if owner.execute("select exists (select from loci_data.entities where namespace_id = %s)", [number]).fetchone()[0]:
        return number
    statement = ADD.replace("{names}", NAMES[name])
    for first in range(1, entities + 1, STATEMENT):
        owner.execute(statement, {"ns": number, "first": first, "last": min(first + STATEMENT - 1, entities)}, prepare=False)
    owner.execute("vacuum analyze loci_data.entities")
    owner.execute("vacuum analyze loci_data.entity_names")
    return number


def messages(words: list[str], names: list[str], *, repeated: bool, count: int = 100, length: int = 2000) -> list[str]:
    """Messages of `length` words, 20 names in each, with capitals and punctuation."""
    draw = random.Random(7)
    weights = [1 / (place + 3) for place in range(len(words))]
    made = []
    for _ in range(count):
        chosen = draw.choices([*words, "the"], [*weights, sum(weights) / 20], k=length) if repeated else draw.sample(words, length)
        spelled = [word.capitalize() if draw.random() < 0.1 else word for word in chosen]
        message = [word + draw.choice([",", ".", "'s"]) if draw.random() < 0.12 else word for word in spelled]
        for name in draw.sample(names, 20):
            message.insert(draw.randrange(len(message)), name)
        made.append(" ".join(" ".join(message).split(" ")[:length]))
    return made


def measured(owner: Any, app: Any, name: str, number: int, texts: list[str]) -> dict[str, list[float]]:
    """Milliseconds of finding names in each text, and of the floor."""
    return interleaved(
        {
            "match": lambda text: app.execute(ARM, [name, text]).fetchall(),
            "floor": lambda text: owner.execute(FLOOR, [number, text]).fetchall(),
        },
        texts,
    )


def run(base: Database, given: Options) -> list[Figure]:
    """Fill both namespaces and find names, in SQL and over REST."""
    entities = given.size(1_000_000)
    figures = []
    with base.owner() as owner, base.app() as app:
        owner.execute("drop table if exists word")
        owner.execute(WORDS, {"syllables": graph_data.SYLLABLES}, prepare=False)
        words = [row[0] for row in owner.execute("select word from word order by n").fetchall()]
        texts: dict[str, list[str]] = {}
        for name in NAMES:
            number = load(owner, name, entities)
            some = owner.execute(
                "select name from loci_data.entities where namespace_id = %s order by hashtext(id::text), id limit 2000", [number]
            ).fetchall()
            for kind, repeated in (("", True), (", no word twice", False)):
                texts[name + kind] = messages(words, [row[0] for row in some], repeated=repeated)
                times = measured(owner, app, name, number, texts[name + kind])
                figures.append(within(f"{name}{kind}", times["match"], p50=5, floor=times["floor"]))
    with running(base.folder, worker=False) as (address, _), httpx.Client(base_url=f"{address}/api/v1") as client:
        for name in NAMES:
            client.headers["X-Namespace"] = name
            times = interleaved({"rest": lambda text: client.post("/entities/match", json={"text": text})}, texts[name])
            figures.append(Figure(f"{name}, over REST", milliseconds(times["rest"])))
    with base.owner() as owner:
        return report(f"Names in a message of 2,000 words, {entities:,} entities", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
