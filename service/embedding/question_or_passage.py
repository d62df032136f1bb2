"""How an embedding model is told a question from a passage: by a prefix of the text, or by a field of the request.

Facts about a model by its name are from its own card or API reference, and settings say them for any other one.
"""

import re
from dataclasses import dataclass

from service.settings import EmbeddingSettings

SEARCH = "Given a web search query, retrieve relevant passages that answer the query"
RELEVANT = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True)
class Side:
    """A side of a search, questions or passages: the prefix of its texts, and the value of the field that tells it."""

    prefix: str = ""
    type: str = ""


@dataclass(frozen=True)
class Form:
    """Both sides, the field that tells them apart, and the field for the number of dimensions."""

    question: Side = Side()
    passage: Side = Side()
    type_field: str = "input_type"
    dimensions_field: str = "dimensions"


BARE = Form()
KNOWN = (  # the first whose pattern is in the model's name, in lower case
    (r"e5-.*instruct", Form(Side(f"Instruct: {SEARCH}\nQuery: "))),
    (r"\be5-|[-/]e5\b", Form(Side("query: "), Side("passage: "))),
    (r"bge-.*-zh", Form(Side("为这个句子生成表示以用于检索相关文章："))),  # noqa: RUF001 (the model's own words)
    (r"bge-(small|base|large)-en", Form(Side(RELEVANT))),
    (r"nomic-embed-text", Form(Side("search_query: "), Side("search_document: "))),
    (r"arctic-embed.*v?2", Form(Side("query: "))),
    (r"arctic-embed", Form(Side(RELEVANT))),
    (r"gte-qwen2.*instruct", Form(Side(f"Instruct: {SEARCH}\nQuery: "))),  # other models of gte take texts as they are
    (r"qwen3-embedding", Form(Side(f"Instruct: {SEARCH}\nQuery:"))),
    (r"jina-embeddings-v[3-9]", Form(Side(type="retrieval.query"), Side(type="retrieval.passage"), type_field="task")),
    (r"^voyage-", Form(Side(type="query"), Side(type="document"), dimensions_field="output_dimension")),
    (r"^embed-.*v\d", Form(Side(type="search_query"), Side(type="search_document"))),  # Cohere
)


def known_form(model: str) -> Form:
    """Form of a model by its name; an unknown one takes texts as they are."""
    return next((form for pattern, form in KNOWN if re.search(pattern, model.lower())), BARE)


def form_of(settings: EmbeddingSettings) -> Form:
    """Form by the settings, else by the model's name."""
    known = known_form(settings.model)
    return Form(
        _complete_side(known.question, settings.query_prefix, settings.query_input_type),
        _complete_side(known.passage, settings.passage_prefix, settings.passage_input_type),
        settings.input_type_field or known.type_field,
        settings.dimensions_field or known.dimensions_field,
    )


def _complete_side(known: Side, prefix: str | None, type_: str | None) -> Side:
    return Side(known.prefix if prefix is None else prefix, known.type if type_ is None else type_)


def model_name(settings: EmbeddingSettings) -> str:
    """Name of an endpoint's model in the database: vectors of other dimensions or passages are another model's."""
    passage = form_of(settings).passage
    told = [f'"{passage.prefix}"'] if passage.prefix else []
    told += [passage.type] if passage.type else []
    return f"{settings.model}{f'-{settings.dimensions}' if settings.dimensions else ''}{' as ' if told else ''}{' '.join(told)}"


def settings_for(settings: EmbeddingSettings, name: str, asks: int | None) -> EmbeddingSettings:
    """Settings by which an endpoint makes the vectors of a model that the database calls so.

    Its passages are told as they were when it was filled; where that is not what settings say, its questions are told nothing.
    """
    found = re.fullmatch(r'(?P<model>.*?)(?: as (?:"(?P<prefix>.*)")? ?(?P<type>[^" ]*))?', name, re.DOTALL)
    model, prefix, type_ = found.group("model", "prefix", "type") if found else (name, None, None)
    model = model.removesuffix(f"-{asks}") if asks else model
    named = settings.model_copy(update={"provider": "openai", "model": model, "dimensions": asks})
    if model_name(named) == name:
        return named
    bare = {"query_prefix": "", "query_input_type": ""}
    return named.model_copy(update=bare | {"passage_prefix": prefix or "", "passage_input_type": type_ or ""})
