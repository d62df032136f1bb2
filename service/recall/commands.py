"""`loci recall`: a question to memory."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from service.cli.output import echo, print_json, print_table
from service.cli.session import Session, open_resources, run
from service.cli.shell import AsOf, Json, KnownAt, Namespace, wants_json

Rewriting = Literal["decompose", "hypothetical"]
SHOWN = ("results", "entities", "skipped", "took_ms", "waiting", "relevance", "left_out", "reranked", "rewritten")

if TYPE_CHECKING:
    from service.recall.question import Question
    from service.recall.rewrite import Step


def recall(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="The question.")],
    k: Annotated[int, typer.Option("--k", "-k", min=1, max=100, help="How many results.")] = 10,
    namespace: Namespace = "default",
    min_relevance: Annotated[
        float | None, typer.Option("--min-relevance", min=0, max=1, help="Leave out memories less likely to answer.")
    ] = None,
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
    as_json: Json = False,
) -> None:
    """Find the memories that answer a question."""
    from loci.models.recall import RecallInput
    from service.recall.question import question_of

    stated = {"query": query, "k": k, "as_of": as_of, "known_at": known_at, "explain": explain, "min_relevance": min_relevance}
    stated |= {"rerank": rerank if top_n is None or rerank is False else top_n, "rewrite": rewrite}
    question = question_of(RecallInput.model_validate(stated))
    answer = run(lambda session: _ask(session, question, namespace))
    if wants_json(context, as_json):
        print_json(answer)
        return
    for name, reason in answer["skipped"].items():
        echo(f"without {name}: {reason}", err=True)
    if answer["waiting"]:
        echo(f"{answer['waiting']:,} memories wait for their vectors", err=True)
    if answer["left_out"]:
        echo(f"{answer['left_out']} results are below --min-relevance; the best has {answer['relevance']:.2f}", err=True)
    if not answer["results"]:
        echo("nothing found", err=True)
        return
    _print_results(answer["results"], explain=explain)


async def _ask(session: Session, question: "Question", namespace: str) -> dict[str, Any]:
    from service.recall.asking import ask_memory

    async def read(step: "Step") -> Any:
        async with session.transaction(namespace) as tx:
            return await step(tx)

    async with open_resources(session) as made:
        answer = (await ask_memory(made, read, question)).shown()
    return {name: answer[name] for name in SHOWN if name in answer}


def _print_results(rows: list[dict[str, Any]], *, explain: bool) -> None:
    columns = ["score", "relevance", "memory", "category", "valid_from", *(["arms (rank)"] if explain else [])]
    cells = [
        [
            row["score"],
            row["relevance"],
            row["content"],
            row["category"],
            row["valid_from"],
            *([_arms(row["explain"])] if explain else []),
        ]
        for row in rows
    ]
    print_table(columns, cells, fold="memory")


def _arms(explanation: dict[str, Any]) -> str:
    arms = ", ".join(f"{name} {hit['rank']}" for name, hit in explanation["arms"].items()) or "neighbour"
    return f"{arms}; before reranking {explanation['rerank']['own_rank']}" if "rerank" in explanation else arms
