"""Does relevance say how likely an answer is? Questions asked where their evidence is, and where it is not.

Unanswerable: questions of another namespace (of the same set; of another set of paragraphs where a set has one namespace), as many
as its own; the same with the names of speakers here in place of theirs, which may be answered by chance; and those that a set marks so: which ask one speaker about what the other said, or, in small namespaces, for what is not
said of something that is spoken of. Judged are the coefficients in force, and new ones that are fitted on everything but the family
of a set (the chats of all sizes are one family, small namespaces are one; for the speakers: everything but the namespace). Half of the
weight of a family is of questions that are answered.
"""

import random
from collections import Counter, defaultdict
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from bench.quality.cutting import is_foreign, renamed
from bench.quality.sets import APART, NEAR, RENAMED, QuestionSet
from service.recall.relevance import FEW_MEMORIES, Evidence, sigmoid

Row = dict[str, Any]
Values = NDArray[np.float64]
BINS = 10
RIDGE = 0.1


def asked_where(sets: list[QuestionSet], seed: int = 7) -> list[Row]:
    """Which question is asked where: its own namespace, and as many foreign questions for each."""
    chance, rows = random.Random(seed), []
    for questions in sets:
        alone = len(questions.namespaces) == 1
        others = [o for o in sets if len(o.namespaces) == 1 and o is not questions] if alone else [questions]
        for namespace in questions.namespaces:
            own = [query for query in questions.queries if query["namespace"] == namespace]
            kinds = [query["category"] if query["category"] in {APART, NEAR} else "own" for query in own]
            rows += [_row(questions, namespace, query["text"], kind) for query, kind in zip(own, kinds, strict=True)]
            language = questions.languages.get(namespace)
            pool = [
                (other, query)
                for other in others
                for query in other.queries
                if is_foreign(query, questions, namespace)
                and query["category"] not in {APART, NEAR}
                and other.languages.get(query["namespace"]) == language
            ]
            count = min(kinds.count("own"), len(pool))
            for other, query in chance.sample(pool, count):
                rows.append(_row(questions, namespace, query["text"], "foreign"))
                if questions.dialogue and not questions.roles:
                    text = renamed(query["text"], other.speakers(query["namespace"]), questions.speakers(namespace), chance)
                    rows.append(_row(questions, namespace, text, RENAMED))
    return rows


def _row(questions: QuestionSet, namespace: str, text: str, kind: str) -> Row:
    return {"set": questions.name, "family": questions.name.split("_")[0], "namespace": namespace, "text": text, "kind": kind}


def ask_relevance(client: httpx.Client, rows: list[Row], body: Row) -> list[Row]:
    """The rows with what a recall says: relevance, and what it is made of. Nothing found: 0."""
    for row in rows:
        sent = {"k": 1, "explain": True, **body, "query": row["text"]}
        reply = client.post("/recall", json=sent, headers={"X-Namespace": row["namespace"]}).raise_for_status().json()
        parts = reply["results"][0]["explain"]["relevance"] if reply["results"] else None
        names = ("coverage", "nearness", "terms", "unknown", "memories", "said")
        row["evidence"] = Evidence(**{name: parts[name] for name in names}) if parts else None
        row["relevance"] = reply["relevance"] or 0.0
    return rows


def auc(likely: Values, unlikely: Values) -> float:
    """How often an answerable question has the higher value, ties counted half."""
    _, index, counts = np.unique(np.concatenate([likely, unlikely]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[index]
    return float((ranks[: len(likely)].sum() - len(likely) * (len(likely) + 1) / 2) / (len(likely) * len(unlikely)))


def calibration(stated: Values, was: Values, weights: Values) -> tuple[float, list[tuple[int, float, float]]]:
    """Expected calibration error over ten bins of equal width; and of each bin how many, stated and true."""
    bins, table, error = np.minimum((stated * BINS).astype(int), BINS - 1), [], 0.0
    for n in sorted(set(bins)):
        of = bins == n
        said, true = (float(np.average(values[of], weights=weights[of])) for values in (stated, was))
        table.append((int(of.sum()), said, true))
        error += float(weights[of].sum()) * abs(said - true)
    return error / float(weights.sum()), table


def halves(rows: list[Row]) -> Values:
    """Weights: half of each family is answered; kinds of what is not share the other half. Adversarial questions weigh as they come."""
    count = Counter((row["family"], row["kind"]) for row in rows)
    others = Counter(family for family, kind in count if kind not in {"own", APART})
    return np.array(
        [
            1.0
            if row["kind"] in {"own", APART}
            else count[row["family"], "own"] / count[row["family"], row["kind"]] / others[row["family"]]
            for row in rows
        ]
    )


def fit(features: Values, was: Values, weights: Values) -> Values:
    """Logistic regression by Newton's method, constant first."""
    x = np.column_stack([np.ones(len(features)), features])
    ridge = RIDGE * np.diag([1e-6, *np.ones(x.shape[1] - 1)])
    b = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ b, -30, 30)))
        b += np.linalg.solve((x * (weights * p * (1 - p))[:, None]).T @ x + ridge, x.T @ (weights * (was - p)) - ridge @ b)
    return b


