"""The time where this machine is."""

from __future__ import annotations

from datetime import date, datetime, time


def began(day: date) -> float:
    """Return the moment at which a day begins here, in seconds since 1970; 0 for days up to that year.

    Clocks may change on the day: the offset is the one that holds when it begins.
    """
    return datetime.combine(day, time.min).timestamp() if day.year > 1970 else 0.0


def local(moment: datetime) -> datetime:
    """Return a moment by the clock of this machine, without a zone."""
    return moment.astimezone().replace(tzinfo=None) if moment.tzinfo else moment
