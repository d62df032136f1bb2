"""How many results are enough, where the one who asks leaves that open (`k: "auto"`): as many as may answer, 3 to 50.

A result counts while its score is a share of the best one's: docs/design/recall.md.
"""

from dataclasses import replace

from service.recall.ranking import Ranking

FEWEST = 3
SHARE, JUDGED_SHARE = 0.47, 0.57  # of the best score, as the search and as a judgement gives it


def cut_to_auto_k(ranking: Ranking) -> Ranking:
    """The ranking cut where a score is too small a share of the best one; all of it where a number was asked for."""
    question, best = ranking.plan.question, ranking.best
    if not question.auto or not best:
        return ranking
    judged = any("rerank" in note for note in ranking.notes.values())
    least = (JUDGED_SHARE if judged else SHARE) * ranking.score_of(best[0])
    count = sum(ranking.score_of(key) >= least for key in best)
    return replace(ranking, best=best[: min(question.k, max(FEWEST, count))])
