"""`loci recall`: a question to memory."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.output import echo, print_json, print_table
from service.cli.session import Session, open_provider, run
from service.cli.shell import AsOf, Json, KnownAt, Namespace, wants_json

if TYPE_CHECKING:
    from service.recall.question import Question


def recall(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="The question.")],
    k: Annotated[int, typer.Option("--k", "-k", min=1, max=100, help="How many results.")] = 10,
    namespace: Namespace = "default",
    explain: Annotated[bool, typer.Option("--explain", help="Show what each arm of the search contributed.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    as_json: Json = False,
) -> None:
    """Find the memories that answer a question."""
    from loci.models.recall import RecallInput
    from service.recall.question import question_of

    stated = {"query": query, "k": k, "as_of": as_of, "known_at": known_at, "explain": explain}
    question = question_of(RecallInput.model_validate(stated))
    answer = run(lambda session: _ask(session, question, namespace))
    if wants_json(context, as_json):
        print_json(answer)
        return
    for arm, reason in answer["skipped"].items():
        echo(f"without the {arm} arm: {reason}", err=True)
    if answer["waiting"]:
        echo(f"{answer['waiting']:,} memories wait for their vectors", err=True)
    if not answer["results"]:
        echo("nothing found", err=True)
        return
    _print_results(answer["results"], explain=explain)


async def _ask(session: Session, question: "Question", namespace: str) -> dict[str, Any]:
    from service.recall.answer import recall

    async with open_provider(session) as provider, session.transaction(namespace) as tx:
        answer = (await (await recall(tx, question, provider, session.settings.embedding)).answer()).shown()
    return {name: answer[name] for name in ("results", "entities", "skipped", "took_ms", "waiting")}


def _print_results(rows: list[dict[str, Any]], *, explain: bool) -> None:
    columns = ["score", "memory", "category", "valid_from", *(["arms (rank)"] if explain else [])]
    cells = [
        [
            row["score"],
            row["content"],
            row["category"],
            row["valid_from"],
            *([_arms(row["explain"])] if explain else []),
        ]
        for row in rows
    ]
    print_table(columns, cells, fold="memory")


def _arms(explanation: dict[str, Any]) -> str:
    return ", ".join(f"{name} {hit['rank']}" for name, hit in explanation["arms"].items()) or "neighbour"
