"""Requests to begin with, by schema: the OpenAPI document shows them, and a test sends them."""

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "MemorySave": {
        "content": "Alice works on RockBot",
        "category": "work/projects",
        "tags": ["people"],
        "source": "alice",
        "session_id": "monday",
        "entities": [{"name": "Alice", "type": "person"}],
        "edges": [{"source": "Alice", "type": "works_on", "target": "RockBot", "confidence": 0.9}],
    },
    "MemoryBatch": {"items": [{"content": "Bob prefers tea"}, {"content": "Bob lives in Porto", "lineage": "bob-home"}]},
    "RecallInput": {"query": "Who works on RockBot?", "k": 5, "explain": True},
    "ContextInput": {"message": "How is RockBot going?", "session_id": "monday"},
    "Retain": {"content": "I moved to Lisbon. I like coffee.", "source": "alice", "dry_run": True},
    "EntityWrite": {"name": "Alice", "type": "person", "aliases": ["Al"]},
    "EdgeWrite": {"source": "Alice", "type": "knows", "target": "Bob", "confidence": 0.8, "session_id": "monday"},
    "TraverseInput": {"text": "What does Alice do?", "max_hops": 2, "paths": True},
    "WalkInput": {"query": "Alice and RockBot"},
    "EntryInput": {"value": {"step": 3}, "ttl_seconds": 600},
    "TurnsInput": {"role": "user", "content": "What is Alice working on?"},
    "AspectWrite": {"name": "coffee", "weight": 0.7},
    "NamespaceInput": {"name": "team-a", "description": "What team A knows"},
    "KeyInput": {"role": "reader", "name": "dashboard"},
}
