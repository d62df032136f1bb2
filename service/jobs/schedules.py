"""When dreams run by themselves: the setting dream_schedule of a namespace, a rule in cron's five fields, UTC."""

import logging
import re
from datetime import datetime
from functools import lru_cache
from typing import Any

from croniter import croniter
from croniter.croniter import CroniterError

from db.errors import FieldError, Invalid
from db.jobs import schedules
from db.jobs.schedules import ScheduleRow
from service.resources import Resources

log = logging.getLogger(__name__)
SETTING = "dream_schedule"
FIELDS = 5
LONGEST_RULE_CHARACTERS = 100  # characters of a rule that a message shows
DRAWN = re.compile(r"(?i)(?<![a-z])[rh](?![a-z])")
EXPECTED = "must be a rule of cron in five fields, UTC, such as `0 3 * * *` (every night at three), or empty"


def next_time(rule: str, after: datetime) -> datetime:
    """The first moment after another that a rule means. Raises ValueError for an invalid rule, or one without a moment."""
    minute = after.replace(second=0, microsecond=0)
    return _next_time(" ".join(rule.split()), minute)


@lru_cache(maxsize=1024)
def _next_time(rule: str, minute: datetime) -> datetime:
    shown = repr(rule[:LONGEST_RULE_CHARACTERS])
    if len(rule.split()) != FIELDS:
        raise ValueError(f"{shown} has {len(rule.split())} fields, not five")
    if DRAWN.search(rule):  # each look would draw another time
        raise ValueError(f"{shown} must not name random times (R)")
    try:
        found: datetime = croniter(rule, minute).get_next(datetime)
    except (CroniterError, ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError) as error:
        raise ValueError(
            f"{shown} is not a valid cron expression, or no time ever matches it: {str(error)[:LONGEST_RULE_CHARACTERS]}"
        ) from None
    return found


def check_settings(settings: dict[str, Any] | None, now: datetime) -> None:
    """Raise Invalid if these settings of a namespace have a schedule that nobody could keep; the database checks the rest."""
    rule = (settings or {}).get(SETTING)
    if not isinstance(rule, str) or not rule.strip():
        return
    try:
        next_time(rule, now)
    except ValueError as error:
        field = f"settings.{SETTING}"
        raise Invalid(f"{field} {EXPECTED}: {error}", [FieldError(field, EXPECTED)]) from None


class Schedules:
    """Makes the jobs of schedules that are due. Any number of workers may look."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._told: set[tuple[str, str]] = set()

    async def run_due_schedules(self) -> bool:
        """Look at all schedules once; False: there is nothing to hurry for."""
        async with self._resources.transaction("schedule_jobs", None, None) as tx:
            rows = await schedules.list_schedules(tx)
        if rows and self._resources.model is None:
            self._log_once("", "", "dreams are scheduled, and this worker has no language model: it makes none of them")
            return False
        for row in rows:
            await self._update_next_due(row)
        return False

    async def _update_next_due(self, row: ScheduleRow) -> None:
        """Reckon when a schedule is due next, where that is new, over, or later than the rule says (the clock was set back)."""
        rule, due, coming = row["wanted"], row["due_at"], None
        if rule is not None:
            try:
                coming = next_time(rule, row["now"])
            except ValueError as error:
                self._log_once(
                    row["namespace"], rule, f"the schedule of dreams of namespace {row['namespace']} is left out: {error}"
                )
                return
        if rule == row["cron"] and due is not None and coming is not None and row["now"] < due <= coming:
            return
        async with self._resources.transaction("schedule_jobs", row["namespace"], "admin") as tx:
            job = await schedules.update_schedule(tx, seen=row, cron=rule, next_at=coming)
        if job is not None:
            log.info("namespace %s: the dream that was due at %s is job %s", row["namespace"], due, job)

    def _log_once(self, namespace: str, rule: str, what: str) -> None:
        """Log something once."""
        if (namespace, rule) not in self._told:
            self._told.add((namespace, rule))
            log.warning("%s", what)
