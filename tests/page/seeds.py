"""A namespace in which all of Changes has something to show, and a memory about which all can be said."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from psycopg.types.json import Jsonb

from tests.page.browser import client_of
from tests.services import Service, eventually, ok

BUSY = "busy"
VEGAN, LOW_SALT = "Nadia follows a vegan diet", "Nadia has gone low-salt"
REASON = "a merge may not lose a name: Ada"


def seed_busy(service: Service) -> dict[str, Any]:
    """Make it: ids of what is in it, by name."""
    with client_of(service.url, BUSY) as client:
        ok(client.post("/namespaces", json={"name": BUSY, "settings": {"supersession": "propose", "model_tokens": 10_000}}), 201)
        edge = {"source": "Ada", "type": "works_at", "target": "Acme"}
        written = client.post("/memories", json={"content": "Ada works at Acme", "lineage": "ada-job", "edges": [edge]})
        job, operation = ok(written, 201)["id"], written.headers["X-Operation-Id"]
        other = ok(client.post("/memories", json={"content": "Ada is in Oslo", "entities": [{"name": "Ada"}]}), 201)["id"]
        contradict(client, job, other)
        unsettle(client)
        answer = ok(client.post("/recall", json={"query": "Where does Ada work?", "log": True, "session_id": "monday"}))
        rating = {"memory_id": job, "useful": True, "note": "just right"}
        ok(client.post("/feedback", json={"recall_id": answer["recall_id"], "ratings": [rating]}))
        question = {"question": "Where does Ada work?", "ids": [job]}
        tuning = ok(client.post("/recall/tune", json={"questions": [question]}), 202)["job_id"]
        eventually(lambda: ok(client.get(f"/jobs/{tuning}"))["finished_at"] is not None)
    _seed_what_models_did(service, tuning, job, operation)
    return {"memory": job, "other": other, "job": tuning, "operation": operation, "recall": answer["recall_id"]}


def contradict(client: httpx.Client, *memories: str | None) -> None:
    """Write two facts of which one denies the other, and which rest on these memories."""
    aspect = ok(client.post("/entities/Ada/aspects", json={"name": "home"}), 201)["id"]
    for memory, fact in zip(memories, ("Ada lives in Bergen", "Ada lives in Oslo"), strict=True):
        ok(client.post(f"/aspects/{aspect}/attributes", json={"content": fact, "memory_id": memory}), 201)


def unsettle(client: httpx.Client) -> dict[str, str]:
    """Write two memories of Ann that nobody has settled: ids by what they say."""
    ids = {
        content: str(ok(client.post("/memories", json={"content": content, "source": "Ann", "about": "Nadia"}), 201)["id"])
        for content in (VEGAN, LOW_SALT)
    }
    link = {"target_id": ids[VEGAN], "type": "contradicts", "strength": 0.6}
    ok(client.post(f"/memories/{ids[LOW_SALT]}/links", json=link), 201)
    return ids


@contextmanager
def young(service: Service, name: str) -> Iterator[httpx.Client]:
    """A client of a new namespace in which two facts contradict each other."""
    with client_of(service.url, name) as client:
        ok(client.post("/namespaces", json={"name": name, "settings": {"supersession": "propose"}}), 201)
        ok(client.post("/memories", json={"content": "Ada is in Oslo", "entities": [{"name": "Ada"}]}), 201)
        contradict(client, None, None)
        yield client


def _seed_what_models_did(service: Service, job: str, memory: str, operation: str) -> None:
    """Rows that a worker with a language model would write: none is asked here."""
    refused = [{"guard": "names_kept", "action": "merge", "ids": [memory], "reason": REASON}]
    changes = [{"action": "merge", "ids": [memory]}]
    with service.database.admin() as admin:
        admin.execute(
            """update loci_data.jobs set state = 'dead', failures = 3, error = 'the database was away' where id = %s""", [job]
        )
        for name, outcome, made, kept in [("memories", "applied", changes, operation), ("preferences", "planned", [], None)]:
            admin.execute(
                """insert into loci_data.pass_runs (namespace_id, id, job_id, pass, outcome, operation_id, started_at, seen,
                                                    proposed, applied, refused, changes)
                   select namespace_id, loci_api.uuid7(), id, %s, %s, %s, now(), 12, 2, %s, %s, %s from loci_data.jobs where id = %s""",
                [name, outcome, kept, len(made), Jsonb(refused), Jsonb(made), job],
            )
        for state, error in [("succeeded", None), ("failed", "the endpoint answered 500")]:
            admin.execute(
                """insert into loci_data.model_calls (namespace_id, id, job_id, purpose, model, state, took_ms, prompt_tokens,
                                                      completion_tokens, estimated, error, usual_tokens, usual_cost, ends_by)
                   select namespace_id, loci_api.uuid7(), id, 'memories', 'a-model', %s, 840, 2100, 320, false, %s, 0, 0, now()
                   from loci_data.jobs where id = %s""",
                [state, error, job],
            )
