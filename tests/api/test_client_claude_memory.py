"""Claude's memory tool for the tool runner of Anthropic's SDK: as the SDK dispatches, and what it sees as an error.

Where the SDK is not installed the test is skipped; LOCI_RECIPES_PYTHON is another interpreter, one that has it.
"""

import os
import subprocess
import sys

import pytest

from tests.catalogue import ROOT
from tests.databases import Server
from tests.services import serve

PYTHON = os.environ.get("LOCI_RECIPES_PYTHON", sys.executable)
SCRIPT = """
import asyncio, sys
from anthropic.lib.tools import ToolError
from loci import AsyncLociClient, LociClient
from loci.claude_memory import AsyncLociMemoryTool, LociMemoryTool

client = LociClient(sys.argv[1])
tool = LociMemoryTool(client, cache_control={"type": "ephemeral"})
assert tool.to_dict() == {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
notes = "/memories/work/notes.md"

def call(**given):
    return tool.call(given)

assert call(command="view", path="/memories").endswith("0B\\t/memories")
assert notes in call(command="create", path=notes, file_text="Ada likes tea.\\n")
assert "coffee" in call(command="str_replace", path=notes, old_str="tea", new_str="coffee")
call(command="insert", path=notes, insert_line=1, insert_text="Step 2 is next.\\n")
call(command="rename", old_path=notes, new_path="/memories/notes.md")
assert "Ada likes coffee." in call(command="view", path="/memories/notes.md", view_range=[1, 1])
assert "coffee" in client.recall("What does Ada like?", k=1).memories[0].content
for refused in ({"command": "create", "path": "/memories/notes.md", "file_text": ""}, {"command": "view", "path": "/etc"}):
    try:
        tool.call(refused)
    except ToolError as error:
        print(error.content)
    else:
        raise AssertionError(refused)

async def awaited():
    async with AsyncLociClient(sys.argv[1]) as other:
        tool = AsyncLociMemoryTool(other)
        await tool.call({"command": "create", "path": "/memories/a/b/c.md", "file_text": "deep"})
        await tool.clear_all_memory()
        return await tool.call({"command": "view", "path": "/memories"})

assert asyncio.run(awaited()).endswith("0B\\t/memories")
"""


def test_the_tool_runner_of_the_sdk_finds_six_commands_and_errors_that_claude_can_read(server: Server) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client")}
    if subprocess.run([PYTHON, "-c", "import anthropic.lib.tools"], env=environment, capture_output=True, check=False).returncode:
        pytest.skip("anthropic is not installed")
    database = server.clone("claude_memory")
    with serve(database, tcp=True) as service:
        done = subprocess.run(
            [PYTHON, "-c", SCRIPT, service.url], env=environment, capture_output=True, text=True, check=False, timeout=180
        )
    server.drop(database)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "File /memories/notes.md already exists"
