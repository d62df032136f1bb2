"""The session of an agent, run by the official TypeScript SDK, in Node."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.api.agent import STEPS
from tests.catalogue import ROOT
from tests.databases import Server
from tests.services import serve

SDK = ROOT / "web" / "node_modules" / "@modelcontextprotocol" / "sdk" / "dist" / "esm" / "client"
SCRIPT = """
import assert from "node:assert";
import { readFileSync } from "node:fs";
const [sdk, url, steps] = process.argv.slice(2);
const { Client } = await import(`${sdk}/index.js`);
const { StreamableHTTPClientTransport } = await import(`${sdk}/streamableHttp.js`);

const client = new Client({ name: "agent", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const ids = {};
for (const [tool, stated, reads, lacks, keeps, fails] of JSON.parse(readFileSync(steps))) {
  const filled = Object.entries(stated).map(([name, value]) => [name, `${value}`[0] === "$" ? ids[value.slice(1)] : value]);
  const result = await client.callTool({ name: tool, arguments: Object.fromEntries(filled) });
  const [{ text }] = result.content;
  assert.equal(Boolean(result.isError), fails, text);
  for (const words of reads) assert.ok(text.includes(words), `${tool} lacks ${words}: ${text}`);
  for (const words of lacks) assert.ok(!text.includes(words), `${tool} says ${words}: ${text}`);
  if (keeps) ids[keeps] = result.structuredContent.id;
}
await client.close();
console.log(tools.length);
"""


@pytest.mark.release
@pytest.mark.parametrize(("path", "tools"), [("mcp", 22), ("mcp/small", 8)])
def test_the_session_of_an_agent_runs_by_the_typescript_sdk(
    server: Server, built: None, tmp_path: Path, path: str, tools: int
) -> None:
    node = pytest.importorskip("tests.page.browser", reason="there is no Node for this machine").node()
    (script := tmp_path / "session.mjs").write_text(SCRIPT)
    (steps := tmp_path / "steps.json").write_text(json.dumps(STEPS))
    database = server.clone("agent")
    with serve(database, tcp=True, embedding={"provider": "static"}) as service:
        called = [node, script, SDK.as_uri(), f"{service.url}/{path}", steps]
        done = subprocess.run(called, capture_output=True, text=True, check=False, timeout=120)
    server.drop(database)
    assert (done.returncode, done.stdout.strip()) == (0, str(tools)), done.stderr
