"""`loci recall`: a question to memory. `loci tune`: which settings suit the questions that are asked here."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from service.cli.framework import AsOf, Failure, KnownAt, Namespace, tell_result
from service.cli.output import echo, print_table
from service.cli.rest import open_service

Rewriting = Literal["decompose", "hypothetical"]
PRINTED_CHARACTERS = 16_000  # characters of all contents: of a long one the passage is shown
PRINTED_FIELDS = (
    "results",
    "constraints",
    "entities",
    "skipped",
    "took_ms",
    "waiting",
    "relevance",
    "left_out",
    "reranked",
    "rewritten",
)


def recall(
    query: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.")],
    k: Annotated[int, typer.Option("--k", "-k", "--limit", min=1, max=100, help="How many results.")] = 10,
    namespace: Namespace = None,
    min_relevance: Annotated[
        float | None, typer.Option("--min-relevance", min=0, max=1, help="Leave out memories less likely to answer.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="Whom I and my mean in the question; default: nobody in particular.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each arm of the search contributed.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    rerank: Annotated[
        bool | None, typer.Option("--rerank/--no-rerank", help="Have a reranker judge the best results; default: if there is one.")
    ] = None,
    top_n: Annotated[int | None, typer.Option("--top-n", min=2, max=200, help="How many results it judges.")] = None,
    rewrite: Annotated[
        Rewriting | None, typer.Option("--rewrite", help="Have a language model cut the question into parts, or make up an answer.")
    ] = None,
) -> None:
    """Find the memories that answer a question."""
    stated = {"query": query, "k": k, "as_of": as_of, "known_at": known_at, "explain": explain, "min_relevance": min_relevance}
    stated |= {
        "user": user,
        "max_chars": PRINTED_CHARACTERS,
        "rerank": rerank if top_n is None or rerank is False else top_n,
        "rewrite": rewrite,
    }
    with open_service(namespace) as rest:
        answer = rest.post("/recall", **stated)
    tell_result({name: answer[name] for name in PRINTED_FIELDS if name in answer}, lambda: _tell_answer(answer, explain=explain))


def _tell_answer(answer: dict[str, Any], *, explain: bool) -> None:
    for name, reason in answer["skipped"].items():
        echo(f"without {name}: {reason}", err=True)
    if answer.get("waiting"):
        echo(f"{answer['waiting']:,} memories wait for their vectors", err=True)
    if answer.get("left_out"):
        echo(f"{answer['left_out']} results are below --min-relevance; the best has {answer['relevance']:.2f}", err=True)
    if answer["results"]:
        _tell_results(answer["results"], explain=explain)
    else:
        echo("nothing found", err=True)
    if rules := answer["constraints"]:
        echo()
        cells = ([rule[name] for name in ("entity", "aspect", "content")] for rule in rules)
        print_table(("entity", "aspect", "rule that holds"), cells, fold="rule that holds")


def _tell_results(rows: list[dict[str, Any]], *, explain: bool) -> None:
    names = ("score", "relevance", "content", "category", "valid_from")
    columns = ["score", "relevance", "memory", "category", "valid_from", *(["arms (rank)"] if explain else [])]
    shown = [{**row, "content": f"… {passage['text']} …"} if (passage := row.get("passage")) else row for row in rows]
    cells = [[*(row.get(name) for name in names), *([_format_arms(row["explain"])] if explain else [])] for row in shown]
    print_table(columns, cells, fold="memory")


def _format_arms(explanation: dict[str, Any]) -> str:
    arms = ", ".join(f"{name} {hit['rank']}" for name, hit in explanation["arms"].items()) or "neighbour"
    return f"{arms}; before reranking {explanation['rerank']['own_rank']}" if explanation.get("rerank") else arms


def tune(
    questions: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="JSON lines: {question, ids or contents of what answers it}; -: stdin. Default: rated recalls of the log.",
            allow_dash=True,
        ),
    ] = None,
    namespace: Namespace = None,
    k: Annotated[int, typer.Option("--k", "-k", "--limit", min=1, max=100, help="How many results count.")] = 10,
    fusion: Annotated[Literal["linear", "rrf"], typer.Option("--fusion", help="The fusion whose weights are measured.")] = "linear",
    apply: Annotated[bool, typer.Option("--apply", help="Make what is proposed the settings of the namespace.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the report; else `loci job show` has it later.")] = True,
) -> None:
    """Measure settings of recalls on your own questions.

    Each question is asked once; hundreds of settings are reckoned from what was found, chosen on four fifths of the questions and
    judged on the other fifth. Nothing is written without --apply, and `loci operation undo` takes that back. A job does it: the
    worker of the service, and without LOCI_URL this command.
    """
    rows = None if questions is None else _read_questions(questions)
    with open_service(namespace, worker=wait) as rest:
        made = rest.post("/recall/tune", questions=rows, k=k, fusion=fusion, apply=apply)
        echo(f"job {made['job_id']} {'waits' if made['created'] else 'waited already'}", err=True)
        if not wait:
            tell_result(made, lambda: None)
            return
        told: set[int] = set()
        job = rest.wait_for_job(made["job_id"], lambda job: _tell_progress(job, told))
    if job["state"] != "succeeded":
        raise Failure(f"the job is {job['state']}: {job['error'] or 'it says nothing more'}")
    tell_result(job["result"], lambda: _tell_tuning(job["result"], k))


def _read_questions(path: Path) -> list[Any]:
    """Questions of a file, a line each."""
    import orjson

    try:
        lines = typer.get_binary_stream("stdin").read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}") from None
    rows = []
    for number, line in enumerate(lines.splitlines(), start=1):
        if line.strip():
            try:
                rows.append(orjson.loads(line))
            except orjson.JSONDecodeError as error:
                raise Failure(f"line {number} is not JSON: {error}") from None
    if not rows:
        raise Failure(f'{path} has no questions: expected lines such as {{"question": "…", "ids": ["…"]}}')
    return rows


def _tell_progress(job: dict[str, Any], told: set[int]) -> None:
    """How many questions were asked, where that is more than was told."""
    far = job["result"] or {}
    if job["finished_at"] is None and far.get("asked", 0) not in {0, *told}:
        told.add(far["asked"])
        echo(f"{far['asked']:,} of {far['questions']:,} questions asked", err=True)


def _tell_tuning(said: dict[str, Any], k: int) -> None:
    """The measurement, the proposal, and how to have it."""
    proposed = said["settings"] or {}
    if "present" in said:
        named = {"as it is": said["present"], **{f"{arm} alone": worth for arm, worth in said["arms"].items()}}
        named |= {"proposed": said["proposed"]} if proposed else {}
        print_table(("", f"nDCG@{k}, %", f"recall@{k}, %"), ((name, *worth.values()) for name, worth in named.items()))
    echo(f"{said['said']} ({said['questions']} questions)")
    flat = {name: value for name, value in proposed.items() if not isinstance(value, dict)}
    flat |= {
        f"{name}.{arm}": weight for name, value in proposed.items() if isinstance(value, dict) for arm, weight in value.items()
    }
    for path, one in flat.items():
        echo(f"  {path} = {one:g}")
    if said["applied"]:
        echo(f"applied; undo with: loci operation undo {said['operation_id']}")
    elif proposed:
        echo("--apply makes these the settings of the namespace")
