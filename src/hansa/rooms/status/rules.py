"""Uptime: time that two measurements in a row enclose counts as up where neither found the component failed.

- Time that no measurement encloses counts as down: no process lived, or none could write.
- The time before the first measurement is not known, and counts for nothing.
- A day is a day of UTC. A share is rounded down: a day with an outage never shows as a whole one.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta

from .records import Component, Measured, Measurements, State

EVERY_SECONDS = 60
GAP_MAX = timedelta(seconds=150)
"""Measurements that are further apart enclose nothing: two of them were missed."""
DAYS = 90
PLACES = 10_000

_DAY = timedelta(days=1)
_MS = timedelta(milliseconds=1)


def up_between(before: Measured, state: State, now: datetime) -> dict[date, int]:
    """Milliseconds of uptime, by day, that a measurement of `state` at `now` adds to the one before it."""
    if now - before.measured_at > GAP_MAX or "failed" in (before.state, state):
        return {}
    return {
        day: milliseconds for day, milliseconds in _days_between(before.measured_at, now) if milliseconds > 0
    }


def since(before: Measured | None, state: State, now: datetime) -> datetime:
    """Time since which the component has this state; a gap begins it anew."""
    if before is None or before.state != state or now - before.measured_at > GAP_MAX:
        return now
    return before.since


def uptime_of(found: Measurements, name: Component) -> list[tuple[date, float | None]]:
    """Share of each of the last 90 days in which the component worked, the oldest first; None for a day before the first measurement."""
    today = found.at.astimezone(UTC).date()
    days = [today - timedelta(days=ago) for ago in range(DAYS - 1, -1, -1)]
    component = found.components.get(name)
    if component is None:
        return [(day, None) for day in days]
    return [(day, _share(found, component, day)) for day in days]


def is_stale(found: Measurements, name: Component) -> bool:
    """Return whether the last measurement of a component is so old that one was missed."""
    component = found.components.get(name)
    return component is not None and found.at - component.measured_at > GAP_MAX


def worst(states: Mapping[Component, State]) -> State:
    """State of the whole: the worst of its parts; parts that are off do not count."""
    present = set(states.values())
    return "failed" if "failed" in present else "degraded" if "degraded" in present else "ok"


def _share(found: Measurements, component: Measured, day: date) -> float | None:
    begin = max(_midnight(day), component.began_at)
    # Time after the last measurement is not known yet, unless a measurement was missed.
    known_until = found.at if is_stale(found, component.name) else component.measured_at
    end = min(_midnight(day) + _DAY, known_until)
    whole = (end - begin) // _MS
    if whole <= 0:
        is_before = _midnight(day) + _DAY <= component.began_at
        return None if is_before else 1.0
    return min(found.days.get((component.name, day), 0) * PLACES // whole, PLACES) / PLACES


def _days_between(begin: datetime, end: datetime) -> Iterator[tuple[date, int]]:
    while begin < end:
        day = begin.astimezone(UTC).date()
        until = min(end, _midnight(day) + _DAY)
        yield day, (until - begin) // _MS
        begin = until


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
