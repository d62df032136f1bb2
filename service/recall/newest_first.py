"""Among hits that state the same fact about the same subject, the newest comes first.

A namespace may hold "Bob lives in Rome" and "Bob has moved to Oslo", and nothing says that one ends the other. "Where does Bob
live?" has one answer (service/text/relations.py). So among the best hits the statements about Bob exchange scores: first those that
answer, the latest before the others, then other statements about him. No other hit moves. Questions about the past are left alone;
where a question asks for several things, only statements of the same exchange scores.
"""

from collections.abc import Iterable
from dataclasses import replace

from db.recall import search
from service.recall.fusion import order_by_score
from service.recall.question import Question
from service.recall.ranking import Ranking
from service.recall.relevance import OTHERS
from service.recall.sources import by_place, pack_hit
from service.text.relations import Asked, find_asked_relation
from service.text.statements import MatchedStatements, Statement, match_statements

AMONG = 30  # best hits that are looked at


def find_relation(question: Question) -> Asked | None:
    """What a question asks to be told of somebody as it is now; None: nothing of the kind."""
    return find_asked_relation(question.query, past=question.scope.as_of is not None or question.scope.known_at is not None)


async def put_newest_first(ranking: Ranking) -> Ranking:
    """The ranking with statements that tell the same in the order of their time; no round trip where the question asks for none."""
    scope = ranking.plan.question.scope
    asked = find_relation(ranking.plan.question)
    if asked is None:
        return ranking
    for place, documents in by_place(ranking.best_of(AMONG)).items():
        rows = await search.short_statements(ranking.asked.sources[place].tx, documents=documents, scope=scope)
        ranking = order_statements(ranking, asked, rows, place)
    return ranking


def order_statements(ranking: Ranking, asked: Asked, rows: Iterable[search.ShortStatement], place: int = 0) -> Ranking:
    """The ranking with those of these statements that tell what is asked, in a namespace, in the order of their time."""
    standings = ranking.fused.standings
    each = [_make_statement(row, place, ranking) for row in rows]
    statements = [statement for statement in each if standings.get(statement.key) not in OTHERS]
    return swap_scores(ranking, match_statements(statements, asked))


def _make_statement(row: search.ShortStatement, place: int, ranking: Ranking) -> Statement:
    key = pack_hit(place, "memory", row["doc_id"])
    since = (row["valid_from"], row["recorded_at"], key)
    return Statement(key, ranking.plain_score(key), row["content"], tuple(row["earlier"]), since, row["category"])


def swap_scores(ranking: Ranking, among: MatchedStatements) -> Ranking:
    """The ranking where these hits have their scores among them in that order."""
    keys = [each.key for each in (*among.same, *among.others)]
    scores = sorted((ranking.score_of(key) for key in keys), reverse=True)
    moved = {key: score for key, score in zip(keys, scores, strict=True) if score != ranking.score_of(key)}
    if not moved:
        return ranking
    notes, first = dict(ranking.notes), len(among.same)
    for key in moved:
        place = keys.index(key)
        stands = {"place": place + 1, "of": first} if place < first else {"behind": first}
        notes[key] = {**notes.get(key, {}), "succession": {**stands, "own_score": ranking.score_of(key)}}
    made = replace(ranking, final={**ranking.final, **moved}, notes=notes)
    order = {key: nth for nth, key in enumerate(keys)}
    scored = {key: made.score_of(key) for key in made.fused.scores}
    best = sorted(order_by_score(scored), key=lambda key: (-scored[key], order.get(key, 0)))
    return replace(made, best=best[: ranking.plan.question.k])
