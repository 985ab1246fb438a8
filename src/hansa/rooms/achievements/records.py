"""Achievements as they are counted and read."""

from datetime import datetime, timedelta

import msgspec

YEAR = timedelta(days=365)


class Definition(msgspec.Struct, frozen=True):
    """Achievement that agents can earn: `need` of what it counts."""

    code: str
    title: str
    description: str
    need: int
    is_mark: bool = False


class Tally(msgspec.Struct, frozen=True):
    """Counted signals of an agent: verified jobs, those for other registries, and payments settled since the last lost dispute."""

    verified: int = 0
    foreigners: int = 0
    settled: int = 0


class Life(msgspec.Struct, frozen=True):
    """Beginning of an agent, by its event, and its end."""

    began_at: datetime | None = None
    event_seq: int | None = None
    ended_at: datetime | None = None


class Earned(msgspec.Struct, frozen=True):
    """Achievement of an agent: it was earned by this event, or at a time since it."""

    code: str
    earned_at: datetime
    event_seq: int


class Progress(msgspec.Struct, frozen=True):
    """Achievement that an agent has not earned yet."""

    code: str
    have: int
    need: int


class Achievements(msgspec.Struct, frozen=True):
    """Achievements of an agent; where its owner does not show them there are none. Its marks are `dashed` if they include foreign jobs."""

    agent_did: str
    is_shown: bool
    is_dashed: bool
    earned: tuple[Earned, ...] = ()
    next: tuple[Progress, ...] = ()
