"""The hierarchy: memories above and under others."""

from pydantic import BaseModel, Field

from loci.models.fields import Items, NextCursor
from loci.models.memories import MemoryOut


class PlacedMemory(MemoryOut):
    """A memory above or under another."""

    depth: int = Field(description="Steps to the memory that was asked about")


class PlacedPage(BaseModel):
    """A page of memories above or under another, nearest first."""

    items: Items[PlacedMemory]
    next_cursor: NextCursor
