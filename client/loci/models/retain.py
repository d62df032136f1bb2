"""Retain (what becomes of the facts of a text) and reflect (orphans placed)."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AliasChoices, BaseModel, Field

from loci.models.fields import (
    UNQUOTED,
    Category,
    Confidence,
    Content,
    Flag,
    Id,
    Items,
    Label,
    Metadata,
    Model,
    Moment,
    NextCursor,
    Tags,
    Text,
    User,
    ValidFrom,
)
from loci.models.memories import MemoryOut, Unsettled
from loci.models.messages import Message
from loci.models.recall import MentionedEntity

RetainAction = Literal["create", "update", "link", "nothing"]

ContradictionSignal = Literal["negation", "antonym", "value_conflict", "temporal_marker", "change", "model"]

Decide = Annotated[
    Literal["auto", "rules", "model"],
    Field(
        description="Who decides. auto: a language model if there is one and the setting retain_model is on, and rules for what it "
        "gives no usable answer to; rules: rules alone; model: a model, or an error if it gives no answer"
    ),
]


class Retain(Model):
    """A text to take in. Only `content` is needed; the rest is said of each of its facts."""

    content: Content = Field(
        validation_alias=AliasChoices("content", "text"),
        description="Sentences, lines or bullets: each is a fact; at most 200 (setting retain_facts). `text` means the same",
    )
    category: Category | None = Field(default=None, description="Slash-separated path")
    tags: Tags | None = Field(default=None, description="Labels; their order means nothing")
    valid_from: Moment | None = Field(default=None, description="From when the facts are true; default now")
    metadata: Metadata | None = Field(default=None, description="Your own JSON object, at most 1 MiB; kept as it is")
    about: Label | None = Field(
        default=None, description="Whom or what it is about: name or id of an entity; default: what each sentence says"
    )
    source: Label | None = Field(default=None, description="Who said it; what `I` says is compared with what the same one said")
    user: User = None
    session_id: Label | None = Field(default=None, description="The conversation it comes from")
    dry_run: Flag = Field(default=False, description="Decide, and write nothing")
    decide: Decide = "auto"

    def details(self) -> dict[str, Any]:
        """What was said of the facts."""
        return {key: value for key, value in self.stated().items() if key not in {"dry_run", "decide"}}


class RetainedLink(BaseModel):
    """A link that a new memory got."""

    target_id: UUID | None = Field(description="null: a fact of this text, in a dry run")
    type: str = Field(description="Type of the link, such as explains")
    strength: float = Field(description="How strong the link is, 0 to 1")


class Decision(BaseModel):
    """What became of a fact."""

    fact: str = Field(description="The fact")
    action: RetainAction = Field(
        description="create: a memory; update: a new version of one; link: a memory linked to others; nothing: known, or a question"
    )
    memory_id: UUID | None = Field(description="The memory made or reinforced; null: would be made, or a question")
    lineage: str | None = Field(description="Name of the memory's lineage; null: would be made")
    superseded: UUID | None = Field(description="The version that it ended")
    target_id: UUID | None = Field(description="The memory that the decision is about")
    links: list[RetainedLink] = Field(description="Links of the new memory")
    confidence: Confidence
    reason: str | None = Field(description="Why, in words; null: nothing was said")
    signal: ContradictionSignal | None = Field(
        description="How the fact contradicts its target; model: only a language model says so"
    )
    unsettled: Unsettled
    decided_by: Literal["model", "rules"] = Field(description="Who decided; rules too where a guard refused what a model said")


class NotRetained(BaseModel):
    """A part of a text that no memory says."""

    fact: str = Field(description="The part")
    reason: str | None = Field(description="Why it states nothing; in a dry run also: an earlier part of the text says it")


class RetainOut(BaseModel):
    """Decisions in the order of the text, and how many of each kind."""

    decisions: list[Decision] = Field(description="One for each fact")
    created: int = Field(description="Facts that became a memory")
    updated: int = Field(description="Facts that became a new version")
    linked: int = Field(description="Facts that became a memory with links")
    unchanged: int = Field(description="Facts that were known, and what is left out")
    left_out: list[NotRetained] = Field(description="What no memory says: questions, small talk, requests, marks alone")
    dry_run: bool = Field(description="Whether nothing was written")
    skipped: dict[str, str] = Field(description="What did not take part in deciding, and why")


class Remember(Model):
    """Messages to take in. Only `messages` is needed."""

    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)] = Field(
        description="In order. What users and assistants say is cut into facts; what systems and tools say is only kept as turns"
    )
    session: Label | None = Field(
        default=None,
        validation_alias=AliasChoices("session", "session_id"),
        description="The conversation, whose turns they become; without one no turns are kept. Turns that it begins with already "
        "are not taken in again. `session_id` means the same",
    )
    source: Label | None = Field(
        default=None,
        description="Who the user is; default: the name in the message, or `user`. An assistant is `assistant`",
    )
    user: User = None
    category: Category | None = Field(default=None, description="Slash-separated path, of the facts")
    tags: Tags | None = Field(default=None, description="Labels of the facts; their order means nothing")
    valid_from: Moment | None = Field(default=None, description="From when the facts are true; default: when they were said")
    dry_run: Flag = Field(default=False, description="Decide, and write nothing")
    decide: Decide = "auto"


class RememberedFact(Decision):
    """What became of a fact of a message."""

    message: int = Field(description="Place of its message among those of the request, from 0")
    source: str = Field(description="Who said it; `assistant`: an assistant, which ends nothing that others told")


class NotRemembered(NotRetained):
    """A part of a message that no memory says."""

    message: int = Field(description="Place of its message among those of the request, from 0")


class RememberOut(RetainOut):
    """What became of messages: turns that are kept, and decisions about facts in the order of the messages."""

    session: str | None = Field(description="The conversation; null: none was named")
    turns: int = Field(description="Turns that were kept; in a dry run: would be")
    known_turns: int = Field(description="Messages that the conversation had already")
    decisions: list[RememberedFact] = Field(description="One for each fact")  # type: ignore[assignment]  # more is said of each
    left_out: list[NotRemembered] = Field(description="What no memory says, with its message")  # type: ignore[assignment]
    entities: list[MentionedEntity] = Field(description="Entities that the messages name, as far as they are known")


class Reflect(Model):
    """Which orphans to look at."""

    dry_run: Flag = Field(default=False, description="Plan, and write nothing")
    limit: Annotated[int, Field(ge=1, le=1000), UNQUOTED] = Field(default=200, description="Orphans to look at in this call")
    category: Category | None = Field(default=None, description="Only those of this category and below it")
    cursor: Annotated[Text | None, Field(max_length=1000, description="`next_cursor` of the call before")] = None
    decide: Decide = "auto"


class Placed(BaseModel):
    """A memory that got a place."""

    memory_id: UUID = Field(description="Id of the memory")
    parent_id: UUID | None = Field(description="null: would be made")
    parent: str = Field(description="Lineage of the parent")
    similarity: float | None = Field(description="Cosine similarity; null: not by meaning")
    reason: str = Field(description="Why there")


class Linked(BaseModel):
    """A link between related memories."""

    source_id: UUID = Field(description="The memory that it starts at")
    target_id: UUID = Field(description="The memory that it leads to")
    type: str = Field(description="Type of the link, such as explains")
    strength: float = Field(description="How strong the link is, 0 to 1")


class Summarised(BaseModel):
    """A concept that got a summary, as a new version."""

    id: UUID | None = Field(description="The new version; null: would be made")
    lineage: str = Field(description="Name of the concept's lineage")
    content: str = Field(description="Its title, and the summary below")


class RefusedChange(BaseModel):
    """What a model proposed and a guard refused."""

    guard: str = Field(description="Which guard refused it")
    action: str = Field(description="What was proposed: place, concept, link or summary")
    ids: list[str] = Field(description="The memories that it was about")
    reason: str = Field(description="Why, in words")


class Made(BaseModel):
    """A domain or concept made for a category, or because a model saw that memories belong together."""

    id: UUID | None = Field(description="Its id (UUID); null: would be made")
    lineage: str = Field(description="Name of its lineage")
    content: str = Field(description="The statement")
    layer: int = Field(description="0 domain, 1 concept, 2 fact, 3 episode")
    path: str | None = Field(default=None, description="The category that it is made for; null: a model proposed it")
    parent_id: UUID | None = Field(default=None, description="The memory that it stands under; null: none")
    parent: str | None = Field(default=None, description="Lineage of what it stands under")


class ReflectOut(BaseModel):
    """What was placed, linked and made, or in a dry run would be."""

    placed: list[Placed] = Field(description="Memories that got a place")
    linked: list[Linked] = Field(description="Links that were made")
    created: list[Made] = Field(description="Concepts that were made")
    summarised: list[Summarised] = Field(description="Concepts that got a summary")
    visited: int = Field(description="How many orphans were looked at")
    orphans_left: int = Field(description="Of those visited: no place was found")
    next_cursor: str | None = Field(description="For the orphans that are left; null: all were visited")
    dry_run: bool = Field(description="Whether nothing was written")
    refused: list[RefusedChange] = Field(description="What a model proposed and a guard refused; rules decided instead")
    skipped: dict[str, str] = Field(description="What did not take part, and why")


Verdict = Annotated[
    Literal["replaces", "corrects", "both_true"],
    Field(
        description="replaces: the older one was true until the newer one began; corrects: the older one was never true; "
        "both_true: both hold"
    ),
]


class SettleInput(Model):
    """Which of two memories holds."""

    older: UUID = Field(description="The memory that the newer one may outdate")
    verdict: Verdict


class Settled(BaseModel):
    """Two memories as they are now, and what was said of them."""

    newer: MemoryOut = Field(description="The newer memory")
    older: MemoryOut = Field(description="The older memory")
    verdict: Verdict


class PairSide(BaseModel):
    """A memory of a pair."""

    id: Id
    content: str = Field(description="The statement")
    valid_from: ValidFrom
    category: str = Field(description="Slash-separated path")
    about: str | None = Field(description="Whom or what it is about; null: nobody")
    source: str | None = Field(description="Who said it; null: nobody was named")


class UnsettledPair(BaseModel):
    """Two memories of which the newer one may outdate the older one."""

    newer: PairSide = Field(description="What was told later")
    older: PairSide = Field(description="What it may outdate")
    similarity: float = Field(description="How near both are by meaning, or how sure a rule is")


class UnsettledPage(BaseModel):
    """A page of open pairs, newest first."""

    items: Items[UnsettledPair]
    next_cursor: NextCursor
