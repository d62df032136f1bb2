"""The formats that can be imported, by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from service.transfer.foreign import (
    chatgpt,
    claude,
    claude_code,
    cogx,
    graphiti,
    hindsight,
    langgraph,
    letta,
    mcp_memory,
    mem0,
    note_folders,
    openmemory,
    small_formats,
    sqlite,
)
from service.transfer.foreign.records import ImportNotes, Record
from service.transfer.foreign.sources import Source

Read = Callable[[Source, ImportNotes], Iterator[Record]]


@dataclass(frozen=True)
class Format:
    """A format: how it is read, and what its system is called in what is written."""

    name: str
    title: str
    read: Read
    system: str


FORMATS = {
    each.name: each
    for each in (
        Format("mcp-memory", "the reference MCP memory server", mcp_memory.read_mcp_memory, "mcp-memory"),
        Format("mem0", "mem0: pages, table rows, its plugin's notes", mem0.read_mem0, "mem0"),
        Format("mem0-history", "mem0: its history of changes", sqlite.read_history, "mem0"),
        Format("claude-code", "Claude Code: sessions and memory files", claude_code.read_claude_code, "claude-code"),
        Format("claude", "Claude: an export", claude.read_claude, "claude"),
        Format("chatgpt", "ChatGPT: an export", chatgpt.read_chatgpt, "chatgpt"),
        Format("langgraph", "LangGraph: a store", langgraph.read_langgraph, "langgraph"),
        Format("graphiti", "Graphiti and Zep: graphs", graphiti.read_graphiti, "graphiti"),
        Format("obsidian", "Obsidian: a vault; any folder of Markdown", note_folders.read_obsidian, "obsidian"),
        Format("basic-memory", "basic-memory: a project of notes", note_folders.read_basic_memory, "basic-memory"),
        Format("okf", "OKF: a bundle of concepts", note_folders.read_okf, "okf"),
        Format("markdown", "Loci: what `loci export --format markdown` wrote", note_folders.read_markdown, "loci"),
        Format("letta", "Letta: agent files, pages, the folder of Letta Code", letta.read_letta, "letta"),
        Format("cogx", "COGX: a folder or archive", cogx.read_cogx, "cogx"),
        Format("openmemory", "OpenMemory: a backup, or its database", openmemory.read, "openmemory"),
        Format("hindsight", "Hindsight: documents with facts", hindsight.read_hindsight, "hindsight"),
        Format("supermemory", "supermemory: a dump", small_formats.read_supermemory, "supermemory"),
        Format("crewai", "CrewAI: records of its memory", small_formats.read_crewai, "crewai"),
        Format("gemini", "Gemini: Google Takeout's activity", small_formats.read_gemini, "gemini"),
    )
}
