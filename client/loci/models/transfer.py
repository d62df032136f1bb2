"""Transfer: what an import has written."""

from typing import Literal

from pydantic import BaseModel, Field

# What an import reads: an export of Loci, loose lines, or another system's file, told by its content or named.
ImportFormat = Literal[
    "loci",
    "auto",
    "lines",
    "mcp-memory",
    "mem0",
    "mem0-history",
    "claude-code",
    "claude",
    "chatgpt",
    "langgraph",
    "graphiti",
    "obsidian",
    "basic-memory",
    "okf",
    "markdown",
    "letta",
    "cogx",
    "openmemory",
    "hindsight",
    "supermemory",
    "crewai",
    "gemini",
]

# What an export is: all of it, or a file of Markdown for each lineage.
ExportFormat = Literal["loci", "markdown"]


class Imported(BaseModel):
    """What an import has written, by kind of line."""

    namespace: str = Field(description="Name of the namespace")
    created: bool = Field(description="Whether the namespace was made for it")
    kept: list[str] = Field(description="Where the namespace differs from the file")
    vectors: str | None = Field(description="Why those of the file were left out, if they were")
    written: dict[str, int] = Field(description="Lines that were written, by kind")
    unchanged: dict[str, int] = Field(description="Lines that were there already, by kind")
    lines: int = Field(description="Lines that were read")
    seconds: float = Field(description="Seconds that it took")


class WrongItem(BaseModel):
    """An item of a file that did not go in."""

    place: str = Field(description="Where it stands: a line, a path in the JSON, a file of an archive")
    reason: str = Field(description="What is wrong with it")


class ImportReport(BaseModel):
    """What an import of another memory system's file has written, or would write."""

    format: str = Field(description="What the file is, such as mem0")
    namespace: str = Field(description="Name of the namespace")
    dry_run: bool = Field(description="Whether nothing was written")
    written: dict[str, int] = Field(description="Items that are new, by kind: entities, memories, edges, turns, links")
    merged: dict[str, int] = Field(description="Items that say what a memory says already, by kind")
    there: dict[str, int] = Field(description="Items that were there, by kind")
    skipped: dict[str, int] = Field(description="What was left out on purpose, and how often")
    no_place: dict[str, int] = Field(description="What has no place in Loci, and how often")
    remarks: list[str] = Field(description="What readers of the report should know")
    wrong: int = Field(description="How many items are wrong")
    errors: list[WrongItem] = Field(description="Items that are wrong, the first thousand")
    seconds: float = Field(description="Seconds that it took")


class WrongLine(BaseModel):
    """A line that was not written."""

    line: int = Field(description="Its number, from 1")
    reason: str = Field(description="What is wrong with it")


class LinesImported(BaseModel):
    """What loose lines have become, or would become."""

    dry_run: bool = Field(description="Whether nothing was written")
    memories: int = Field(description="Memories that were written, or were there")
    entities: int = Field(description="Entities that were written, or were there")
    edges: int = Field(description="Edges that were observed")
    duplicates: int = Field(description="Memories that were there")
    ignored: int = Field(description="Of these, how many stated something that was not taken over")
    superseded: int = Field(description="Memories that replaced a version before")
    cut_short: int = Field(description="Memories whose validity ends where a later version begins")
    lines: int = Field(description="How many lines were read")
    wrong: int = Field(description="How many lines are wrong")
    errors: list[WrongLine] = Field(description="Lines that are wrong, the first thousand")
    seconds: float = Field(description="Seconds that it took")
