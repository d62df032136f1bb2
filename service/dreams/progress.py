"""Lines about a dream: while it is waited for, and about its result."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from db.jobs.jobs import JobDetail

QUIET = timedelta(seconds=30)  # after so long without a word, it is said that it is still at it
REPORTED_LINES = 20  # lines of one pass in a printed report


class Progress:
    """Says what has become of a job since the last look: tries, passes that are done, errors, and when the next try is."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._tries = self._ended = self._failures = self._postponed = 0
        self._done: set[UUID] = set()
        self._spoke: datetime | None = None

    def report_news(self, job: "JobDetail", now: datetime) -> None:
        """Say what is new of it.

        The outcome of a try is known once it has ended, which may first be seen when the next one runs.
        """
        ended = job["tries"] if job["state"] in ("waiting", "dead") else job["tries"] - 1
        lines = self._report_failed_try(job, ended, now) if ended < job["tries"] else []
        if job["tries"] > self._tries:
            lines.append(f"try {job['tries']} begins")
            self._tries = job["tries"]
        new = [report for report in job["passes"] if report["id"] not in self._done]
        lines += [f"{report['pass']}: {report['outcome']}" for report in new]
        self._done.update(report["id"] for report in new)
        if ended == job["tries"]:
            lines += self._report_failed_try(job, ended, now)
        if not lines and self._spoke is not None and now - self._spoke >= QUIET and job["finished_at"] is None:
            lines.append(f"still {job['state']}: {_describe_calls(job['calls'])} so far")
        for line in lines:
            self._tell(line)
        if lines or self._spoke is None:
            self._spoke = now

    def _report_failed_try(self, job: "JobDetail", ended: int, now: datetime) -> list[str]:
        """Outcome of the last try that ended, if that is not said yet; then it came to nothing, and another follows or none."""
        if ended <= self._ended:
            self._failures = min(self._failures, job["failures"])  # a job that is retried has all its tries again
            self._postponed = min(self._postponed, job["postponed"])
            return []
        broken_off = job["postponed"] <= self._postponed and job["failures"] <= self._failures  # as when a worker is restarted
        what = "put off" if job["postponed"] > self._postponed else f"try {ended} {'was broken off' if broken_off else 'failed'}"
        self._ended, self._failures, self._postponed = ended, job["failures"], job["postponed"]
        why = not broken_off and job["state"] in ("waiting", "running", "dead")  # else the error is of the last try
        lines = [f"{what}: {job['error']}" if why else what]
        if job["state"] == "waiting" and job["due_at"] is not None:
            wait = max(0, round((job["due_at"] - now).total_seconds()))
            lines.append(
                f"next try at {job['due_at'].astimezone(UTC):%H:%M:%S} UTC, in {wait:,} s; `loci job retry {job['id']}`: now"
            )
        return lines


def report_dream(job: "JobDetail") -> list[str]:
    """Result of a dream: how it ended, each pass with its changes and refusals by guard, and how to undo it."""
    ended = job["finished_at"] or job["created_at"]
    took = ended - (job["started_at"] or ended)
    tries = f"{job['tries']} {'try' if job['tries'] == 1 else 'tries'}"
    lines = [f"dream {job['state']}: {tries}, the last one took {took.total_seconds():.1f} s; {_describe_calls(job['calls'])}"]
    for done in job["passes"]:
        lines += _report_pass(done)
    return lines if job["passes"] else [*lines, "no pass has run"]


def _report_pass(done: dict[str, Any]) -> list[str]:
    """Result of a pass."""
    counts = {**{key: done[key] for key in ("seen", "proposed", "applied")}, "refused": len(done["refused"])}
    head = f"{done['pass']}: {done['outcome']} ({', '.join(f'{count:,} {what}' for what, count in counts.items())})"
    lines = [_describe_change(change) for change in done["changes"]]
    lines += [f"refused by {refusal['guard']}: {refusal['action']}: {refusal['reason']}" for refusal in done["refused"]]
    lines += [done["error"]] if done["error"] else []
    more = [f"… and {len(lines) - REPORTED_LINES:,} more (--json shows all)"] if len(lines) > REPORTED_LINES else []
    undo = [f"undo with: loci operation undo {done['operation_id']}"] if done["operation_id"] else []
    return [head, *(f"  {line}" for line in [*lines[:REPORTED_LINES], *more, *undo])]


def _describe_change(change: dict[str, Any]) -> str:
    """A change in one line: what was done, to what, and what it says, where the report has that."""
    said = change.get("content")
    return f"{change['action']} {', '.join(map(str, change['ids']))}{f': {said}' if said else ''}"


def _describe_calls(calls: dict[str, Any]) -> str:
    """Cost of calls of a model."""
    tokens = calls["prompt_tokens"] + calls["completion_tokens"]
    return f"{calls['calls']:,} {'call' if calls['calls'] == 1 else 'calls'} of a model, {tokens:,} tokens, cost {calls['cost']}"
