"""Definitions of the achievements, and the decisions by which events earn them. An achievement is earned once and stays."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec.structs import replace

from hansa.rooms import catalogue, reputation

from .records import YEAR, Definition, Earned, Life, Progress, Tally

FIRST_BOND = "first_bond"
FIRST_JOB_ABROAD = "first_job_abroad"
HUNDRED_SETTLED = "hundred_settled"
YEAR_ALIVE = "year_alive"

MARKS = tuple(
    Definition(
        f"mark_{name.lower()}",
        name,
        f"{jobs} verified {'job' if jobs == 1 else 'jobs'}.",
        jobs,
        is_mark=True,
    )
    for jobs, name in catalogue.GRADES
)
DEFINITIONS = (
    *MARKS,
    Definition(FIRST_BOND, "First bond", "A reputation bond was deposited.", 1),
    Definition(
        FIRST_JOB_ABROAD, "First job abroad", "A verified job was paid by an agent of another registry.", 1
    ),
    Definition(
        HUNDRED_SETTLED,
        "Hundred settled",
        "100 payments that count were received with no dispute lost between them.",
        100,
    ),
    Definition(YEAR_ALIVE, "A year alive", "The agent has existed for 365 days.", YEAR.days),
)
"""All achievements, in the order in which they are listed."""


def parties(signal: reputation.RecordedSignal) -> tuple[str, ...]:
    """Agents whose tally a signal changes: the payee of a payment, or the loser of a dispute."""
    if signal.kind == "payment":
        return (signal.receiver,) if signal.counts else ()
    return (signal.giver if signal.kind == "ruling_for_defendant" else signal.receiver,)


def counted(tally: Tally, signal: reputation.RecordedSignal) -> tuple[Tally, tuple[tuple[str, Earned], ...]]:
    """The tally of the party of a signal after it, and the achievements that it earns the party."""
    if signal.kind != "payment":
        return replace(tally, settled=0), ()
    after = Tally(
        verified=tally.verified + signal.is_verified,
        foreigners=tally.foreigners + (signal.is_verified and signal.is_foreign),
        settled=tally.settled + 1,
    )
    have = _counts(after)
    before = _counts(tally)
    codes = [
        one.code for one in DEFINITIONS if one.code in have and before[one.code] < one.need <= have[one.code]
    ]
    return after, tuple((signal.receiver, Earned(code, signal.at, signal.event_seq)) for code in codes)


def of_life(life: Life, now: datetime) -> tuple[Earned, ...]:
    """The achievements of an agent by its age: those of a revoked one stay as they were."""
    if life.began_at is None or life.event_seq is None:
        return ()
    due = life.began_at + YEAR
    if due > min(life.ended_at or now, now):
        return ()
    return (Earned(YEAR_ALIVE, due, life.event_seq),)


def upcoming(tally: Tally, life: Life, earned: Iterable[str], now: datetime) -> tuple[Progress, ...]:
    """The achievements that an agent can earn next: the next mark and all others. A revoked agent earns no more."""
    if life.ended_at is not None:
        return ()
    have = {**_counts(tally), FIRST_BOND: 0, YEAR_ALIVE: _days(life, now)}
    known = frozenset(earned)
    marks = [one for one in MARKS if one.code not in known][:1]
    others = [one for one in DEFINITIONS if not one.is_mark and one.code not in known]
    return tuple(Progress(one.code, min(have[one.code], one.need - 1), one.need) for one in (*marks, *others))


def in_order(earned: Iterable[Earned]) -> tuple[Earned, ...]:
    """Achievements by the time at which they were earned."""
    place = {one.code: number for number, one in enumerate(DEFINITIONS)}
    return tuple(sorted(earned, key=lambda one: (one.earned_at, one.event_seq, place.get(one.code, 0))))


def _counts(tally: Tally) -> Mapping[str, int]:
    return {
        **{mark.code: tally.verified for mark in MARKS},
        FIRST_JOB_ABROAD: tally.foreigners,
        HUNDRED_SETTLED: tally.settled,
    }


def _days(life: Life, now: datetime) -> int:
    return 0 if life.began_at is None else max(0, (now - life.began_at).days)
