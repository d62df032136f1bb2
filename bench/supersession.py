"""What fires on the labelled pairs, and what writes and sweeps cost among many siblings.

    python -m bench.supersession [--quick]

data/supersession.jsonl: pairs of statements under one aspect, labelled by hand before the rules were coded; of the half `held_out`
only totals were looked at while they were tuned. The floor fires where two words are shared and the statements differ in a negation or hold a pair
of opposites. Then 100,000 facts in 20 aspects of 5,000 siblings: one write into them against one into an empty aspect, and a sweep.
"""

import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.database import Database, database
from bench.measure import Figure, Options, against, interleaved, options, report

PAIRS = Path(__file__).parent / "data" / "supersession.jsonl"
NAME = "supersession"
NEGATIONS = {"not", "no", "never", "without", "longer"}
KINDS = (
    "The timeout of service {g} is {v} s",
    "Person {a} likes topic{i}",
    "Person {a} uses tool{i}",
    "Person {a} does not use tool{o}",
    "Person {a} visited town{i} with friend{v}",
    "Feature flag{g} is {s}",
    "Person {a} read book{i} about subject{v}",
    "The server host{i} runs in region{v}",
    "Person {a} works on project{i}",
    "Report {i} covers area{v} and area{o}",
)


def words(text: str) -> set[str]:
    """Words of a text, contractions undone."""
    return set(re.findall(r"\w+", text.lower().replace("’", "'").replace("n't", " not")))


def naive(pair: dict[str, Any], opposites: list[tuple[str, str]]) -> bool:
    """The floor: two words in common, and a negation or a pair of opposites."""
    older, newer = words(pair["older"]), words(pair["newer"])
    differ = bool(older & NEGATIONS) != bool(newer & NEGATIONS)
    opposed = any((a in older and b in newer) or (b in older and a in newer) for a, b in opposites)
    return len(older & newer) >= 2 and (differ or opposed)


def figures_of(name: str, pairs: list[dict[str, Any]], fired: list[bool], floor: list[bool]) -> Figure:
    """Precision and recall of what fired, beside the floor's."""

    def scores(marks: list[bool]) -> tuple[float, float]:
        right = sum(mark and pair["label"] == "contradiction" for mark, pair in zip(marks, pairs, strict=True))
        return right / max(sum(marks), 1), right / sum(pair["label"] == "contradiction" for pair in pairs)

    (precision, recall), (naive_precision, naive_recall) = scores(fired), scores(floor)
    return Figure(
        f"{name}, {len(pairs)} pairs: precision, recall",
        f"{precision:.1%}, {recall:.1%}",
        f"{naive_precision:.1%}, {naive_recall:.1%}",
        target="precision 95 %",
        met=precision >= 0.95,
    )


def quality(app: Any, owner: Any) -> list[Figure]:
    """Compare the labelled pairs; by signal and by label as well."""
    pairs = [json.loads(line) for line in PAIRS.read_text().splitlines()]
    opposites = owner.execute("select one, other from loci_internal.antonym_pairs()").fetchall()
    signals = []
    for pair in pairs:
        asked = (pair["older"], pair["newer"], pair["single_valued"])
        row = app.execute("select signal from loci.contradiction(%s, %s, %s)", asked).fetchone()
        signals.append(row[0] if row else None)
    found = Counter((pair["split"], signal, pair["label"]) for pair, signal in zip(pairs, signals, strict=True))
    print("\n| split | signal | contradiction | refinement | multi_valued | unrelated |\n|---|---|---|---|---|---|")
    for split in ("tune", "held_out"):
        for signal in ("negation", "antonym", "value_conflict", "temporal_marker", None):
            counts = [found[split, signal, label] for label in ("contradiction", "refinement", "multi_valued", "unrelated")]
            print(f"| {split} | {signal or 'silent'} | {' | '.join(map(str, counts))} |")
    figures = []
    for split in ("tune", "held_out"):
        chosen = [n for n, pair in enumerate(pairs) if pair["split"] == split]
        half = [pairs[n] for n in chosen]
        figures.append(figures_of(split, half, [signals[n] is not None for n in chosen], [naive(pair, opposites) for pair in half]))
    return figures


