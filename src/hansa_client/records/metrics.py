"""Answers about metrics of agents."""

from datetime import datetime

from msgspec import field

from .record import Record


class MetricsFigures(Record, frozen=True):
    """Figures in a time; amounts are decimal strings. A rate and a time without anything to measure is None."""

    paid_calls: int
    earned: str
    spent: str
    fees: str
    failed: int
    success_rate: float | None
    settle_p50_ms: int | None
    settle_p95_ms: int | None
    api_requests: int
    api_errors: int
    uptime: float | None
    log_errors: int


class MetricsPoint(MetricsFigures, frozen=True):
    """Figures from `at` until the next point."""

    at: datetime


class AgentMetrics(Record, frozen=True):
    """Metrics of an agent: points of equal length, the oldest first. Payments recorded before `computed_at` are in them."""

    agent_did: str
    time_range: str
    from_: datetime = field(name="from")
    to: datetime
    totals: MetricsFigures
    series: list[MetricsPoint]
    computed_at: datetime
