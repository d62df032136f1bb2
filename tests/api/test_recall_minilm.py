"""The reranker on this machine: it judges within its deadline, reads a memory once, and what it has read goes with the memory."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from service.embedding.minilm import MiniLMProvider
from service.llm.model import ModelError
from service.rerank.minilm import READINGS, MiniLMReranker
from service.rerank.reranker import StillReading
from service.settings import RerankSettings
from tests.databases import Database
from tests.services import PATIENCE, Api, Service, eventually, new_api, ok, serve

Row = dict[str, Any]
# The search by words has the first one last: it is the longest.
TEXTS = ["Ann adopted a tabby kitten", "Ann does not have what it takes", "Bob does have what Ann wants"]
ASKED = "What pet does Ann have?"


@pytest.fixture(scope="module")
def judged(own_database: Database) -> Iterator[Service]:
    with serve(own_database, rerank={"provider": "minilm", "deadline": PATIENCE, "weight": 1.0}, worker=False) as running:
        yield running


@pytest.fixture
def pets(judged: Service) -> Iterator[Api]:
    with new_api(judged) as api:
        ok(api.post("/memories/batch", {"items": [{"content": content} for content in TEXTS]}))
        yield api


class CountingReranker(MiniLMReranker):
    """Counts the texts that it reads."""

    def __init__(self, settings: RerankSettings) -> None:
        super().__init__(settings)
        self.texts: list[str] = []

    def _encode_pieces(self, texts: list[str]) -> Any:
        self.texts += texts
        return super()._encode_pieces(texts)


def counting(service: Service, **settings: Any) -> CountingReranker:
    """Another process, as it were: its reranker has read nothing."""
    made = CountingReranker(RerankSettings(provider="minilm", **{"deadline": PATIENCE, "weight": 1.0, **settings}))
    service.app.state.loci.resources = replace(service.app.state.loci.resources, reranker=made)
    return made


def kept(api: Api) -> int:
    """How many memories of the namespace are kept as they were read."""
    with api.service.database.admin() as admin:
        row = admin.execute(
            "select count(*) as n from loci_data.memory_pieces p join loci_data.namespaces n on n.id = p.namespace_id where n.name = %s",
            [api.namespace],
        ).fetchone()
    return int(row["n"] if isinstance(row, dict) else row[0])


def test_it_judges_by_default_and_the_paraphrase_comes_first(pets: Api) -> None:
    answer = pets.recall(ASKED, explain=True)
    assert answer["reranked"] == {"model": "minilm/late-interaction", "results": 3}
    assert answer["results"][0]["content"] == TEXTS[0]
    scores = [result["explain"]["rerank"]["score"] for result in answer["results"]]
    assert all(0 <= score <= 1.001 for score in scores)
    plain = pets.recall(ASKED, rerank=False)
    assert "reranked" not in plain
    assert plain["results"][0]["content"] != TEXTS[0]


def test_a_memory_is_read_once_and_by_no_other_process_again(judged: Service, pets: Api) -> None:
    first = counting(judged)
    own = pets.found(ASKED)
    assert sorted(first.texts) == sorted([*TEXTS, ASKED])
    eventually(lambda: kept(pets) == len(TEXTS))
    second = counting(judged)
    assert pets.found(ASKED) == own
    assert second.texts == [ASKED]


def test_a_namespace_that_keeps_its_texts_from_rerankers_has_nothing_read(judged: Service, pets: Api) -> None:
    ok(pets.client.patch(f"/namespaces/{pets.namespace}", json={"settings": {"recall_rerank": False}}))
    reader = counting(judged)
    assert "recall_rerank" in pets.recall(ASKED)["skipped"]["rerank"]
    assert (reader.texts, kept(pets)) == ([], 0)


def test_a_late_reading_is_left_out_and_ready_for_the_next_recall(judged: Service, pets: Api) -> None:
    counting(judged, deadline=1e-6)
    answer = pets.recall(ASKED)
    assert "reads 3 texts first" in answer["skipped"]["rerank"]
    assert "reranked" not in answer
    assert len(answer["results"]) == len(TEXTS)
    eventually(lambda: kept(pets) == len(TEXTS))
    counting(judged)
    assert pets.recall(ASKED)["reranked"]["results"] == len(TEXTS)


def test_a_context_has_the_order_of_the_reranker_and_holds_back_what_the_session_was_shown(pets: Api) -> None:
    first = ok(pets.post("/context", {"message": ASKED, "session_id": "s", "k": 1, "sections": ["memories"]}))
    assert [row["content"] for row in first["memories"]] == [TEXTS[0]]
    again = ok(pets.post("/context", {"message": ASKED, "session_id": "s", "k": 1, "sections": ["memories"]}))
    assert TEXTS[0] not in again["text"]
    preview = ok(pets.post("/context", {"message": ASKED, "preview": True, "sections": ["memories"]}))
    assert preview["memories"][0]["content"] == TEXTS[0]
    assert preview["memories"][0]["score"] >= preview["memories"][-1]["score"]


def test_while_much_is_read_no_more_is_begun() -> None:
    async def asked() -> None:
        reranker = MiniLMReranker(RerankSettings())
        try:
            for nth in range(READINGS):
                with pytest.raises(StillReading):
                    await reranker.judge("q", [f"{nth} {n} " + "word " * 200 for n in range(50)], deadline=1e-6)
            with pytest.raises(ModelError, match="still reading"):
                await reranker.judge("q", ["another"], deadline=1.0)
        finally:
            await reranker.close()

    asyncio.run(asked())


def test_texts_of_like_meaning_have_near_vectors() -> None:
    async def embedded() -> Any:
        return await MiniLMProvider().embed(["A kitten sleeps.", "A young cat is asleep.", "Taxes rose again.", ""])

    vectors = asyncio.run(embedded())
    assert vectors.shape == (4, 384)
    alike, other = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert alike > 0.6
    assert other < 0.2
