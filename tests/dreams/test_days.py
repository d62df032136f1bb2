"""Days and times that models are shown: those of UTC, in whatever time zone the session of the service is."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

from db.pool import make_pool
from service.dreams.consolidation import MEMORIES
from service.dreams.contradictions import CONTRADICTIONS
from service.dreams.enrichment import ENRICHMENT
from service.dreams.extraction import ENTITIES
from service.dreams.graph_cleanup import GRAPH
from service.dreams.passes import Pass, Room
from service.jobs.job import Job
from service.resources import Resources
from tests.databases import Database
from tests.dreams.scene import furnish
from tests.dreams.stage import LOOP, Stage, settings, staged

ZONES = ("UTC", "Etc/GMT+12", "Pacific/Kiritimati")  # at any moment the day of one of them is not that of UTC

MET = "Bob met Carol in Porto yesterday"


@pytest.fixture(scope="module")
def stage(own_database: Database) -> Iterator[Stage]:
    with staged(own_database) as made:
        made.setting(dream_entity_days=0)
        furnish(made)
        made.world.write(MET)
        yield made


def times(data: Any) -> list[str]:
    """Days and times in what is shown, but for the day of today."""
    match data:
        case dict():
            return [time for key, value in data.items() if key != "today" for time in times(value)]
        case list():
            return [time for value in data for time in times(value)]
        case str() if re.fullmatch(r"\d{4}-\d\d-\d\d(T.*)?", data):
            return [data]
    return []


async def times_by_zone(stage: Stage, made: Pass[Any], job: Job) -> list[list[str]]:
    """What a pass shows of times, by sessions in each of the zones."""
    found = []
    for zone in ZONES:
        url = make_conninfo(stage.database.app_url, options=f"-c timezone={zone}")
        async with make_pool(url, size=1) as pool, Resources(settings(), pool).transaction("test", job.namespace, "admin") as tx:
            found.append(times((await made.look(tx, job, Room())).data))
    return found


@pytest.mark.parametrize("made", [MEMORIES, CONTRADICTIONS, ENRICHMENT, ENTITIES, GRAPH], ids=lambda made: made.name)
def test_a_model_is_told_days_of_utc_in_whatever_zone_the_server_is(stage: Stage, made: Pass[Any]) -> None:
    memory = stage.world.value("select id from loci_data.memories where namespace_id = %(ns_id)s and content = %(c)s", c=MET)
    utc, west, east = LOOP.run_until_complete(times_by_zone(stage, made, stage.job(memory_id=str(memory))))
    assert utc
    assert utc == west == east
