"""The end of a month: every promise that can be asked is asked of the whole, and everything is measured."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.rows import dict_row

from loci import LociClient, LociError
from tests.factories import OPERATOR, act_as
from tests.llm.model_server import Reply, Request, say
from tests.services import eventually
from tests.year.hosting import Hosting
from tests.year.promises import ask_all
from tests.year.truth import Ledger, Story, Team

SIZES = """
select coalesce(p.inhparent, c.oid)::regclass::text as name, sum(pg_total_relation_size(c.oid))::bigint as size
from pg_class c left join pg_inherits p on p.inhrelid = c.oid
where c.relnamespace in ('loci_data'::regnamespace, 'loci_jobs'::regnamespace) and c.relkind = 'r' group by 1"""
DREAMS = ["memories", "contradictions", "preferences", "graph"]


@dataclass
class Month:
    """What was measured at the end of one."""

    memories: int
    database: int  # bytes
    tables: dict[str, int] = field(default_factory=dict)
    p50: dict[str, float] = field(default_factory=dict)  # seconds, by verb
    p95: dict[str, float] = field(default_factory=dict)
    calls: int = 0


def scripted(request: Request) -> Reply:
    """A model that wants to delete what is noise, and now and then what it has never seen. It counts no tokens."""
    return say(judge_noise(request), usage=None)


def judge_noise(request: Request) -> Any:
    """What it says to a purpose."""
    data = request.data
    if request.purpose == "memories":
        shown = data.get("memories", []) if isinstance(data, dict) else []
        noise = [m["n"] for m in shown if "review of order" in str(m.get("content"))]
        return {
            "merges": [],
            "deletes": [{"id": n, "reason": "noise"} for n in noise[:2]] + [{"id": 999_999, "reason": "noise"}],
            "refinements": [],
            "anti_patterns": [],
        }
    empty: dict[str, Any] = {"preferences": {"preferences": []}, "contradictions": {"verdicts": []}}
    return empty.get(request.purpose, {})


class Auditor:
    """Whoever asks at the end of a month."""

    def __init__(self, hosting: Hosting, teams: Sequence[Team], ledger: Ledger, seed: int) -> None:
        self.hosting, self.teams, self.ledger = hosting, teams, ledger
        self.dice = random.Random(f"{seed} auditor")
        self.months: list[Month] = []

    def client(self, team: Team) -> LociClient:
        """The operator's, in a team's namespace."""
        return LociClient(self.hosting.url, namespace=team.name, retries=50, timeout=120)

    def month(self, day: datetime, first: datetime) -> None:
        """Ask everything."""
        for team in self.teams:
            with self.client(team) as client:
                self.times(client, team, day, first)
                self.erased(client, team)
                self.feed(client, team)
                self.numbers(client, team)
        self.verify()
        with self.client(self.teams[-1]) as client:
            ask_all(client, self.ledger, f"pr{self.ledger.month}mk")
        with self.client(self.teams[0]) as client:
            self.carry(client, self.teams[0], day)
            self.share(client)
        self.measure()
        self.ledger.month += 1

    def times(self, client: LociClient, team: Team, day: datetime, first: datetime) -> None:
        """What is true now, what was true then, and what was believed then."""
        days = max((day - first).days, 1)
        for moment in (day, first + timedelta(days=self.dice.randrange(days)), first + timedelta(days=self.dice.randrange(days))):
            for some in parts(team.stories, 500):
                found = {m.lineage: m.content for m in client.memories.current([s.lineage for s in some], as_of=moment).items}
                for story in some:
                    right, said = story.at(moment), found.get(story.lineage)
                    self.ledger.ask("M3", said == right, f"{story.lineage} at {moment}: {said!r}, not {right!r}")
        for story in self.dice.sample(told := [s for s in team.stories if s.told_again and s.beliefs], min(30, len(told))):
            nth = self.dice.randrange(len(story.beliefs))
            moment = first + timedelta(days=self.dice.randrange(days))
            known = client.memories.current([story.lineage], as_of=moment, known_at=story.beliefs[nth][0]).items
            said, right = (known[0].content if known else None), story.believed(nth, moment)
            self.ledger.ask(
                "M3", said == right, f"{story.lineage} at {moment}, known at {story.beliefs[nth][0]}: {said!r}, not {right!r}"
            )
            number = len(list(client.memories.history(story.lineage)))
            versions = len({v.id for v in story.state.versions if v.id.int})
            self.ledger.ask("M2", number >= versions, f"{story.lineage}: {number} of {versions} versions")

    def erased(self, client: LociClient, team: Team) -> None:
        """What was erased is found by nobody."""
        for word in self.dice.sample(team.erased, min(10, len(team.erased))):
            found = [m.content for m in client.memories.search(word).results if word in m.content]
            self.ledger.ask("M8", not found, found)

    def feed(self, client: LociClient, team: Team) -> None:
        """The feed has told of every write once."""
        while True:
            page = client.operations.feed(after=team.cursor, namespace=team.name, limit=1000)
            team.told.update(str(item.subject_id) for item in page.items if (item.kind, item.action) == ("memory", "created"))
            team.cursor = page.next_cursor
            if len(page.items) < 1000:
                break
        missing = team.ids - set(team.told)
        twice = [told for told, times in team.told.items() if times > 1]
        self.ledger.ask("X4", not missing and not twice, f"{team.name}: {len(missing)} missing, {len(twice)} twice")

    def numbers(self, client: LociClient, team: Team) -> None:
        """An analyst's numbers are those of REST; recall is asked about everybody."""
        with psycopg.connect(self.hosting.database.app_url) as connection:
            act_as(connection, OPERATOR)
            (counted,) = connection.execute(
                "select count(*) from loci.current_memories where namespace = %s", [team.name]
            ).fetchone() or (0,)
        said = client.namespaces.get(team.name).current_memories
        self.ledger.ask("X3", counted == said, f"{team.name}: {counted} in SQL, {said} in REST")

    def verify(self) -> None:
        """Every namespace keeps its promises by its own account."""
        with psycopg.connect(self.hosting.database.app_url, row_factory=dict_row) as connection:
            act_as(connection, OPERATOR)
            for team in self.teams:
                for row in connection.execute("select * from loci.verify(%s)", [team.name]).fetchall():
                    self.ledger.ask("M6", row["broken"] == 0, f"{team.name}: {row}")

    def carry(self, client: LociClient, team: Team, day: datetime) -> None:
        """A namespace that was carried to another is equal, and goes without a trace."""
        copy = f"{team.name}-copy"
        path = self.hosting.folder / "export.jsonl"
        with path.open("wb") as file:
            for block in client.transfer.export_namespace(team.name):
                file.write(block if isinstance(block, bytes) else bytes(block))
        client.transfer.import_namespace(copy, path)
        lineages = [story.lineage for story in self.dice.sample(team.stories, min(200, len(team.stories)))]
        here = {m.lineage: (m.content, m.valid_from) for m in client.memories.current(lineages, as_of=day).items}
        there = {
            m.lineage: (m.content, m.valid_from) for m in client.in_namespace(copy).memories.current(lineages, as_of=day).items
        }
        self.ledger.ask("X6", here == there, f"{len(here)} and {len(there)} lineages differ")
        client.namespaces.delete(copy)

    def share(self, client: LociClient) -> None:
        """Who was given a role reads, and reads no more when it is taken away."""
        if len(self.teams) < 2:
            return
        other = self.teams[1]
        guest = client.in_namespace(other.name).access.create_key(role="reader", name="guest")
        with LociClient(self.hosting.url, key=guest.key, namespace=self.teams[0].name) as stranger:
            self.ledger.ask("X2", refused(lambda: stranger.recall("Where?")), "a stranger was answered")
            client.access.set_grant(guest.agent_id, "reader")
            stranger.access.accept_invitation(self.teams[0].name)
            self.ledger.ask("X2", not refused(lambda: stranger.recall("Where?")), "a guest was refused")
            client.access.delete_grant(guest.agent_id)
            self.ledger.ask("X2", refused(lambda: stranger.recall("Where?")), "a guest that was sent away was answered")

    def tidy(self) -> None:
        """What passes do by rules, each week."""
        for team in self.teams:
            with self.client(team) as client:
                client.graph.merge_duplicate_entities()
                client.facts.sweep_supersessions()
                client.reflect(decide="rules", limit=100)
                client.graph.decay_edges()

    def dream(self) -> None:
        """A dream with a model, each month; what it removes that was told with care stays."""
        for team in self.teams:
            with self.client(team) as client:
                job = client.dreams.start(passes=["memories", "preferences", "contradictions"])
                eventually(lambda client=client, job=job: client.jobs.get(job.job_id).state not in {"waiting", "running"})
                ended = client.jobs.get(job.job_id)
                self.ledger.ask("L4", ended.state == "succeeded", f"{team.name}: {ended}")

    def measure(self) -> None:
        """Sizes, and how long calls took in this month."""
        with self.hosting.database.admin() as admin:
            tables = {name.split(".")[-1]: int(size) for name, size in admin.execute(SIZES).fetchall()}
            (whole,) = admin.execute("select pg_database_size(current_database())").fetchone() or (0,)
            (memories,) = admin.execute("select count(*) from loci_data.memories").fetchone() or (0,)
        made = Month(memories, whole, tables)
        for verb in {verb for month, verb, _ in self.ledger.seconds if month == self.ledger.month}:
            took = sorted(s for month, v, s in self.ledger.seconds if (month, v) == (self.ledger.month, verb))
            made.p50[verb], made.p95[verb] = took[len(took) // 2], took[len(took) * 95 // 100]
            made.calls += len(took)
        self.months.append(made)


def refused(ask: Any) -> bool:
    """Whether a request is refused."""
    try:
        ask()
    except LociError:
        return True
    return False


def parts(stories: Sequence[Story], size: int) -> list[Sequence[Story]]:
    """Some at a time."""
    return [stories[n : n + size] for n in range(0, len(stories), size)]
