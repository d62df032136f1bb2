"""Does recall bring back the evidence? Public question sets with annotated evidence, asked through REST.

    python -m bench.recall_quality                                   # every set, single arms, BM25, and whether the default holds
    python -m bench.recall_quality --sets locomo --keep /tmp/sets    # keep what was loaded, for the next run
    python -m bench.recall_quality --keep /tmp/sets --variant 'no names: weights.names=0' --variant 'k=60: rrf_k=60'
    python -m bench.recall_quality --keep /tmp/sets --ablation       # with and without each part (bench/quality/ablation.json)
    python -m bench.recall_quality --keep /tmp/sets --choose grid.json --folds 5
    python -m bench.recall_quality --json after.jsonl                # a row a question: the rank of each piece of evidence
    python -m bench.recall_quality --relevance                       # does relevance tell what can be answered from what cannot?
    python -m bench.recall_quality --embedder e5 --keep /tmp/e5      # the same with a dense model behind an endpoint, or minilm
    python -m bench.recall_quality --embedder static+e5 --keep /tmp/both  # the default, and e5 as its second model
    python -m bench.recall_quality --compare before.jsonl after.jsonl

Each folder of --data holds documents.jsonl (namespace, id, seq, text and, in dialogues, speaker, session, timestamp) and
queries.jsonl (namespace, id, text, category, evidence_ids). Turns become memories with source, session_id and valid_from;
paragraphs become memories. A question counts as answered to the share of its evidence among the first k results. In chats
of a user with an assistant X@k counts a message also where the other one of its exchange is found. ± is the standard error,
by conversation where people speak and by question elsewhere.

A way to ask is `NAME: key=value …`: arms=lexical+vector, fusion, rrf_k, weights.names=0, set.depth=50 (a setting of the
namespaces while it is asked), or any other field of a recall. A file of ways is JSON: {"NAME": {"weights.names": 0}}, or
{"grid": {"weights.names": [1, 2], "rrf_k": [5, 10]}}. What changes the text that is embedded or indexed needs a new folder.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from bench.quality.answering import ask_relevance, asked_where, print_relevance
from bench.quality.asking import DEFAULT, Way, ask, load, parse_way, read_ways, value_of, wait_for_second, way
from bench.quality.baselines import bare_postgres, baselines
from bench.quality.choosing import Choices, print_choices
from bench.quality.cutting import cut_set
from bench.quality.embedders import BESIDE_STATIC, endpoint, missing_wheels
from bench.quality.sets import QuestionSet, read, read_set, small_sets
from bench.quality.tables import DIFFERENCE_HEADER, VERDICT_HEADER, print_differences, print_results, verdicts
from bench.server import running, service

Row = dict[str, Any]
SMALL = "small"  # among --sets: the small namespaces that come with the benchmarks, for --relevance
ABLATION = Path(__file__).parent / "quality" / "ablation.json"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/retrieval/data"))
    parser.add_argument("--sets", help="comma-separated; default: every set of the folder")
    parser.add_argument("--url", help="a running service; default: one is started for the run")
    parser.add_argument(
        "--embedder",
        choices=["static", "minilm", "e5", "static+minilm", "static+e5"],
        default="static",
        help="who makes vectors; see bench/quality/embedders.py",
    )
    parser.add_argument("--keep", type=Path, help="folder of the service's database: loaded once, used again")
    parser.add_argument("--arms", default="lexical,vector,lexical+vector", help="arms beside the default; several joined by +")
    parser.add_argument("--no-baselines", action="store_true", help="leave BM25 out")
    for name, what in (
        ("fusion", "rrf or relative_score"),
        ("weights", "lexical=1.5,vector=1"),
        ("rrf-k", "constant of the fusion"),
    ):
        parser.add_argument(f"--{name}", help=f"for every way: {what}")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="setting of the namespaces, for every way")
    parser.add_argument("--variant", action="append", default=[], metavar="'NAME: key=value …'", help="a way beside the default")
    parser.add_argument("--variants", type=Path, metavar="FILE", help="ways beside the default, as JSON")
    parser.add_argument(
        "--ablation", dest="variants", action="store_const", const=ABLATION, help="the same with and without each part"
    )
    parser.add_argument("--choose", metavar="FILE", help="candidates, as JSON: chosen on other folds, judged on each")
    parser.add_argument("--folds", type=int, default=5, help="folds of the questions about paragraphs; conversations are folds")
    parser.add_argument("--relevance", action="store_true", help="ask questions also where their evidence is not; judge relevance")
    parser.add_argument("--cut", action="store_true", help="with --relevance: also small namespaces that are cut from the sets")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a row a question")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FILE", help="two such files: the paired differences")
    return parser.parse_args()


def base_way(options: argparse.Namespace) -> Way:
    """What the command line says for every way."""
    said: Row = {"fusion": options.fusion, "rrf_k": None if options.rrf_k is None else float(options.rrf_k)}
    said |= {f"weights.{k}": float(v) for k, _, v in (pair.partition("=") for pair in (options.weights or "").split(",") if pair)}
    said |= {f"set.{name}": value_of(value) for name, _, value in (pair.partition("=") for pair in options.set)}
    return way(DEFAULT, {key: value for key, value in said.items() if value is not None})


def ways_of(options: argparse.Namespace) -> list[Way]:
    """The default, then variants where some are named, else single arms."""
    base = base_way(options)
    others = [parse_way(text) for text in options.variant] + (read_ways(options.variants) if options.variants else [])
    if options.choose:
        others = read_ways(Path(options.choose.removeprefix("weights=")))
    elif not others:
        others = [way(arms, {"arms": arms}) for arms in options.arms.split(",") if arms not in {"all", ""}]
    return [base, *(other.over(base) for other in others)]


@contextmanager
def served(options: argparse.Namespace) -> Iterator[httpx.Client]:
    """A client of the service: a running one, one over the folder that is kept, or one for this run."""
    with ExitStack() as stack:
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            options.keep.chmod(0o755)  # the embedded server may run as another user
        dense = options.embedder != "static"
        environment = stack.enter_context(endpoint(options.embedder, options.keep)) if dense else {}
        if options.keep:
            url, _ = stack.enter_context(running(options.keep, environment=environment))
        else:
            url = stack.enter_context(service(options.url, environment=environment))
        client = stack.enter_context(httpx.Client(base_url=f"{url}/api/v1", timeout=120))
        if options.embedder.startswith(BESIDE_STATIC):
            wait_for_second(client)
        yield client


def evaluate(options: argparse.Namespace, sets: list[QuestionSet]) -> dict[str, dict[str, list[Row]]]:
    """Load and ask every set; rows by set and way."""
    ways, found, rows_file = ways_of(options), {}, options.json.open("w") if options.json else None
    with served(options) as client, bare_postgres() as postgres:
        for questions in sets:
            load(client, questions, ways[0].settings)
            results = {} if options.no_baselines or options.choose else baselines(postgres, questions)
            results |= {chosen.name: ask(client, questions, chosen) for chosen in ways}
            found[questions.name] = results
            if rows_file:
                rows_file.writelines(json.dumps(row) + "\n" for rows in results.values() for row in rows)
                rows_file.flush()
            if not options.choose:
                print_results(questions, results)
    return found


def compare(options: argparse.Namespace, sets: list[QuestionSet]) -> None:
    """Paired differences of two files of rows, way by way."""
    sides: list[dict[tuple[str, str], list[Row]]] = []
    for path in options.compare:
        side: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in read(path):
            side[row["set"], row["choice"]].append(row)
        sides.append(side)
    print(DIFFERENCE_HEADER)
    for questions in sets:
        for (name, choice), before in sides[0].items():
            if name == questions.name and (name, choice) in sides[1]:
                print_differences(questions, before, sides[1][name, choice], choice)


def judge_relevance(options: argparse.Namespace, sets: list[QuestionSet]) -> None:
    """Load every set, ask each question where its evidence is and where it is not, print how well relevance tells these apart."""
    base = base_way(options)
    with served(options) as client:
        for questions in sets:
            load(client, questions, base.settings)
        print_relevance(ask_relevance(client, asked_where(sets), base.body))


def summarise(options: argparse.Namespace, sets: list[QuestionSet], found: dict[str, dict[str, list[Row]]]) -> None:
    """Whether the default holds, what each variant changes, or what is chosen."""
    if options.choose:
        print_choices(Choices({questions.name: questions for questions in sets}, found, options.folds), DEFAULT)
        return
    if options.variant or options.variants:
        print(f"\n### Each way less the default ({DEFAULT})\n{DIFFERENCE_HEADER}")
        for questions in sets:
            results = found[questions.name]
            for chosen in ways_of(options)[1:]:
                print_differences(questions, results[DEFAULT], results[chosen.name], chosen.name)
        return
    print(VERDICT_HEADER)
    for questions in sets:
        for line in verdicts(questions, found[questions.name], DEFAULT):
            print(line, flush=True)


def main() -> None:
    """Load each set, ask every question each way, print the tables."""
    options = arguments()
    if not options.data.is_dir():
        print(f"skipped: no question sets in {options.data}")
        sys.exit(0)
    if absent := missing_wheels(options.embedder):
        print(f"skipped: {options.embedder} needs {', '.join(absent)}: pip install --group embedders")
        sys.exit(0)
    names = options.sets.split(",") if options.sets else sorted(p.name for p in options.data.iterdir() if p.is_dir())
    names = [name for name in names if name != SMALL]
    missing = [name for name in names if not (options.data / name / "queries.jsonl").is_file()]
    if missing:
        print(f"skipped: no {', '.join(missing)} in {options.data}")
    sets = [read_set(options.data / name) for name in names if name not in missing]
    if options.compare:
        compare(options, sets)
        return
    if options.relevance:
        cut = [cut_set(questions) for questions in sets] if options.cut else []
        judge_relevance(options, [*sets, *cut, *(small_sets() if not options.sets or SMALL in options.sets.split(",") else [])])
        return
    summarise(options, sets, evaluate(options, sets))


if __name__ == "__main__":
    main()
