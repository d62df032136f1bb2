"""The TypeScript client as its package: built, packed, installed into a project of its own, compiled against, and run by Node."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from loci import LociClient
from loci.version import __version__
from service.app import create_app
from service.settings import Settings
from tests.catalogue import ROOT
from tests.databases import Server
from tests.docs.test_blocks import blocks
from tests.page.browser import node
from tests.services import serve

BUILD = ROOT / "web" / "build.py"
OTHERWISE = {  # groups, or calls of one, that the TypeScript client has not: they send or read piece by piece, or no JSON
    "transfer": None, "models": {"projectMemories"}, "server": {"metrics"}, "memories": {"writeMany"}, "operations": {"watch"},
}  # fmt: skip
TYPED = """
import { Fault, LociClient, type Message } from "loci-client";
const client = new LociClient({ key: "k" });
const id: string = (await client.memories.write("x", { tags: ["a"] })).id;
const told: Message[] = [{ role: "user", content: "x" }];
const turns: number = (await client.remember(told, { session: "s" })).turns;
const slug: string = new Fault(404, id + turns).slug;
// @ts-expect-error a recall has no such field
client.recall(slug, { key: 3 });
// @ts-expect-error k is a number
client.recall("q", { k: "three" });
// @ts-expect-error a memory's content is a text
const wrong: number = (await client.memories.get("x")).content;
const said: string | undefined = (await client.recall("q", { k: 1 })).results[0]?.content;
const known: string[] = (await client.recall("q")).results.map((memory) => memory.content + memory.lineage);
const mixed = (await client.recall("q", { arms: ["lexical", "working_memory"] })).results;
const words: (string | undefined)[] = mixed.map((result) => result.content ?? result.key);
const turns_said: number = mixed.filter((result) => result.tier === "conversation").length;
// @ts-expect-error an entry of working memory has no content
const always: string[] = mixed.map((result) => result.content);
export { always, known, said, turns_said, words, wrong };
"""
SCRIPT = """
import assert from "node:assert";
import { Fault, LociClient } from "CLIENT";

const client = new LociClient({ url: "URL/", namespace: "ts" });
await client.namespaces.create("ts");
const first = await client.memories.write("Ada lives in Oslo.", { lineage: "a/city", tags: ["home"] });
const second = await client.memories.write("Ada lives in Bergen.", { lineage: "a/city", entities: [{ name: "Ada", type: "person" }] });
assert.deepEqual([first.version, second.superseded], [1, first.id]);
assert.equal((await client.recall("Where does Ada live?", { k: 1 })).results[0].content, "Ada lives in Bergen.");
assert.match((await client.context("Ada?", { session_id: "s" })).text, /Bergen/);
assert.ok((await client.retain("Ada plays the piano.")).decisions.length > 0);
const talk = [{ role: "user", content: "I bake bread." }, { role: "assistant", content: [{ type: "text", text: "Lovely." }] }];
assert.equal((await client.remember(talk, { session: "s/1" })).turns, 2);
assert.equal((await client.remember("I play chess.", { session: "s/1" })).turns, 1);
assert.deepEqual((await client.memories.history("a/city")).items.map((m) => m.version), [1, 2]);
assert.equal((await client.memories.list({ tag: ["home", "other"], all_versions: true })).items.length, 2);
assert.equal((await client.graph.getEntity("Ada")).type, "person");
await client.graph.observeEdge({ source: "Ada", type: "knows", target: "Bob" });
assert.equal((await client.graph.traverse(["Ada"])).edges.length, 1);
await client.sessions.addTurns("s/1", [{ role: "user", content: "Hello" }]);
assert.equal((await client.sessions.listTurns("s/1")).items.at(-1).content, "Hello");
await client.sessions.saveEntry("k", { value: { a: 1 } });
assert.equal((await client.sessions.getEntry("k")).value.a, 1);
await client.sessions.deleteEntry("k");
assert.ok((await client.operations.list()).items.length > 5);
assert.equal((await client.server.health()).status, "ok");
assert.equal((await client.inNamespace("default").memories.list()).items.length, 0);
await assert.rejects(client.memories.get("nothing"), (e) => e instanceof Fault && e.status === 404 && e.slug === "not-found");
await assert.rejects(client.memories.write(""), (e) => e.status === 422 && /content/.test(e.message));
await assert.rejects(new LociClient({ url: "http://127.0.0.1:1" }).recall("x"), (e) => e.status === 0 && e.away);
const names = Object.entries(client).map(([group, calls]) => [group, Object.keys(calls)]);
console.log(JSON.stringify(Object.fromEntries(names)));
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has installed the package, and nothing else."""
    folder = tmp_path_factory.mktemp("project")
    document = folder / "openapi.json"
    settings = Settings(_env_file=None, embedding={"provider": "none"})
    document.write_text(json.dumps(create_app(settings, "postgresql://").openapi()))
    subprocess.run([sys.executable, BUILD, "--client", document, "--to", folder], check=True)
    (folder / "package.json").write_text('{"name": "project", "type": "module", "private": true}')
    npm = next(node().parent.parent.glob("lib/node_modules/npm/bin/npm-cli.js"))
    done = run(folder, str(npm), "install", "--offline", "--no-audit", f"./loci-client-{__version__}.tgz")
    assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program with Node."""
    return subprocess.run([node(), *arguments], cwd=folder, capture_output=True, text=True, check=False)


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


@pytest.mark.release
@pytest.mark.row("X11")
def test_the_package_is_esm_for_node_and_browsers_and_brings_its_types(project: Path) -> None:
    installed = project / "node_modules" / "loci-client"
    assert json.loads((installed / "package.json").read_text())["version"] == __version__
    assert {path.name for path in installed.iterdir()} == {"dist", "README.md", "package.json"}
    code = "".join(path.read_text() for path in installed.glob("dist/*.js"))
    assert set(re.findall(r'from "([^"]+)"', code)) == {"./calls.js", "./groups.js"}  # nothing of Node's own
    examples = {f"example{number}.ts": block.text for number, block in enumerate(each for each in blocks() if each.kind == "ts")}
    assert examples
    for name, text in {"typed.ts": TYPED, **examples}.items():
        (project / name).write_text(text)
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--skipDefaultLibCheck"]
    tsc = str(ROOT / "web/node_modules/typescript/bin/tsc")  # bundlers resolve what Node does
    done = run(project, tsc, *options, "typed.ts", *examples)
    assert done.returncode == 0, done.stdout


@pytest.mark.release
@pytest.mark.row("X11")
def test_the_client_does_what_its_verbs_say_and_has_the_groups_and_names_of_the_python_client(
    server: Server, project: Path
) -> None:
    database = server.clone("typescript")
    (script := project / "script.mjs").write_text(SCRIPT.replace("CLIENT", "loci-client"))
    with serve(database, tcp=True) as service:
        script.write_text(script.read_text().replace("URL", service.url))
        done = run(project, str(script))
    server.drop(database)
    assert done.returncode == 0, done.stderr
    has = {group: set(calls) for group, calls in json.loads(done.stdout).items()}
    wanted: dict[str, set[str]] = {}
    with LociClient() as python:
        for group in [
            name for name in dir(type(python)) if not name.startswith("_") and isinstance(getattr(type(python), name), property)
        ]:
            found = type(getattr(python, group))
            if OTHERWISE.get(group, set()) is not None:
                wanted[group] = {camel(name) for name in dir(found) if not name.startswith("_")} - (OTHERWISE.get(group) or set())
    assert has == wanted
