"""What other memory systems write, in a few words of our own: a sample of each format, good items beside broken ones."""

import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Sample:
    """Files (one without a path is given by itself), what they are, what comes of them, and where they are wrong."""

    name: str
    format: str
    files: dict[str, str]
    made: dict[str, int]
    wrong: tuple[str, ...] = ()
    lost: tuple[str, ...] = field(default=())

    def write(self, folder: Path) -> Path:
        """Put it on disk; where it is. Names of files say nothing."""
        folder.mkdir(exist_ok=True)
        if "" in self.files:
            path = folder / f"{self.name}.sample"
            path.write_text(self.files[""], encoding="utf-8", newline="")
            return path
        for name, text in self.files.items():
            path = folder / self.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder / self.name


def rows(*items: Any) -> str:
    return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in items)


def one(text: Any) -> dict[str, str]:
    return {"": text if isinstance(text, str) else json.dumps(text)}


MCP = rows(
    {
        "type": "entity",
        "name": "Ada Byron",
        "entityType": "person",
        "observations": ["Writes notes on the engine", "Plays the harp"],
    },
    {"type": "entity", "name": "ada byron", "entityType": "", "observations": ["Plays the harp"]},
    {"type": "entity", "name": "Engine", "entityType": "machine", "observations": "text where a list is due"},
    '{"type":"entity","name":"Engi{"type":"entity"',
    {"type": "relation", "from": "Ada Byron", "to": "Engine", "relationType": "writes about"},
    {"type": "relation", "from": "Ada Byron", "relationType": "writes about"},
)
MEM0 = {
    "results": [
        {
            "id": "m-1",
            "memory": "Ada lives in London",
            "created_at": "2026-01-02T03:04:05-08:00",
            "updated_at": None,
            "user_id": "ada",
            "run_id": "r1",
            "hash": "x",
        },
        {
            "id": "m-2",
            "memory": "The ticket is good until June",
            "created_at": "2026-04-01T10:00:00",
            "expiration_date": "2026-06-30",
            "metadata": {"category": "travel"},
        },
        {"id": "m-1", "memory": "the same id, other words"},
        {"id": "m-4", "memory": {"text": "no text"}},
        "a bare string",
    ],
    "relations": [{"source": "user_id:_ada", "relationship": "lives_in", "destination": "london"}],
}
MEM0_ROWS = rows(
    {"id": "m-1", "payload": {"data": "Ada lives in London", "user_id": "ada", "topic": "home"}},
    {"id": "e-1", "payload": {"data": "London", "entity_type": "PROPER", "linked_memory_ids": ["m-1"]}},
    {"id": "m-3", "payload": {"user_id": "ada"}},
)
MEM0_PLUGIN = "---\nid: p-1\ncreated_at: 2026-01-12T08:03:11+00:00\ncategories: a, b\n---\nFirst this:\n---\nthen that.\n\n---\nid: p-2\n---\nMore.\n"
SESSION = rows(
    {"type": "mode", "sessionId": "s-1"},
    {
        "type": "user",
        "uuid": "u1",
        "sessionId": "s-1",
        "timestamp": "2026-02-20T09:00:00Z",
        "cwd": "/home/ada/engine",
        "message": {"role": "user", "content": "Turn the wheel. <system-reminder>not hers</system-reminder>"},
    },
    {
        "type": "assistant",
        "uuid": "a1",
        "sessionId": "s-1",
        "message": {"id": "x", "content": [{"type": "thinking", "thinking": "hm"}]},
    },
    {"type": "assistant", "uuid": "a2", "sessionId": "s-1", "message": {"id": "x", "content": [{"type": "text", "text": "It"}]}},
    {
        "type": "assistant",
        "uuid": "a3",
        "sessionId": "s-1",
        "message": {"id": "x", "content": [{"type": "text", "text": "turns."}]},
    },
    {"type": "user", "uuid": "u2", "sessionId": "s-1", "message": {"content": [{"type": "tool_result", "content": "secret"}]}},
    {"type": "user", "uuid": "u1", "sessionId": "s-1", "message": {"content": "a resumed session repeats its lines"}},
    {
        "type": "user",
        "uuid": "u3",
        "sessionId": "s-1",
        "timestamp": "2026-02-20T10:00:00Z",
        "isCompactSummary": True,
        "message": {"content": "The wheel was turned."},
    },
    {"type": "assistant", "uuid": "a4", "sessionId": "s-1", "message": "text where an object is due"},
    '{"type":"user","uuid":"u4","mess',
)
CODE_MEMORY = {
    "MEMORY.md": "- [Wheel](wheel.md)\n",
    "wheel.md": "---\nname: the-wheel\nmetadata:\n  node_type: memory\n  type: project\n---\nTurn it left. See [[ada]] and [[nobody]].\n",
    "ada.md": "---\nname: Ada\ntype: user\n---\nShe turns wheels.\n",
    "broken.md": '---\nname: "never closed\n---\nx\n',
}
ZERO = "00000000-0000-4000-8000-000000000000"
CLAUDE = [
    {
        "uuid": "c-1",
        "name": "Wheels",
        "chat_messages": [
            {"uuid": "1", "sender": "human", "text": "How?", "content": [], "created_at": "2026-01-12T08:00:01Z", "attachments": [{"extracted_content": "a long paste"}], "parent_message_uuid": ZERO},
            {"uuid": "2", "sender": "assistant", "text": "So.", "created_at": "2026-01-12T08:00:02Z", "parent_message_uuid": "1"},
            {"uuid": "3", "sender": "assistant", "text": "", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Like this."}], "created_at": "2026-01-12T08:00:03Z", "parent_message_uuid": "1"},
        ],
    },
    {"uuid": "c-2", "chat_messages": []},
    {"uuid": "c-3", "chat_messages": [{"uuid": "9", "sender": "human", "text": "x", "parent_message_uuid": "9"}]},
]  # fmt: skip
CLAUDE_MEMORIES = [
    {"conversations_memory": "**Work**\n\nAda turns wheels.\n\n**Home**\n\nLives in London.", "project_memories": {"p-1": {"text": "no text"}, "p-2": "words without a heading"}, "account_uuid": "acc",
     "memory_files": [{"path": "/areas/wheel.md", "content": "left", "updated_at": "2026-03-30T18:00:00Z"}, {"path": "../out.md", "content": "x"}]}
]  # fmt: skip


def message(key: str, role: str, text: Any, parent: str | None, **more: Any) -> dict[str, Any]:
    said = {
        "id": key,
        "author": {"role": role},
        "create_time": 1768204801.5,
        "content": {"content_type": "text", "parts": text},
        **more,
    }
    return {"id": key, "message": said, "parent": parent}


CHATGPT = [
    {
        "conversation_id": "g-1",
        "title": "Wheels",
        "current_node": "4",
        "mapping": {
            "0": {"id": "0", "message": None, "parent": None},
            "1": message("1", "user", [{"content_type": "image"}, "How?"], "0"),
            "2": message("2", "assistant", ["given up"], "1"),
            "3": message("3", "assistant", ["Ada turns wheels."], "1", recipient="bio"),
            "4": message("4", "assistant", ["Like this.\ue200cite\ue201"], "3"),
        },
    },
    {"conversation_id": "g-2", "current_node": "a", "mapping": {"a": {"id": "a", "parent": "b"}, "b": {"id": "b", "parent": "a"}}},
    {"conversation_id": "g-3", "current_node": "gone", "mapping": {}},
    {"conversation_id": "g-4", "is_do_not_remember": True, "mapping": {}},
]  # fmt: skip
LANGGRAPH = rows(
    {
        "prefix": "memories.ada",
        "key": "1",
        "value": {"content": "Ada lives in London"},
        "created_at": "2026-01-12T08:03:11+00:00",
        "ttl_minutes": 5,
    },
    {
        "prefix": "memories.ada",
        "key": "2",
        "value": {"kind": "Triple", "content": {"subject": "Ada", "predicate": "lives_in", "object": "London"}},
    },
    {
        "prefix": "cache",
        "key": "3",
        "value": {"text": "rain"},
        "created_at": "2026-04-01T10:00:00+00:00",
        "expires_at": "2026-04-01T11:00:00+00:00",
    },
    {"prefix": "memories..ada", "key": "4", "value": {"content": "an empty label"}},
    {"prefix": "memories.ada", "key": "5", "value": "text where an object is due"},
)
GRAPHITI = {
    "episodes": [{"uuid": "e-1", "name": "talk", "content": "Ada: I moved.", "valid_at": "2026-01-12T08:00:00Z", "source_description": "chat"}],
    "entities": [
        {"uuid": "n-1", "name": "Ada", "labels": ["Entity", "Person"], "summary": "Turns wheels", "name_embedding": [0.1]},
        {"uuid": "n-2", "name": "London", "labels": ["Entity", "Entity_g"]},
        {"uuid": "n-3", "labels": ["Entity"]},
    ],
    "edges": [
        {"uuid": "f-1", "name": "LIVES_IN", "fact": "Ada lives in London", "source_node_uuid": "n-1", "target_node_uuid": "n-2", "valid_at": "2026-01-01T00:00:00Z", "invalid_at": "2026-03-01T00:00:00Z", "created_at": "2026-01-12T08:00:11Z", "episodes": ["e-1"]},
        {"uuid": "f-2", "name": "LIVES_IN", "fact": "Ada is in London again", "source_node_uuid": "n-1", "target_node_uuid": "n-2", "valid_at": "2026-05-01T00:00:00Z", "created_at": "2026-05-02T08:00:11Z"},
        {"uuid": "f-3", "name": "SAW", "fact": "points at nothing", "source_node_uuid": "n-1", "target_node_uuid": "n-9"},
        {"uuid": "f-4", "name": "SAW", "fact": "ends first", "source_node_uuid": "n-1", "target_node_uuid": "n-2", "valid_at": "2026-03-01T00:00:00Z", "invalid_at": "2026-01-01T00:00:00Z"},
    ],
}  # fmt: skip
APOC = rows(
    {"type": "node", "labels": ["Entity"], "properties": {"uuid": "n-1", "name": "Ada", "group_id": "g"}},
    {"type": "node", "labels": ["Community"], "properties": {"uuid": "k-1", "name": "All"}},
    {
        "type": "relationship",
        "label": "RELATES_TO",
        "properties": {
            "uuid": "f-9",
            "name": "KNOWS",
            "fact": "Ada knows herself",
            "source_node_uuid": "n-1",
            "target_node_uuid": "n-1",
        },
    },
)
OBSIDIAN = {
    ".obsidian/app.json": "{}",
    "Wheels/Left.md": '---\naliases: [the left one]\ntags: [turning]\nowner: "[[Ada]]"\n---\nSee [[Ada|her]], [[Nowhere]] and ![[wheel.png]]. #wheel #2026 `#code`\n%% hidden %%\n',
    "Ada.md": "Turns [[Left]]. [Also](Wheels/Left.md)\n",
    "broken.md": "---\ntags: x\nnever closed\n",
}
BASIC = {
    "engine.md": '---\ntitle: Engine\ntype: machine\npermalink: things/engine\ncreated: 2026-01-12\n---\n- [fact] It turns #wheel (mostly)\n- [x] a task\n- [00:01:02] a time\n- made_by [[Ada]]\n- "grew out of" [[Loom|a loom]]\n\nSee [[Ada]].\n',
    "ada.md": "- [habit] Works at night #late\n",
}
OKF = {
    "index.md": '---\nokf_version: "0.2"\n---\n- [Ada](/people/ada.md)\n',
    "people/ada.md": "---\ntype: Person\ntitle: Ada\ngenerated: {by: agent/1, at: 2026-01-12T09:05:00+01:00}\n---\nMade [the engine](/engine.md). [Out](../../out.md)\n",
    "engine.md": "---\ntype: Machine\nstatus: deprecated\ngenerated: {at: 2026-01-12T09:05:00+01:00}\n---\nIt turned.\n",
    "no.md": "---\ntitle: no type\n---\nx\n",
}
LETTA = {
    "agents": [
        {"name": "desk", "block_ids": ["b-0", "b-9"], "agent_type": "x", "secrets": {"KEY": ""}, "messages": [
            {"role": "user", "content": [{"type": "text", "text": '{"type": "user_message", "message": "I moved."}'}], "created_at": "2026-01-12T08:00:05+00:00"},
            {"role": "user", "content": [{"type": "text", "text": '{"type": "login"}'}]},
            {"role": "assistant", "content": "a thought", "tool_calls": [{"function": {"name": "send_message", "arguments": '{"message": "Welcome."}'}}], "created_at": "2026-01-12T08:00:07+00:00"},
            {"role": "narrator", "content": "unknown"},
        ]},
    ],
    "blocks": [{"id": "b-0", "label": "human", "value": "Ada", "limit": 5}, {"id": "b-0", "label": "human", "value": "twice"}],
    "tools": [{"name": "send_message"}],
}  # fmt: skip
PASSAGES = [
    {
        "id": "passage-1",
        "text": "The engine was moved.",
        "tags": None,
        "archive_id": "a",
        "is_deleted": False,
        "created_at": "2026-01-01T00:00:00Z",
        "embedding": [0.1],
    },
    {"id": "passage-2", "text": "gone", "tags": [], "is_deleted": True},
]
COGX = {
    "manifest.json": json.dumps({"cogx_version": "0.1", "counts": {"fact": 2}}),
    "entities.jsonl": rows({"kind": "entity", "external_id": "n-1", "name": "Ada", "entity_type": "Person"}),
    "facts.jsonl": rows(
        {
            "kind": "fact",
            "external_id": "f-1",
            "external_system": "zep",
            "subject_ref": "n-1",
            "predicate": "uses",
            "object_ref": "Loom",
            "invalid_at": "2026-02-20T00:00:00Z",
        },
        {"kind": "fact", "external_id": "f-2", "subject_ref": "n-1", "predicate": "uses", "object_ref": "Pen", "confidence": 7},
        {"kind": "rumour", "external_id": "f-3"},
    ),
    "episodes.jsonl": rows(
        {
            "kind": "episode",
            "external_id": "t-1",
            "scope": {"session_id": "s"},
            "turns": [{"role": "user", "content": "Hello."}, {"role": "user", "content": ""}],
        }
    ),
    "permissions.json": "{ never opened",
}

OPENMEMORY = rows(
    {"id": "o-1", "content": "Ada sings", "state": "active", "app": "desk", "categories": ["Home"]},
    {"id": "o-2", "content": "Lives in Paris", "state": "archived", "app": "desk", "created_at": "2025-06-02T09:00:00+00:00"},
    {"id": "o-3", "content": "Gone", "state": "deleted", "app": "desk"},
    {"id": "o-4", "content": "Unknown", "state": "snoozed", "app": "desk"},
)
CREWAI = [
    {"id": "w-1", "content": "Ada sings", "scope": "/team/ada", "categories": ["people"], "importance": 0.8, "embedding": [0.1]},
    {"id": "w-2", "content": "Ada hums", "scope": "no slash", "importance": 0.5},
]
SUPERMEMORY = {
    "documents": [{"id": "d-1", "content": "Ada: I moved.", "source": "desk", "createdAt": "2026-03-02T17:00:00Z"}],
    "memories": [
        {"id": "k-2", "memory": "Ada lives in London", "version": 2, "rootMemoryId": "k-1", "isLatest": True, "createdAt": "2026-03-02T17:00:00Z"},
        {"id": "k-1", "memory": "Ada lives in Paris", "version": 1, "isLatest": False, "createdAt": "2025-03-02T17:00:00Z"},
        {"id": "k-3", "memory": "She packed", "version": 1, "isLatest": True, "memoryRelations": {"k-2": "extends"}},
        {"id": "k-4", "memory": "of itself", "version": 2, "parentMemoryId": "k-4"},
    ],
}  # fmt: skip
GEMINI = [
    {
        "header": "Gemini Apps",
        "title": "Prompted How?",
        "time": "2026-02-20T09:30:00Z",
        "safeHtmlItem": [{"html": "<p>Like <b>this</b>.</p><script>no</script>"}],
    },
    {"header": "Search", "title": "Searched", "time": "2026-02-20T09:30:00Z"},
    {"header": "Gemini Apps", "title": "Prompted", "time": "20 Feb"},
]
HINDSIGHT = {
    "manifest.json": json.dumps({"schema_version": 1, "source_bank_id": "ada"}),
    "documents/000000.json": json.dumps({
        "id": "a chat",
        "original_text": "The loom broke, so we stopped.",
        "facts": [
            {"text": "The loom broke", "fact_type": "world", "entities": ["Loom"]},
            {"text": "Work stopped", "fact_type": "experience", "causal_relations": [{"relation_type": "caused_by", "target_fact_index": 0}]},
            {"text": "No such cause", "fact_type": "world", "causal_relations": [{"relation_type": "caused_by", "target_fact_index": 9}]},
        ],
    }),
    "observations.json": json.dumps([{"text": "Looms break.", "proof_count": 1, "sources": [{"document_id": "a chat", "fact_index": 0}]}]),
}  # fmt: skip

SAMPLES = [
    Sample("mcp-lines", "mcp-memory", one(MCP), {"Entity": 2, "Memory": 3, "Edge": 1}, ("line 3", "line 6", "line 4")),
    Sample("mcp-graph", "mcp-memory", one({"entities": [{"name": "Ada", "entityType": "person", "observations": ["Sings"]}], "relations": [{"from_id": "Ada", "to_id": "Loom", "relation_type": "uses"}]}), {"Entity": 1, "Memory": 1, "Edge": 1}),
    Sample("mem0-page", "mem0", one(MEM0), {"Memory": 3, "Edge": 1}, ("results[3]", "results[4]"), ("hash",)),
    Sample("mem0-rows", "mem0", one(MEM0_ROWS), {"Memory": 1, "Entity": 1}),
    Sample("mem0-plugin", "mem0", one(MEM0_PLUGIN), {"Memory": 2}),
    Sample("claude-code-session", "claude-code", one(SESSION), {"Turn": 2, "Memory": 1}, ("line 9", "line 10")),
    Sample("claude-code-memory", "claude-code", CODE_MEMORY, {"Memory": 2, "Link": 1}, ("broken.md",)),
    Sample("claude-chats", "claude", one(CLAUDE), {"Turn": 2}, ("[2]",)),
    Sample("claude-memories", "claude", one(CLAUDE_MEMORIES), {"Memory": 4}, ("[0].project_memories.p-1", "[0].memory_files[1]")),
    Sample("chatgpt", "chatgpt", one(CHATGPT), {"Turn": 2, "Memory": 1}, ("[1]", "[2]"), ("images and other parts that are no text",)),
    Sample("langgraph-rows", "langgraph", one(LANGGRAPH), {"Memory": 3}, ("line 4", "line 5"), ("ttl_minutes",)),
    Sample("langgraph-items", "langgraph", one([{"namespace": ["a", "b"], "key": "k", "value": {"content": ["two", "lines"]}, "score": 0.5}]), {"Memory": 1}, lost=("score",)),
    Sample("graphiti-dump", "graphiti", one(GRAPHITI), {"Entity": 2, "Memory": 3, "Link": 1}, ("entities[2]", "edges[2]", "edges[3]"), ("embeddings",)),
    Sample("graphiti-apoc", "graphiti", one(APOC), {"Entity": 1, "Memory": 1}, lost=("nodes ['Community']",)),
    Sample("zep-edges", "graphiti", one([{"uuid": "z-1", "name": "USES", "fact": "Ada uses a loom", "source_node_uuid": "a", "target_node_uuid": "b", "source_node_name": "Ada", "target_node_name": "Loom"}]), {"Memory": 1}),
    Sample("obsidian", "obsidian", OBSIDIAN, {"Memory": 3, "Entity": 1, "Link": 2}, lost=("embeds",)),
    Sample("basic-memory", "basic-memory", BASIC, {"Memory": 4, "Entity": 2}),
    Sample("okf", "okf", OKF, {"Memory": 2, "Entity": 2, "Link": 1}, ("no.md",)),
    Sample("letta-agent", "letta", one(LETTA), {"Memory": 1, "Turn": 2}, ("blocks[1]", "agents[0]", "agents[0].messages[3]"), ("tools", "secrets")),
    Sample("letta-passages", "letta", one(PASSAGES), {"Memory": 1}, lost=("embeddings",)),
    Sample("openmemory", "openmemory", one(OPENMEMORY), {"Memory": 2}, ("line 4",)),
    Sample("crewai", "crewai", one(CREWAI), {"Memory": 1}, ("[1]",), ("embeddings",)),
    Sample("supermemory", "supermemory", one(SUPERMEMORY), {"Memory": 4, "Link": 1}, ("memories[3]",)),
    Sample("gemini", "gemini", one(GEMINI), {"Turn": 2}, ("[2]",)),
    Sample("hindsight", "hindsight", HINDSIGHT, {"Memory": 4, "Link": 2}, ("documents/000000.json.facts[2]",)),
    Sample("cogx", "cogx", COGX, {"Entity": 1, "Memory": 1, "Turn": 1}, ("facts.jsonl: line 2", "facts.jsonl: line 3", "episodes.jsonl: line 1.turns[1]")),
]  # fmt: skip


def mem0_history(path: Path) -> Path:
    """A database as mem0 keeps it beside its vectors."""
    with sqlite3.connect(path) as made:
        made.execute(
            "create table history (id text, memory_id text, old_memory text, new_memory text, event text, created_at text, updated_at text, actor_id text, role text)"
        )
        made.executemany(
            "insert into history values (?, ?, ?, ?, ?, ?, ?, null, null)",
            [
                ("h1", "m-1", None, "Lives in Paris", "ADD", "2025-09-01T12:00:00+00:00", None),
                (
                    "h2",
                    "m-1",
                    "Lives in Paris",
                    "Lives in London",
                    "UPDATE",
                    "2025-09-01T12:00:00+00:00",
                    "2026-03-02T17:00:00+00:00",
                ),
                ("h3", "m-2", None, "Owns a canoe", "ADD", "2025-10-01T09:00:00+00:00", None),
                ("h4", "m-2", "Owns a canoe", None, "DELETE", "2025-10-01T09:00:00+00:00", "2026-01-05T09:00:00+00:00"),
                (
                    "h5",
                    "m-1",
                    "Lives in Delft",
                    "Lives in Rome",
                    "UPDATE",
                    "2025-09-01T12:00:00+00:00",
                    "2026-04-01T00:00:00+00:00",
                ),
            ],
        )
    made.close()
    return path