def statement(number: int) -> str:
    """One of ten kinds of facts; two kinds are about the same thing again and again."""
    i = number // 10
    return KINDS[number % 10].format(
        a=number % 7, i=number, g=i // 2, v=i % 90 + 5, o=number * 7919 % 5000, s=("enabled", "disabled")[i % 2]
    )


def load(owner: Any, app: Any, aspects: int, siblings: int) -> int:
    """A namespace of aspects with many siblings, written past the signals."""
    app.execute("select loci_api.create_namespace(%s, null, 'english')", [NAME])
    (number,) = owner.execute("select id from loci_data.namespaces where name = %s", [NAME]).fetchone()
    for n in range(aspects + 1):
        app.execute("select * from loci_api.upsert_entities(%s, %s::jsonb)", [NAME, json.dumps([{"name": f"Entity {n}"}])])
        (aspect,) = app.execute(
            'select id from loci_api.upsert_aspect(%s, %s, \'{"name": "facts"}\')', [NAME, f"Entity {n}"]
        ).fetchone()
        if n < aspects:
            owner.execute(
                """insert into loci_data.attributes (namespace_id, id, aspect_id, content, valid_from)
                   select %s, loci_api.uuid7(), %s, t.content, '2024-01-01'::timestamptz + t.place * interval '1 minute'
                   from unnest(%s::text[]) with ordinality t(content, place)""",
                [number, aspect, [statement(i) for i in range(siblings)]],
            )
    owner.execute("analyze loci_data.attributes")
    owner.execute("analyze loci_data.attribute_terms")
    return int(number)


def sweep(app: Any) -> tuple[int, int, float, float]:
    """Sweep the namespace; facts visited, attributes superseded, seconds, and those of the longest page."""
    visited = superseded = 0
    cursor, started, longest = None, time.perf_counter(), 0.0
    while visited == 0 or cursor is not None:
        page_started = time.perf_counter()
        page = app.execute("select * from loci_api.sweep_supersessions(%s, null, 'apply', 500, %s)", [NAME, cursor]).fetchone()
        longest = max(longest, time.perf_counter() - page_started)
        visited, superseded, cursor = visited + page[0], superseded + len(page[2]), page[3]
    return visited, superseded, time.perf_counter() - started, longest


def run(base: Database, given: Options) -> list[Figure]:
    """Quality, then cost."""
    with base.owner() as owner, base.app() as app:
        figures = quality(app, owner)
        siblings = given.size(5000)
        number = load(owner, app, 20, siblings)
        aspects = [
            row[0] for row in owner.execute("select id from loci_data.aspects where namespace_id = %s order by id", [number])
        ]
        write = "select id from loci_api.add_attribute(%s, %s, jsonb_build_object('content', %s::text))"
        counter = iter(range(10**9))
        times = interleaved(
            {
                "many": lambda aspect: app.execute(write, [NAME, aspect, f"Person 3 uses gadget{next(counter)}"]).fetchall(),
                "empty": lambda _: app.execute(write, [NAME, aspects[-1], f"Person 3 uses gadget{next(counter)}"]).fetchall(),
            },
            aspects[:20] * 10,
        )
        figures.append(
            against(f"one write among {siblings:,} siblings, against an empty aspect", times["many"], times["empty"], 1.5)
        )
        visited, superseded, spent, longest = sweep(app)
        figures.append(Figure(f"sweep of {visited:,} facts", f"{spent:.0f} s, {spent / visited * 1000:.2f} ms each"))
        figures.append(Figure("… longest page of 500; superseded", f"{longest:.2f} s; {superseded:,}"))
        again = sweep(app)
        figures.append(Figure("… again", f"{again[2]:.0f} s; superseded {again[1]}", met=again[1] == 0, target="nothing"))
        return report("Supersession", owner, figures)


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
