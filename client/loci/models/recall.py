"""Recall, search by words, and the log of recalls."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, Field, Strict, WithJsonSchema, field_validator, model_validator

from loci.models.facts import Constraint
from loci.models.fields import (
    UNQUOTED,
    Category,
    Content,
    Count,
    Flag,
    Id,
    Items,
    Label,
    Layer,
    LocalMoment,
    Metadata,
    Model,
    Moment,
    NamespaceName,
    NextCursor,
    Rate,
    Room,
    ServerKind,
    Tags,
    Text,
    TimeZone,
    Unit,
    User,
    Vector,
)
from loci.models.memories import Contradicts, MemoryOut


class Filters(Model):
    """What results are restricted to; every filter applies before ranking."""

    category: Category | None = Field(default=None, description="This category and all below it")
    tags: Tags | None = Field(default=None, description="Any of these")
    tags_all: Tags | None = Field(default=None, description="All of these")
    layers: list[Layer] | None = Field(default=None, description="Only these layers")
    lineage: Label | None = Field(default=None, description="Of this lineage")
    source: Label | None = Field(default=None, description="Said by this one")
    session_id: Label | None = Field(default=None, description="From this conversation")
    metadata: Metadata | None = Field(default=None, description="Contained in the memory's metadata")
    valid_after: Moment | None = Field(default=None, description="valid_from at or after")
    valid_before: Moment | None = Field(default=None, description="valid_from before")
    recorded_after: Moment | None = Field(default=None, description="Written at or after this moment")
    recorded_before: Moment | None = Field(default=None, description="Written before this moment")
    min_importance: Unit | None = Field(default=None, description="At least this importance")
    min_confidence: Unit | None = Field(default=None, description="At least this confidence")
    under: UUID | None = Field(default=None, description="This memory and everything under it")
    entity: Label | None = Field(default=None, description="Mentions this entity (id, name or alias)")
    about: Label | None = Field(default=None, description="About this entity (id, name or alias)")


class Weights(Model):
    """Weight of each arm in the fusion; relative_score has none."""

    lexical: Rate | None = Field(default=None, description="By words (BM25)")
    vector: Rate | None = Field(default=None, description="By meaning (cosine of embeddings)")
    second: Rate | None = Field(
        default=None,
        description="By meaning of a second embedding model, where one is configured; default: 1.25 times vector",
    )
    graph: Rate | None = Field(default=None, description="Through the graph")
    names: Rate | None = Field(
        default=None, description="The part of the graph arm that goes over rare names shared with the best hits"
    )
    hierarchy: Rate | None = Field(default=None, description="Around the best hits in the hierarchy")
    walk: Rate | None = Field(default=None, description="Memories behind the aspects of named and pinned entities")
    working_memory: Rate | None = Field(default=None, description="Live entries of working memory")
    conversation: Rate | None = Field(default=None, description="Turns of conversations")


Rewriting = Literal["decompose", "hypothetical"]
ArmName = Literal["lexical", "vector", "graph", "hierarchy", "walk", "working_memory", "conversation"]


Fusion = Literal["linear", "rrf", "relative_score"]


def _judged(value: object) -> object:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, bool) or (isinstance(whole, int) and FEWEST_JUDGED <= whole <= MOST_JUDGED):
        return whole
    raise ValueError(f"must be true, false, or a whole number from {FEWEST_JUDGED} to {MOST_JUDGED}")


FEWEST_JUDGED, MOST_JUDGED = 2, 200
Judged = Annotated[
    bool | int,
    BeforeValidator(_judged),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "integer", "minimum": FEWEST_JUDGED, "maximum": MOST_JUDGED}]}),
]


class RecallInput(Model):
    """A question."""

    query: Content = Field(description="The question, at most 1 MiB")
    k: Count = Field(default=10, description="How many results; auto: as many as may answer, 3 to 50")
    arms: list[ArmName] | None = Field(
        default=None,
        min_length=1,
        description="Default: the first five. working_memory adds live entries; conversation adds turns: of the session that the "
        "filters name, else of the one that asks, else of all. Filters that they do not know leave them out",
    )
    namespaces: Annotated[list[NamespaceName], Field(min_length=1, max_length=10_000)] | Literal["*"] | None = Field(
        default=None,
        description="Search these, or with * all that the key may read; weights and k are those of X-Namespace still",
    )
    weights: Weights | None = Field(default=None, description="Weights of the arms")
    fusion: Fusion | None = Field(
        default=None,
        description="linear: the weighted sum of the arms' scores, each over what its arm can give. rrf: reciprocal ranks. "
        "relative_score: the mean, over the arms that found anything, of its score over the arm's best; cosines from the setting "
        "relative_similarity. Default: the namespace's setting",
    )
    rrf_k: Annotated[float, Strict(), Field(ge=0, le=1000, allow_inf_nan=False)] | None = Field(
        default=None, description="Constant of rrf; default: the namespace's setting"
    )
    filters: Filters | None = Field(default=None, description="What the results are restricted to")
    as_of: Moment | None = Field(default=None, description="Valid at this moment; default now")
    known_at: Moment | None = Field(default=None, description="As believed at this moment; default now")
    at: LocalMoment | None = Field(
        default=None,
        description="When it is asked, with the offset of the one who asks: what `yesterday`, `last summer` or `in May` in the "
        "question is told from. It restricts nothing; default: as_of, else now",
    )
    time_zone: TimeZone | None = Field(
        default=None, description="Time zone of the one who asks, such as Europe/Berlin; default: the offset of `at`, else UTC"
    )
    min_relevance: Unit | None = Field(
        default=None, description="Leave out memories less likely to answer than this, 0 to 1; default: nothing is left out"
    )
    max_chars: Room | None = Field(
        default=None,
        description="Characters in which the results will be shown together: one whose content is longer than its share has a "
        "`passage`, the part that answers. Nothing is left out. Default: no passages",
    )
    explain: Flag = Field(default=False, description="Say how each result came about")
    user: User = None
    session_id: Label | None = Field(
        default=None, description="The conversation that asks: what was injected into it and is found by words counts as used"
    )
    embedding: Vector | None = Field(default=None, description="The question's vector, if you made it yourself")
    rerank: Judged | None = Field(
        default=None,
        description="Whether the reranker judges the best results once more, and how many of them. Default: it does where one is "
        "configured (LOCI_RERANK__…) and the namespace's setting recall_rerank allows it",
    )
    rewrite: Rewriting | None = Field(
        default=None,
        description="Have a language model cut the question into parts (decompose) or make up an answer (hypothetical), and search "
        "for these too; in the budget of X-Namespace. They stand in `explain`",
    )
    log: Flag | None = Field(default=None, description="Log it, so that its results can be rated; default: setting recall_log")


class Passage(BaseModel):
    """The part of a long content that answers."""

    text: str = Field(description="The words")
    start: int = Field(description="Characters before it")
    end: int = Field(description="Characters up to its end")


class Explained(BaseModel):
    """A result of recall, whatever its tier."""

    passage: Passage | None = Field(
        default=None, description="With max_chars, where the content is longer than its share: the part of it that answers"
    )

    namespace: str = Field(description="Name of the namespace that it is in")
    score: float = Field(description="What it was ranked by; larger is better")
    relevance: float | None = Field(
        description="How likely it answers, 0 to 1: of the best memory the probability that what was found answers, of "
        "others that times the cube of their score over its score (both without the factor for a source that the question "
        "names); null for what is no memory"
    )
    explain: dict[str, Any] | None = Field(
        default=None,
        description="What the score is made of: (the `part` of each arm + `added` for whose it is + `lent` by neighbours in the "
        "session) × `factor`, for who said it and when; with relative_score the mean of the parts, over all arms that "
        "found anything. `because` says it in one line. Each arm's rank, score, weight and the "
        "path that led there; `waited`: its vector was not stored yet; `rerank`: the reranker's score, rank and score before; "
        "`rewrite`: further questions, and its rank for each; `succession`: its place among hits that tell the same, the latest "
        "first, or behind how many of these, and its score before; `relevance`: what that is made of; `time`: which time the "
        "question asks about, as it was read, and how near the memory is to it, 1 within it",
    )


class Recalled(MemoryOut, Explained):
    """A memory as a result of recall."""

    tier: Literal["memory"] = Field(description="Where it is kept")
    contradicts: Contradicts = None


class RecalledEntry(Explained):
    """An entry of working memory as a result of recall."""

    tier: Literal["working_memory"] = Field(description="Where it is kept")
    key: str = Field(description="Full path of the entry")
    space: str = Field(description="First two segments of the path")
    value: Any = Field(description="Any JSON")
    category: str | None = Field(description="Slash-separated path")
    tags: list[str] = Field(description="Labels; their order means nothing")
    stored_at: datetime = Field(description="When it was stored")
    expires_at: datetime = Field(description="From when it is unseen")


class RecalledTurn(Explained):
    """A turn of a conversation as a result of recall."""

    tier: Literal["conversation"] = Field(description="Where it is kept")
    id: int = Field(description="Grows within a session")
    session_id: str = Field(description="The conversation")
    role: str = Field(description="Who spoke")
    content: str = Field(description="What was said")
    metadata: dict[str, Any] = Field(description="Your own JSON object; kept as it is")
    said_at: datetime = Field(description="When it was said")


class NamespacedConstraint(Constraint):
    """A rule that holds, and the namespace that it holds in."""

    namespace: str = Field(description="Name of the namespace")


class Reranked(BaseModel):
    """Who put results in their order."""

    model: str = Field(description="The reranker")
    results: int = Field(description="How many results it judged")


class Rewritten(BaseModel):
    """How a question was rewritten."""

    how: Rewriting = Field(description="As was asked")
    questions: int = Field(description="How many further questions were searched; they stand in `explain`")


class RecallOut(BaseModel):
    """The answer to a question."""

    results: list[Annotated[Recalled | RecalledEntry | RecalledTurn, Field(discriminator="tier")]] = Field(
        description="Results, best first"
    )
    constraints: list[NamespacedConstraint] = Field(
        description="Of the entities that the question names and of pinned ones, most important first, whatever was found"
    )
    entities: list[dict[str, Any]] = Field(description="Entities that the question names")
    skipped: dict[str, str] = Field(description="Arms that did not take part, and why; also `rerank` and `rewrite`")
    took_ms: float = Field(description="Milliseconds that it took")
    server: ServerKind = "primary"
    waiting: int = Field(
        default=0,
        description="Memories whose vectors were not made yet, up to 1,000 a namespace. The newest (setting recall_waiting) were "
        "embedded with the question, others that have its words rank by meaning as they do by words",
    )
    relevance: float | None = Field(
        default=None, description="Of the best memory that was found, even where it is left out; null: none was found"
    )
    left_out: int = Field(default=0, description="Results left out because they are below min_relevance")
    recall_id: UUID | None = Field(default=None, description="If it was logged: its id, in each namespace that logs it")
    reranked: Reranked | None = Field(default=None, description="If a reranker put the results in their order")
    rewritten: Rewritten | None = Field(default=None, description="If further questions were searched")

    @property
    def memories(self) -> list[Recalled]:
        """The results that are memories; others are there only where their arms were asked for."""
        return [result for result in self.results if isinstance(result, Recalled)]

    def __iter__(self) -> Iterator[Recalled | RecalledEntry | RecalledTurn]:  # type: ignore[override]  # not its fields
        """The results, best first."""
        return iter(self.results)

    def __len__(self) -> int:
        """How many results there are."""
        return len(self.results)

    def __getitem__(self, place: int) -> Recalled | RecalledEntry | RecalledTurn:
        """A result by its place, from 0."""
        return self.results[place]


class MentionedEntity(BaseModel):
    """An entity that a result mentions."""

    id: Id
    name: str = Field(description="Its name")
    type: str = Field(description="Type of the entity, such as person")


class Found(MemoryOut):
    """A memory as a result of lexical search."""

    score: float = Field(description="What it was ranked by; larger is better")
    entities: list[MentionedEntity] = Field(description="What it mentions, the rarest first, at most 20")


class SearchOut(BaseModel):
    """What a lexical search found, and what the graph says about it."""

    results: list[Found] = Field(description="Results, best first")
    entities: list[dict[str, Any]] = Field(description="Entities that the question names")
    constraints: list[Constraint] = Field(description="Of these and of pinned ones, most important first")

    def __iter__(self) -> Iterator[Found]:  # type: ignore[override]  # not its fields
        """The results, best first."""
        return iter(self.results)

    def __len__(self) -> int:
        """How many results there are."""
        return len(self.results)


class LoggedRecall(BaseModel):
    """A recall in the log."""

    id: Id
    at: datetime = Field(description="When it was asked")
    agent_id: UUID = Field(description="The agent that asked")
    session_id: str | None = Field(description="The conversation that asked; null: none was named")
    query: str = Field(description="The question")
    arms: list[str] = Field(description="The arms that searched")
    fusion: Fusion = Field(description="How the rankings were joined")
    k: int = Field(description="How many results were asked for")
    filters: dict[str, Any] = Field(description="What the results were restricted to")
    as_of: datetime | None = Field(description="Valid at this moment; null: when it was asked")
    known_at: datetime | None = Field(description="As believed at this moment; null: when it was asked")
    skipped: dict[str, str] = Field(description="What did not take part, and why")
    results: int = Field(description="Results of the whole answer, other namespaces and tiers included")
    took_ms: float = Field(description="Milliseconds that it took")


class ListedRecall(LoggedRecall):
    """A recall in a list of them."""

    useful: int = Field(description="Results that were found useful")
    useless: int = Field(description="How many results were rated as of no use")


class RecallPage(BaseModel):
    """A page of logged recalls, newest first."""

    items: Items[ListedRecall]
    next_cursor: NextCursor


class InAnswer(BaseModel):
    """The place of a memory in the answer of a logged recall, and what became of it."""

    rank: int = Field(description="Place in the answer, from 1")
    score: float = Field(description="What it was ranked by; larger is better")
    arms: dict[str, dict[str, float]] = Field(description="By arm that found it: rank and score")
    injected_at: datetime | None = Field(description="When the session was shown it, at the recall or later")
    hits: int | None = Field(description="How often the session has found it by its words after it was shown")
    last_hit_at: datetime | None = Field(description="When the session last found it again; null: never")
    useful: bool | None = Field(description="Whether it was of use; null: nobody has said")
    note: str | None = Field(description="A remark; null: none")
    rated_at: datetime | None = Field(description="When it was rated; null: it was not")
    rated_by: UUID | None = Field(description="The agent that rated it; null: nobody has")


class LoggedMemory(InAnswer):
    """A memory in the answer of a logged recall, and what became of it."""

    memory_id: UUID = Field(description="Id of the memory")


class MemoryRecall(InAnswer):
    """A logged recall that had a memory in its answer, and what became of that."""

    recall_id: UUID = Field(description="Id of the recall")
    at: datetime = Field(description="When it was asked")
    agent_id: UUID = Field(description="The agent that asked")
    session_id: str | None = Field(description="The conversation that asked; null: none was named")
    query: str = Field(description="The question")


class MemoryRecallPage(BaseModel):
    """A page of recalls that had a memory in their answer, newest first."""

    items: Items[MemoryRecall]
    next_cursor: NextCursor


class RecallDetail(LoggedRecall):
    """A logged recall with the memories in its answer."""

    memories: list[LoggedMemory] = Field(description="The memories in its answer")


class Rating(Model):
    """What became of a memory in the answer of a logged recall."""

    memory_id: UUID = Field(description="Id of the memory")
    useful: Flag = Field(description="Whether it was of use")
    note: Annotated[Text, Field(max_length=10_000)] | None = Field(default=None, description="A remark")


class TuneQuestion(Model):
    """A question, and the memories that answer it: their ids, or what they say, or both."""

    question: Annotated[Text, Field(min_length=1, max_length=10_000)] = Field(description="What is asked")
    ids: Annotated[list[UUID], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Ids of memories that answer it; of an earlier version: the one that holds now counts"
    )
    contents: Annotated[list[Content], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Contents of memories that answer it, word for word"
    )

    @model_validator(mode="after")
    def _is_answered(self) -> "TuneQuestion":
        if self.ids is None and self.contents is None:
            raise ValueError("ids or contents must say which memories answer the question")
        return self


class TuneInput(Model):
    """What settings of a recall are measured with."""

    questions: Annotated[list[TuneQuestion], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="Default: questions of logged recalls, with the memories that were rated useful"
    )
    k: Annotated[int, Field(ge=1, le=100), UNQUOTED] = Field(default=10, description="How many results count")
    fusion: Literal["linear", "rrf"] = Field(default="linear", description="The fusion whose weights are measured; rrf: its k, too")
    apply: Flag = Field(default=False, description="Make what is proposed the settings of the namespace: one operation")


DroppedBy = Literal["nothing", "time", "status", "filter", "arms", "relevance", "rank"]


class WhyNotInput(Model):
    """A memory that was expected, and the recall that it was expected of."""

    memory: Label = Field(description="Its id; or the name of its lineage: the version of the recall's moment, else the newest")
    recall: RecallInput = Field(description="The recall, as it is asked. It is not logged")

    @field_validator("recall")
    @classmethod
    def _of_one_namespace(cls, recall: RecallInput) -> RecallInput:
        if recall.namespaces is not None:
            raise ValueError("must not have namespaces: one memory is looked for in one namespace, that of X-Namespace")
        return recall


class RecallCheck(BaseModel):
    """Something that a memory must be before it is ranked."""

    name: str = Field(description="known_at, status, as_of, or the name of a filter")
    asked: Any = Field(description="What was asked for")
    has: Any = Field(description="What the memory has: of as_of, from when to when it is true; null: nothing")
    passes: bool = Field(description="Whether that is enough")


class ArmSaid(BaseModel):
    """What an arm made of a memory."""

    arm: str = Field(description="Name of the arm")
    rank: int | None = Field(description="Its place in the arm, from 1; null: it is not among the arm's hits")
    score: float | None = Field(description="Its score there")
    part: float | None = Field(description="What the arm adds to its score; with relative_score, what is averaged")
    hits: int = Field(description="How many the arm found")
    last_score: float | None = Field(description="Score of the last of them")
    because: str = Field(description="Why it is there, or not")


class WhyNot(BaseModel):
    """Where a memory was dropped on the way to an answer."""

    memory_id: UUID = Field(description="The memory that was looked for")
    lineage: str | None = Field(description="Name of its lineage; null: none")
    content: str = Field(description="The statement")
    dropped_by: DroppedBy = Field(
        description="The first thing that dropped it. nothing: it is in the answer; time: it was not true or not known then; "
        "status: it is forgotten; filter; arms: none found it; relevance: it is below min_relevance; rank: others are before it"
    )
    because: str = Field(description="That in a sentence")
    rank: int | None = Field(description="Its place among all hits, from 1; null: it is none")
    score: float | None = Field(description="What it is ranked by")
    hits: int = Field(description="How many hits there are in all")
    last_score: float | None = Field(description="Score of the last result of the answer; null: there is no result")
    relevance: float | None = Field(description="How likely it answers; null where it was not among the best")
    checks: list[RecallCheck] = Field(description="What it must be before it is ranked: both times, status, and each filter")
    arms: list[ArmSaid] = Field(description="What each arm made of it")
    instead: UUID | None = Field(description="Another version of its lineage that passes all checks; null: there is none")
