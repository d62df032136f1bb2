"""Days as models are told them: those of UTC, whatever the time zone of the server that said the moment."""

from datetime import UTC, date, datetime


def day_of(moment: datetime) -> date:
    """The day of a moment. A moment from the database is in the zone of its session, which may have another day."""
    return moment.astimezone(UTC).date()
