"""Live a year: python -m tests.year [--days 365] [--agents 20] [--teams 4] [--seed 1] [--picture FILE.svg]

Every day each agent has a session; each week passes by rules tidy up; each month a scripted model dreams, and everything is asked. After a
third of the year a new version takes over, a little past the half the machine is lost and restored from its backup, and in the last quarter the
primary is killed and a standby takes its place, while everybody works. Ends with 1 if an answer was wrong.
"""

import argparse
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path

from loci import LociClient
from tests.distributed.servers import programs
from tests.llm.model_server import model_server
from tests.year.agents import Agent
from tests.year.hosting import Hosting, hosting
from tests.year.months import Auditor, Month, scripted
from tests.year.picture import picture
from tests.year.truth import Ledger, Team


def hire(ground: Hosting, teams: list[Team], agents: int, ledger: Ledger, seed: int) -> list[Agent]:
    """Namespaces, and agents with keys of their own."""
    hired = []
    for team in teams:
        with LociClient(ground.url) as operator:
            operator.namespaces.create(team.name)
    for number in range(agents):
        team = teams[number % len(teams)]
        with LociClient(ground.url, namespace=team.name) as operator:
            key = operator.access.create_key(role="writer", name=f"agent-{number}").key
        at = lru_cache(maxsize=2)(partial(_client, key=key, namespace=team.name))
        hired.append(Agent(number, team, lambda at=at: at(ground.url), ledger, seed))  # type: ignore[misc]
    return hired


def _client(url: str, *, key: str, namespace: str) -> LociClient:
    return LociClient(url, key=key, namespace=namespace, retries=200, timeout=180)


def live(ground: Hosting, agents: list[Agent], auditor: Auditor, days: int, *, said: bool, machines: bool) -> None:
    """The days, and what happens to the machines meanwhile."""
    first = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)
    released, kept, restored, prepared, failed = (int(days * part) if machines else -1 for part in (0.33, 0.45, 0.55, 0.74, 0.78))
    month = max(days // 12, 1)
    with ThreadPoolExecutor(min(len(agents), 8)) as pool:
        for nth in range(days):
            day, meanwhile = first + timedelta(days=nth), None
            if nth == released:
                meanwhile = threading.Thread(target=ground.release)
            elif nth == kept:
                meanwhile = threading.Thread(target=ground.back_up)
            elif nth == prepared:
                meanwhile = threading.Thread(target=ground.prepare_failover)
            elif nth == failed:
                meanwhile = threading.Thread(target=ground.fail_over)
            elif nth == restored:
                ground.restore()
            if meanwhile:
                meanwhile.start()
            for each in [pool.submit(agent.live, day, nth) for agent in agents]:
                each.result()
            if meanwhile:
                meanwhile.join()
            if nth % 7 == 6:
                auditor.tidy()
            if nth % month == month - 1:
                auditor.dream()
                auditor.month(day + timedelta(days=1), first)
                if said:
                    show(len(auditor.months), auditor.months[-1], auditor.ledger)


def traces(ground: Hosting, teams: list[Team]) -> list[str]:
    """Words that were erased, and that a dump of the database still holds."""
    dumped = subprocess.run(
        [programs() / "pg_dump", "--data-only", "--dbname", ground.servers.primary.url()], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    return [word for team in teams for word in team.erased if word in dumped]


def show(number: int, month: Month, ledger: Ledger) -> None:
    """A line about a month."""
    took = ", ".join(f"{verb} {month.p50[verb] * 1000:.0f}/{month.p95[verb] * 1000:.0f} ms" for verb in sorted(month.p50))
    print(
        f"month {number}: {month.memories:,} memories, {month.database / 2**20:,.0f} MiB; {took}; "
        f"{ledger.asked.total():,} asked, {ledger.faults()} wrong",
        flush=True,
    )


def year(days: int, agents: int, teams: int, seed: int, *, said: bool = True, machines: bool = True) -> Auditor:
    """Live it; whoever asked. Without `machines` nothing happens to them."""
    ledger, made = Ledger(), [Team(n) for n in range(teams)]
    with model_server(scripted) as model, hosting(LOCI_LLM__ENDPOINT=model.url, LOCI_LLM__MODEL="scripted") as ground:
        hired = hire(ground, made, agents, ledger, seed)
        auditor = Auditor(ground, made, ledger, seed)
        live(ground, hired, auditor, days, said=said, machines=machines)
        for word in (left := traces(ground, made)):
            ledger.ask("M8", False, f"{word} was erased, and a dump holds it")
        ledger.ask("M8", not left)
    return auditor


def main() -> int:
    """Live it, and say what became of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--teams", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=Path, help="draw the months into this SVG file")
    given = parser.parse_args()
    began = time.monotonic()
    auditor = year(given.days, given.agents, given.teams, given.seed)
    ledger = auditor.ledger
    print("\n| promise | asked | wrong |\n|---|---|---|")
    for row, times in sorted(ledger.asked.items()):
        print(f"| {row} | {times:,} | {len(ledger.wrong.get(row, []))} |")
    for row, said in ledger.wrong.items():
        print(f"\n{row}:", *said[:10], sep="\n  ")
    print(f"\n{given.days} days of {given.agents} agents in {(time.monotonic() - began) / 60:.1f} minutes")
    if given.picture:
        given.picture.write_text(picture(auditor.months))
    return 1 if ledger.faults() else 0


if __name__ == "__main__":
    sys.exit(main())
