"""Context through REST: what does building a whole context cost beside a recall of as many memories?

    python -m bench.context [--data FOLDER] [--folder FOLDER] [--quick]

The namespaces of bench.recall_latency, and in the large one sessions of 20 turns and 10 entries of working memory each, and 50 findings
of patrols. A session asks ten questions; what it is shown is stored. The floor is POST /recall with k = 8, in the same run.
"""

import itertools
from typing import Any

from psycopg.types.json import Jsonb

from bench import corpus, fill, recall_latency
from bench.database import Database, database
from bench.measure import Figure, Options, against, interleaved, options, report
from bench.recall_latency import MAIN, OTHERS, Client
from bench.server import running

SESSIONS, TURNS, ENTRIES, PATROLS = 100, 20, 10, 5
ASKED = 10  # questions a session


def load(base: Database) -> None:
    """Turns and working memory, through the functions that the service calls."""
    turns = Jsonb(
        [
            {"role": role, "content": f"what was said before, turn {n}"}
            for n, role in enumerate(("user", "assistant") * (TURNS // 2))
        ]
    )
    with base.app() as app:
        for session in range(SESSIONS):
            app.execute("select count(*) from loci_api.delete_turns(%s, %s)", [MAIN, f"s{session}"])
            app.execute("select count(*) from loci_api.add_turns(%s, %s, %s)", [MAIN, f"s{session}", turns])
        spaces = [f"session/s{n}" for n in range(SESSIONS)] + [f"patrol/p{n}" for n in range(PATROLS)]
        for space, entry in itertools.product(spaces, range(ENTRIES)):
            app.execute("select * from loci_api.save_working_memory(%s, %s, '1', 86400)", [MAIN, f"{space}/entry-{entry}"])


def run(base: Database, given: Options) -> list[Figure]:
    """Fill, start a service, ask both ways in turn."""
    fill.model(base)
    recall_latency.load(base, given)
    load(base)
    questions = corpus.questions(given.data, "locomo")[:400]
    asked = itertools.count()
    with running(base.folder, worker=False) as (url, _), base.owner() as owner:
        owner.execute("delete from loci_data.injections")
        owner.execute("delete from loci_data.context_sessions")
        client = Client(url, MAIN)

        def ask(question: str, **fields: Any) -> None:
            client.post("/context", {"message": question, **fields})

        times = interleaved(
            {
                "recall": lambda question: client.post("/recall", {"query": question, "k": 8}),
                "context": lambda question: ask(question, session_id=f"s{next(asked) // ASKED % SESSIONS}"),
                "stateless": ask,
            },
            questions,
        )
        return report(
            f"Context through REST, {given.size(100_000):,} memories in one namespace of {OTHERS + 1:,}",
            owner,
            [
                against("context of a session; floor: recall, k = 8", times["context"], times["recall"], 2),
                against("context without a session; the same floor", times["stateless"], times["recall"], 2),
            ],
        )


if __name__ == "__main__":
    chosen = options(__doc__)
    with database(chosen) as opened:
        run(opened, chosen)