def _topic(row: Row) -> list[float]:
    e = row["evidence"]
    return [
        e.coverage * float(np.log1p(e.terms)),
        e.nearness or 0.0,
        float(np.log1p(e.unknown)),
        float(np.log(e.memories + FEW_MEMORIES)),
    ]


def _topics(rows: list[Row]) -> Values:
    weights, whole = halves(rows), defaultdict(float)
    for row, weight in zip(rows, weights, strict=True):
        whole[row["family"]] += weight
    weights *= np.array([300 / whole[row["family"]] for row in rows])
    return fit(np.array([_topic(row) for row in rows]), _was(rows), weights)


def _was(rows: list[Row]) -> Values:
    return np.array([float(row["kind"] == "own") for row in rows])


def _speaker(rows: list[Row], topics: Values) -> Values:
    """Coefficients for the speaker, so that the product with the topic fits: an unanswerable question may fail by either (EM)."""
    said, was = np.array([[row["evidence"].said] for row in rows]), _was(rows)
    likely = np.full(len(rows), 0.5)
    for _ in range(20):
        cause = np.where(was == 1, 1.0, likely * (1 - topics) / (1 - topics * likely))
        b = fit(said, cause, np.ones(len(rows)))
        likely = 1 / (1 + np.exp(-(b[0] + b[1] * said[:, 0])))
    return b


def _apply(coefficients: Values, features: list[float]) -> float:
    return sigmoid(float(coefficients[0] + coefficients[1:] @ np.array(features)))


def left_out(rows: list[Row]) -> Values:
    """Relevance from coefficients that have seen neither the family of the set nor, for speakers, the conversation."""
    known = [row for row in rows if row["evidence"]]
    families = {row["family"] for row in known}
    fitted = {f: _topics([r for r in known if r["family"] != f and r["kind"] != APART]) for f in families if len(families) > 1}
    topic = {
        id(row): _apply(fitted[row["family"]], _topic(row)) if row["family"] in fitted else row["evidence"].topic_likelihood
        for row in known
    }
    named = [row for row in known if row["evidence"].said is not None and row["kind"] != "foreign"]
    speaker = {}
    for namespace in {row["namespace"] for row in named}:
        others = [row for row in named if row["namespace"] != namespace]
        if {APART, "own"} <= {row["kind"] for row in others}:
            speaker[namespace] = _speaker(others, np.array([topic[id(row)] for row in others]))
    return np.array([topic[id(row)] * _said(row, speaker) if row["evidence"] else 0.0 for row in rows])


def _said(row: Row, speaker: dict[str, Values]) -> float:
    said = row["evidence"].said
    if said is None or row["namespace"] not in speaker:
        return float(row["evidence"].speaker_likelihood)
    return _apply(speaker[row["namespace"]], [said])


def print_relevance(rows: list[Row]) -> None:
    """By set: AUC and calibration error, of the coefficients in force and of those left out; and the reliability table."""
    was, kinds = np.array([row["kind"] == "own" for row in rows], float), np.array([row["kind"] for row in rows])
    sets, weights = np.array([row["set"] for row in rows]), halves(rows)
    ways = {"in force": np.array([row["relevance"] for row in rows]), "left out": left_out(rows)}
    print(
        "\n| set | coefficients | questions | AUC foreign | renamed | adversarial, near | ECE | own kept at 0.5; 0.2 | foreign refused |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in [*dict.fromkeys(sets), "all"]:
        of = np.ones(len(rows), bool) if name == "all" else sets == name
        for way, values in ways.items():
            own, foreign = (values[of & (kinds == kind)] for kind in ("own", "foreign"))
            adversarial = values[of & ((kinds == APART) | (kinds == NEAR))]
            others = (foreign, values[of & (kinds == RENAMED)], adversarial)
            aucs = [f"{auc(own, other):.3f}" if len(other) else "–" for other in others]
            error, _ = calibration(values[of], was[of], weights[of])
            kept = f"{100 * np.mean(own >= 0.5):.0f}; {100 * np.mean(own >= 0.2):.0f}"
            refused = f"{100 * np.mean(foreign < 0.5):.0f}; {100 * np.mean(foreign < 0.2):.0f}" if len(foreign) else "–"
            print(f"| {name} | {way} | {int(of.sum())} | {' | '.join(aucs)} | {error:.3f} | {kept} | {refused} |")
    print("\n| relevance, left out | questions | stated, mean | answerable |\n|---|---|---|---|")
    for count, said, true in calibration(ways["left out"], was, weights)[1]:
        print(f"| {int(said * BINS) / BINS:.1f} | {count} | {said:.2f} | {true:.2f} |", flush=True)
