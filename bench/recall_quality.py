"""Does recall bring back the evidence? Public question sets with annotated evidence, asked through REST.

    python -m bench.recall_quality                                   # every set, single arms, BM25, and whether the default holds
    python -m bench.recall_quality --sets locomo --keep /tmp/sets    # keep what was loaded, for the next run
    python -m bench.recall_quality --keep /tmp/sets --variant 'no names: weights.names=0' --variant 'k=60: rrf_k=60'
    python -m bench.recall_quality --keep /tmp/sets --ablation       # with and without each part (bench/quality/ablation.json)
    python -m bench.recall_quality --keep /tmp/sets --choose grid.json --folds 5
    python -m bench.recall_quality --json after.jsonl                # a row a question: the rank of each piece of evidence
    python -m bench.recall_quality --relevance                       # does relevance tell what can be answered from what cannot?
    python -m bench.recall_quality --rerank                          # judged by MiniLM as well (extra `rerank`)
    python -m bench.recall_quality --embedder e5 --keep /tmp/sets    # the same with a dense model behind an endpoint, or minilm
    python -m bench.recall_quality --embedder static,static+minilm,e5 --rerank   # several, and one table of all at the end
    python -m bench.recall_quality --compare before.jsonl after.jsonl

Each folder of --data holds documents.jsonl (namespace, id, seq, text and, in dialogues, speaker, session, timestamp) and
queries.jsonl (namespace, id, text, category, evidence_ids). Turns become memories with source, session_id and valid_from;
paragraphs become memories. --keep holds a database for each embedder. A question counts as answered to the share of its
evidence among the first k results. In chats of a user with an assistant X@k counts a message also where the other one of its
exchange is found. ± is the standard error, by conversation where people speak and by question elsewhere.

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
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from bench.quality.answering import ask_relevance, asked_where, print_relevance
from bench.quality.asking import DEFAULT, Way, ask, load, parse_way, read_ways, value_of, wait_for_second, way
from bench.quality.baselines import bare_postgres, baselines
from bench.quality.choosing import Choices, print_choices
from bench.quality.cutting import cut_set
from bench.quality.embedders import BESIDE_STATIC, MODELS, STATIC, configured, missing_wheels
from bench.quality.sets import QuestionSet, read, read_set, small_sets, with_evidence
from bench.quality.tables import DIFFERENCE_HEADER, VERDICT_HEADER, print_differences, print_results, print_summary, verdicts
from bench.server import running, service
from service.embedding.minilm import is_installed

Row = dict[str, Any]
Found = dict[str, dict[str, list[Row]]]  # rows by set and way
JUDGED = "reranked"
PATIENT = {"LOCI_RERANK__PROVIDER": "minilm", "LOCI_RERANK__DEADLINE": "100", "LOCI_DEADLINES__READ": "120"}  # it reads all first
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
        default=STATIC,
        help=f"who makes vectors, several by commas: {', '.join(MODELS)}; see bench/quality/embedders.py",
    )
    parser.add_argument("--rerank", action="store_true", help="ask also with MiniLM as the judge (extra `rerank`)")
    parser.add_argument("--keep", type=Path, help="folder of the service's databases: loaded once, used again")
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
    options = parser.parse_args()
    options.embedders = options.embedder.split(",")
    if unknown := [name for name in options.embedders if name not in MODELS]:
        parser.error(f"--embedder: no {', '.join(unknown)}; there are {', '.join(MODELS)}")
    if len(options.embedders) > 1 and (options.choose or options.relevance or options.url):
        parser.error("--choose, --relevance and --url want one embedder")
    return options


def base_way(options: argparse.Namespace) -> Way:
    """What the command line says for every way."""
    said: Row = {"fusion": options.fusion, "rrf_k": None if options.rrf_k is None else float(options.rrf_k)}
    said |= {f"weights.{k}": float(v) for k, _, v in (pair.partition("=") for pair in (options.weights or "").split(",") if pair)}
    said |= {f"set.{name}": value_of(value) for name, _, value in (pair.partition("=") for pair in options.set)}
    return way(DEFAULT, {"rerank": False, **{key: value for key, value in said.items() if value is not None}})


def ways_of(options: argparse.Namespace, embedder: str) -> list[Way]:
    """The default, judged by a reranker where that is asked for, then variants where some are named, else single arms.

    Those of a further embedder have its name, and single arms are asked with the first one alone.
    """
    base = base_way(options)
    if embedder != options.embedders[0]:
        return [replace(one, name=name_beside(embedder, one)) for one in (base, *judged_and_variants(options, base))]
    chosen = judged_and_variants(options, base)
    if not options.variant and not options.variants and not options.choose:
        chosen += [way(arms, {"arms": arms}).over(base) for arms in options.arms.split(",") if arms not in {"all", ""}]
    return [base, *chosen]


def name_beside(embedder: str, one: Way) -> str:
    """What a way is called with a further embedder."""
    return embedder if one.name == DEFAULT else f"{embedder}, {one.name}"


def judged_and_variants(options: argparse.Namespace, base: Way) -> list[Way]:
    """What is asked beside the default, but for single arms."""
    others = [parse_way(text) for text in options.variant] + (read_ways(options.variants) if options.variants else [])
    if options.choose:
        others = read_ways(Path(options.choose.removeprefix("weights=")))
    if options.rerank:
        others.insert(0, way(JUDGED, {"rerank": True}))
    return [other.over(base) for other in others]


@contextmanager
def served(options: argparse.Namespace, embedder: str) -> Iterator[httpx.Client]:
    """A client of the service: a running one, one over the folder that is kept, or one for this run."""
    with ExitStack() as stack:
        folder = options.keep / embedder if options.keep else None
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            for each in (options.keep, folder):
                each.chmod(0o755)  # the embedded server may run as another user
        environment = stack.enter_context(configured(embedder, options.keep)) | (PATIENT if options.rerank else {})
        if folder:
            url, _ = stack.enter_context(running(folder, environment=environment))
        else:
            url = stack.enter_context(service(options.url, environment=environment))
        client = stack.enter_context(httpx.Client(base_url=f"{url}/api/v1", timeout=150))
        if embedder.startswith(BESIDE_STATIC):
            wait_for_second(client)
        yield client


def evaluate(options: argparse.Namespace, sets: list[QuestionSet]) -> Found:
    """Load and ask every set with each embedder."""
    found: Found = {questions.name: {} for questions in sets}
    with ExitStack() as stack:
        rows_file = stack.enter_context(options.json.open("w")) if options.json else None
        for embedder in options.embedders:
            for questions, results in ask_sets(options, sets, embedder):
                found[questions.name] |= results
                if rows_file:
                    rows_file.writelines(json.dumps(row) + "\n" for rows in results.values() for row in rows)
                    rows_file.flush()
                if not options.choose:
                    print_results(questions, results)
    return found


def ask_sets(
    options: argparse.Namespace, sets: list[QuestionSet], embedder: str
) -> Iterator[tuple[QuestionSet, dict[str, list[Row]]]]:
    """Each set, and what became of its questions each way; baselines with the first embedder."""
    ways, plain = ways_of(options, embedder), options.no_baselines or options.choose or embedder != options.embedders[0]
    with served(options, embedder) as client, ExitStack() as stack:
        postgres = None if plain else stack.enter_context(bare_postgres())
        for questions in sets:
            load(client, questions, ways[0].settings)
            results = baselines(postgres, questions) if postgres is not None else {}
            yield questions, results | {chosen.name: ask(client, questions, chosen) for chosen in ways}


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
    with served(options, options.embedder) as client:
        for questions in sets:
            load(client, questions, base.settings)
        print_relevance(ask_relevance(client, asked_where(sets), base.body))


def summarise(options: argparse.Namespace, sets: list[QuestionSet], found: Found) -> None:
    """Whether the default holds, what each variant changes, or what is chosen; and all ways in one table."""
    if options.choose:
        print_choices(Choices({questions.name: questions for questions in sets}, found, options.folds), DEFAULT)
        return
    base = base_way(options)
    others = [one.name for one in judged_and_variants(options, base)]
    others += [one.name for embedder in options.embedders[1:] for one in ways_of(options, embedder)]
    if others:
        print(f"\n### Each way less the default ({DEFAULT})\n{DIFFERENCE_HEADER}")
        for questions in sets:
            results = found[questions.name]
            for other in others:
                print_differences(questions, results[DEFAULT], results[other], other)
    if not options.variant and not options.variants:
        print(VERDICT_HEADER)
        for questions in sets:
            for line in verdicts(questions, found[questions.name], DEFAULT):
                print(line, flush=True)
    print_summary(sets, found)


def main() -> None:
    """Load each set, ask every question each way, print the tables."""
    options = arguments()
    if not options.data.is_dir():
        print(f"skipped: no question sets in {options.data}")
        sys.exit(0)
    for embedder in options.embedders:
        if absent := missing_wheels(embedder):
            print(f"skipped: {embedder} needs {', '.join(absent)}: pip install --group embedders")
            sys.exit(0)
    if options.rerank and not is_installed():
        print("skipped: --rerank needs the extra: pip install 'loci-pg-server[rerank]'")
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
    sets = [with_evidence(questions) for questions in sets]
    summarise(options, sets, evaluate(options, sets))


if __name__ == "__main__":
    main()
