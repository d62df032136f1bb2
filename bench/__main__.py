"""All benchmarks, one after the other over one database, and one table.

python -m bench [--data FOLDER] [--folder FOLDER] [--quick]
"""

import subprocess
import sys
from pathlib import Path

from bench import (
    analysts,
    changing_facts,
    context,
    edges,
    fresh,
    history,
    ingest,
    jobs,
    languages,
    lexical,
    memory,
    names,
    operations,
    passes,
    recall_latency,
    reembed,
    retain,
    supersession,
    traverse,
    vector,
    walk,
    whose_fact,
    working_memory,
)
from bench.database import database
from bench.kept import compare
from bench.measure import HEADER, options

ALL = (
    *(
        vector,
        lexical,
        recall_latency,
        analysts,
        context,
        memory,
        history,
        traverse,
        names,
        walk,
        supersession,
        retain,
        passes,
        jobs,
        working_memory,
    ),
    *(edges, operations, languages, changing_facts, whose_fact, fresh, ingest, reembed),
)


def main() -> None:
    """Run them; the question sets' retrieval quality last, where the sets are there."""
    given = options(__doc__)
    if given.data is None:
        print("no question sets: texts are generated, and retrieval quality is skipped")
    figures = []
    with database(given) as opened:
        for benchmark in ALL:
            figures += benchmark.run(opened, given)
    print(f"All\n{HEADER}")
    for figure in figures:
        print(figure.line())
    compare(figures, quick=given.quick)
    if given.data is not None and not given.quick:
        quality = [sys.executable, "-m", "bench.recall_quality", "--data", str(given.data)]
        subprocess.run(quality, check=True, cwd=Path(__file__).parent.parent)
    missed = sum(figure.met is False for figure in figures)
    print(f"{missed} targets missed" if missed else "every target met")


if __name__ == "__main__":
    main()
