"""An endpoint's model is told questions from passages, as its card says or as settings say."""

import json
from typing import Any

import httpx
import pytest

from service.embedding.active_model import make_provider_for
from service.embedding.openai import OpenAIProvider
from service.embedding.provider import embed_questions
from service.embedding.question_or_passage import known_form, model_name
from service.settings import EmbeddingSettings

PLACE = "http://model/v1"
E5 = "intfloat/multilingual-e5-small"
LONG = 8  # dimensions that the endpoint makes, whatever it is asked for


async def bodies(**stated: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Bodies of the requests for a passage and for a question."""
    heard: list[dict[str, Any]] = []

    def handle(request: httpx.Request) -> httpx.Response:
        heard.append(json.loads(request.content))
        return httpx.Response(200, json={"data": [{"index": 0, "embedding": [3.0, 4.0, *[1.0] * (LONG - 2)]}]})

    settings = EmbeddingSettings(provider="openai", endpoint=PLACE, **stated)
    provider = OpenAIProvider(settings, httpx.MockTransport(handle))
    await provider.embed(["Ann has a dog"])
    await embed_questions(provider, ["a dog?"])
    await provider.close()
    return heard[0], heard[1]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("model", "passage", "question"),
    [
        (E5, "passage: Ann has a dog", "query: a dog?"),
        ("intfloat/e5-large-v2", "passage: Ann has a dog", "query: a dog?"),
        ("nomic-embed-text:v1.5", "search_document: Ann has a dog", "search_query: a dog?"),
        ("BAAI/bge-small-en-v1.5", "Ann has a dog", "Represent this sentence for searching relevant passages: a dog?"),
        ("BAAI/bge-m3", "Ann has a dog", "a dog?"),
        ("snowflake-arctic-embed2", "Ann has a dog", "query: a dog?"),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "Ann has a dog", "query: a dog?"),
        ("thenlper/gte-base", "Ann has a dog", "a dog?"),
        ("text-embedding-3-small", "Ann has a dog", "a dog?"),
    ],
)
async def test_a_known_model_has_the_prefixes_of_its_card(model: str, passage: str, question: str) -> None:
    told, asked = await bodies(model=model)
    assert (told["input"], asked["input"]) == ([passage], [question])
    assert "input_type" not in told | asked


@pytest.mark.anyio
@pytest.mark.parametrize("model", ["Qwen/Qwen3-Embedding-0.6B", "qwen3-embedding:4b", "intfloat/e5-mistral-7b-instruct"])
async def test_a_model_that_takes_instructions_has_one_before_its_questions_alone(model: str) -> None:
    told, asked = await bodies(model=model)
    assert told["input"] == ["Ann has a dog"]
    assert asked["input"][0].startswith("Instruct: ")
    assert asked["input"][0].endswith("a dog?")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("model", "field", "passage", "question"),
    [
        ("voyage-3.5", "input_type", "document", "query"),
        ("embed-v4.0", "input_type", "search_document", "search_query"),
        ("embed-multilingual-v3.0", "input_type", "search_document", "search_query"),
        ("jina-embeddings-v3", "task", "retrieval.passage", "retrieval.query"),
    ],
)
async def test_a_vendor_that_takes_a_field_is_sent_it(model: str, field: str, passage: str, question: str) -> None:
    told, asked = await bodies(model=model)
    assert (told[field], asked[field]) == (passage, question)
    assert (told["input"], asked["input"]) == (["Ann has a dog"], ["a dog?"])


@pytest.mark.anyio
async def test_settings_say_the_form_of_a_model_that_nobody_knows_and_overrule_that_of_a_known_one() -> None:
    told, asked = await bodies(model="mine", query_prefix="Q:\\n", passage_input_type="doc", input_type_field="kind")
    assert (told["kind"], told["input"], asked["input"]) == ("doc", ["Ann has a dog"], ["Q:\na dog?"])
    assert "kind" not in asked
    told, asked = await bodies(model=E5, query_prefix="", passage_prefix="")
    assert (told["input"], asked["input"]) == (["Ann has a dog"], ["a dog?"])


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("stated", "field"),
    [
        ({"model": "text-embedding-3-small"}, "dimensions"),
        ({"model": "voyage-3.5"}, "output_dimension"),
        ({"model": "mine", "dimensions_field": "size"}, "size"),
    ],
)
async def test_fewer_dimensions_are_asked_for_in_the_models_own_field(stated: dict[str, Any], field: str) -> None:
    told, asked = await bodies(dimensions=2, **stated)
    assert (told[field], asked[field]) == (2, 2)


@pytest.mark.anyio
async def test_longer_vectors_than_are_asked_for_are_cut_and_have_length_one() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"data": [{"index": 0, "embedding": [3.0, 4.0, *[9.0] * (LONG - 2)]}]})

    provider = OpenAIProvider(
        EmbeddingSettings(provider="openai", endpoint=PLACE, model="mine", dimensions=2), httpx.MockTransport(handle)
    )
    assert (await provider.embed(["a"])).tolist() == [pytest.approx([0.6, 0.8])]
    await provider.close()


@pytest.mark.parametrize(
    "stated",
    [
        {"model": E5},
        {"model": E5, "dimensions": 64},
        {"model": "voyage-3.5", "dimensions": 256},
        {"model": "mine", "passage_prefix": "Text:\n", "passage_input_type": "doc"},
        {"model": "BAAI/bge-m3"},
    ],
)
def test_a_process_with_other_settings_makes_the_vectors_of_the_active_model(stated: dict[str, Any]) -> None:
    name = model_name(EmbeddingSettings(provider="openai", **stated))
    row = {"name": f"openai/{name}", "asks": stated.get("dimensions"), "dimensions": 384}
    made = make_provider_for(EmbeddingSettings(provider="openai", endpoint=PLACE, model="another"), row)
    assert made.name == row["name"]


def test_passages_that_were_embedded_as_they_are_stay_with_questions_that_are() -> None:
    row = {"name": f"openai/{E5}", "asks": None, "dimensions": 384}
    made = make_provider_for(EmbeddingSettings(provider="openai", endpoint=PLACE, model=E5), row)
    assert isinstance(made, OpenAIProvider)
    assert made.name == row["name"]
    assert made._form.question.prefix == ""


def test_another_prefix_of_questions_is_no_other_model() -> None:
    plain, asked = (EmbeddingSettings(provider="openai", model="mine", query_prefix=prefix) for prefix in (None, "Q: "))
    assert model_name(plain) == model_name(asked)
    assert model_name(plain) != model_name(EmbeddingSettings(provider="openai", model="mine", passage_prefix="P: "))


def test_names_that_only_look_like_a_known_model_have_no_form() -> None:
    assert {known_form(name).question.prefix for name in ("house5-base", "mistral-embed", "text-embedding-ada-002")} == {""}
