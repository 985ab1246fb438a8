"""Figures of agents."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

Step: TypeAlias = Literal["minute", "hour", "ever"]
RangeName: TypeAlias = Literal["1h", "24h", "7d", "30d"]


class Figures(msgspec.Struct, frozen=True):
    """Numbers of an agent in a time; amounts in minor units. Calls and failures count where the agent paid and where it was paid."""

    paid_calls: int = 0
    failed: int = 0
    earned: int = 0
    spent: int = 0
    fees: int = 0
    api_requests: int = 0
    api_errors: int = 0
    checks: int = 0
    checks_alive: int = 0
    log_errors: int = 0

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(*(getattr(self, name) + getattr(other, name) for name in COLUMNS))


COLUMNS = Figures.__struct_fields__
NOTHING = Figures()

Minute: TypeAlias = tuple[str, datetime]
"""DID of an agent and the beginning of a minute."""
SettleTimes: TypeAlias = Mapping[int, int]
"""Numbers of settled payments by bucket of their time (`rules.bucket_of`)."""


class TimeRange(msgspec.Struct, frozen=True):
    """Length of a range in points of equal length, made of the figures of one step."""

    step: Step
    seconds: int
    points: int


class Point(msgspec.Struct, frozen=True):
    """Figures from `at` until the next point."""

    at: datetime
    figures: Figures
    settle_times: SettleTimes


class Metrics(msgspec.Struct, frozen=True):
    """Figures of an agent in a range. Every event that was recorded before `computed_at` is in them."""

    agent_did: str
    time_range: RangeName
    begins_at: datetime
    ends_at: datetime
    computed_at: datetime
    points: list[Point]

    @property
    def total(self) -> Point:
        """The figures of the whole range."""
        figures, times = NOTHING, dict[int, int]()
        for point in self.points:
            figures += point.figures
            for bucket, payments in point.settle_times.items():
                times[bucket] = times.get(bucket, 0) + payments
        return Point(self.begins_at, figures, times)
