"""The day of a small team with a small language model as the only one: turns, facts, a dream over them, and no turn lost.

    python -m bench.small_team                                  # 60 turns, 20 facts, SmolLM2 135M with a context of 2,048
    python -m bench.small_team --turns 6 --facts 2 --context 4096 --weights FILE.gguf

Prints each pass of each dream (seen, proposed, applied, refused), what retain did, and the turns that the log still holds. It waits
for dreams that follow, until the log is empty or --seconds are over.
"""

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from bench.server import service
from service.cli.model_trials import make_sentence
from tests.llm.real.server import bundled_weights, real_model

Row = dict[str, Any]
NAMESPACE = "team"
TURNS_AT_ONCE = 20


def live(client: httpx.Client, turns: int, facts: int) -> None:
    """Say and retain what a day brings."""
    for start in range(0, turns, TURNS_AT_ONCE):
        spoken = [{"role": "user", "content": make_sentence(number)} for number in range(start, min(start + TURNS_AT_ONCE, turns))]
        client.post(f"/conversations/day-{start}/turns", json={"turns": spoken}).raise_for_status()
    for number in range(facts):
        began = time.monotonic()
        reply = client.post("/retain", json={"content": make_sentence(1000 + number)}).raise_for_status().json()
        decisions = ", ".join(f"{one['action']} by {one['decided_by']}" for one in reply["decisions"])
        print(
            f"| retain {number + 1} | {decisions} | {time.monotonic() - began:.0f} s | {reply.get('skipped') or ''} |", flush=True
        )


def logged(client: httpx.Client) -> int:
    """Turns that some pass has not read."""
    return sum(item["logged"] for item in client.get("/conversations").raise_for_status().json()["items"])


def dream(client: httpx.Client, seconds: float) -> None:
    """Dream until the log is read; say what each pass of each job did."""
    client.post("/dream", json={}).raise_for_status()
    until, told = time.monotonic() + seconds, set[tuple[str, str]]()
    while time.monotonic() < until:
        items: list[Row] = client.get("/jobs", params={"limit": 100}).raise_for_status().json()["items"]
        jobs = [client.get(f"/jobs/{item['id']}").raise_for_status().json() for item in items if item["kind"] == "dream"]
        for job in jobs:
            for report in job["passes"]:
                if (job["id"], report["pass"]) not in told:
                    told.add((job["id"], report["pass"]))
                    counts = [report[name] for name in ("seen", "proposed", "applied")] + [len(report["refused"])]
                    print(f"| {report['pass']} | {report['outcome']} | {' | '.join(map(str, counts))} |", flush=True)
        if all(job["finished_at"] for job in jobs) and not logged(client):
            return
        time.sleep(2)
    print("not over: " + "; ".join(f"{job['state']}: {job['error']}" for job in jobs if not job["finished_at"]))


def tell_calls(client: httpx.Client) -> None:
    """Say for each purpose how many calls there were, what they cost, and why some failed."""
    calls: list[Row] = client.get("/model-calls", params={"limit": 1000}).raise_for_status().json()["items"]
    for purpose in sorted({call["purpose"] for call in calls}):
        made = [call for call in calls if call["purpose"] == purpose]
        read, written = (sum(call[name] for call in made) for name in ("prompt_tokens", "completion_tokens"))
        failed = Counter(call["error"] for call in made if call["error"])
        said = "; ".join(f"{count} times: {error}" for error, count in failed.items())
        print(f"| {purpose} | {len(made)} | {sum(failed.values())} | {read:,} | {written:,} | {said} |")


def main() -> None:
    """Live a day and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--facts", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=7200.0)
    given = parser.parse_args()
    weights = given.weights or bundled_weights()
    began = time.monotonic()
    with real_model(given.context, weights=weights) as model:
        llm = {"ENDPOINT": model.url, "MODEL": weights.stem, "MAX_TOKENS": str(given.context // 4), "TIMEOUT": "300"}
        with (
            service(environment={f"LOCI_LLM__{name}": value for name, value in llm.items()}) as address,
            httpx.Client(base_url=f"{address}/api/v1", headers={"X-Namespace": NAMESPACE}, timeout=300) as client,
        ):
            client.post("/namespaces", json={"name": NAMESPACE}).raise_for_status()
            live(client, given.turns, given.facts)
            print(f"turns in the log: {logged(client)} of {given.turns}")
            dream(client, given.seconds)
            print(f"turns in the log: {logged(client)} after {(time.monotonic() - began) / 60:.0f} minutes")
            tell_calls(client)


if __name__ == "__main__":
    main()
