"""The six commands of Claude's memory tool (memory_20250818) as tools, over files in a namespace."""

from typing import Annotated

from pydantic import Field

from db.pool import Transaction
from loci.models.fields import Text
from service.mcp.profiles import files
from service.mcp.profiles.profile import Loose, OwnTool, Profile, Work, own_tool
from service.mcp.result_texts import JsonObject, Shown, on_its_lines
from service.mcp.tool import Kind, schema_of

NAME = "claude-memory"
INSTRUCTIONS = (
    "Your memory directory is /memories. View it before anything else: it may hold the progress of earlier conversations. Write "
    "down what is worth keeping as you go; what is not in a file is lost when the conversation ends."
)
Path = Annotated[Text, Field(description="Path that begins with /memories")]


class View(Loose):
    """The file or folder to look at."""

    path: Path
    view_range: list[int] | None = Field(
        None, min_length=2, max_length=2, description="First and last line, from 1; -1 is the end of the file"
    )


class Create(Loose):
    """A file to create."""

    path: Path
    file_text: Text = Field(description="What the file says")


class Replace(Loose):
    """A text to replace."""

    path: Path
    old_str: Text = Field(description="Text that the file has exactly once")
    new_str: Text = Field("", description="What takes its place")


class Insert(Loose):
    """A text to insert."""

    path: Path
    insert_line: int = Field(description="The line that it comes after; 0: before the first")
    insert_text: Text = Field(description="Text to insert")


class Delete(Loose):
    """The file or folder to delete."""

    path: Path


class Rename(Loose):
    """The file or folder to move."""

    old_path: Path
    new_path: Path


async def _view_path(tx: Transaction, body: View) -> JsonObject:
    return {"content": await files.view_path(tx, body.path, body.view_range)}


async def _create_file(tx: Transaction, body: Create) -> JsonObject:
    return {"content": await files.create_file(tx, body.path, body.file_text)}


async def _replace_text(tx: Transaction, body: Replace) -> JsonObject:
    return {"content": await files.str_replace(tx, body.path, body.old_str, body.new_str)}


async def _insert_text(tx: Transaction, body: Insert) -> JsonObject:
    return {"content": await files.insert_text(tx, body.path, body.insert_line, body.insert_text)}


async def _delete_path(tx: Transaction, body: Delete) -> JsonObject:
    return {"content": await files.delete_path(tx, body.path)}


async def _rename_path(tx: Transaction, body: Rename) -> JsonObject:
    return {"content": await files.rename_path(tx, body.old_path, body.new_path)}


def _show_text(reply: JsonObject) -> Shown:
    return on_its_lines(reply["content"]), {}


def _make_tool(name: str, kind: Kind, description: str, arguments: type[Loose], work: Work) -> OwnTool:
    return own_tool(NAME, name, kind, description, arguments, work, _show_text, schema=schema_of(arguments))


OWN = (
    _make_tool("view", "looks", "Show a memory file with line numbers, or the files and folders in a folder.", View, _view_path),
    _make_tool("create", "adds", "Create a memory file; one that is there already is never overwritten.", Create, _create_file),
    _make_tool("str_replace", "changes", "Replace a text that stands exactly once in a memory file.", Replace, _replace_text),
    _make_tool("insert", "adds", "Insert a text behind a line of a memory file.", Insert, _insert_text),
    _make_tool("delete", "deletes", "Delete a memory file, or a folder with everything in it.", Delete, _delete_path),
    _make_tool("rename", "changes", "Rename or move a memory file or folder.", Rename, _rename_path),
)
PROFILE = Profile(NAME, NAME, "Loci as Claude's memory", {own.tool.name: own.tool for own in OWN}, INSTRUCTIONS)
