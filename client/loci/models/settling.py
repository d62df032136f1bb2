"""Settling: which of two memories holds, where a newer one may outdate an older one."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from loci.models.fields import Id, Items, Model, NextCursor, ValidFrom
from loci.models.memories import MemoryOut

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
