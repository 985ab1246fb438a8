"""Shapes of metrics."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount

from . import rules
from .records import Metrics, Point, RangeName


class MetricsQuery(LazyModel):
    """Range of the figures, and the form of the answer."""

    time_range: RangeName = Field(default="24h", description="Points of 1 minute, 30 minutes, 3 or 12 hours.")
    format: Literal["json", "prometheus"] | None = Field(
        default=None, description="Without it, `Accept: text/plain` asks for the text of Prometheus."
    )


class MetricsFiguresOut(LazyModel):
    """Figures in a time. Amounts are exact; times are within 4.5 %."""

    paid_calls: int = Field(description="Payments of calls that were settled, made and received.")
    earned: str = Field(
        description="Units received by transfers and payments, of this registry and others.",
        examples=["12.5"],
    )
    spent: str = Field(description="Units paid by transfers and payments, without fees.", examples=["4"])
    fees: str = Field(description="Fees that the agent paid.", examples=["0.02"])
    failed: int = Field(description="Payments of calls that failed, to be made and to be received.")
    success_rate: float | None = Field(description="paid_calls of paid_calls and failed; null without any.")
    settle_p50_ms: int | None = Field(
        description="Half of the payments took no longer from authorization to settlement."
    )
    settle_p95_ms: int | None = Field(description="95 of 100 payments took no longer.")
    api_requests: int = Field(description="Requests of the agent that the registry answered.")
    api_errors: int = Field(description="Those answered with a status of 400 and above.")
    uptime: float | None = Field(
        description="Share of the health checks that the agent answered; null without any."
    )
    log_errors: int = Field(description="Entries of the level ERROR that were written to the log.")

    @classmethod
    def members_of(cls, point: Point) -> dict[str, object]:
        """The members by name."""
        figures, times = point.figures, point.settle_times
        return {
            "paid_calls": figures.paid_calls,
            "earned": format_amount(figures.earned),
            "spent": format_amount(figures.spent),
            "fees": format_amount(figures.fees),
            "failed": figures.failed,
            "success_rate": rules.ratio(figures.paid_calls, figures.paid_calls + figures.failed),
            "settle_p50_ms": rules.quantile(times, 0.5),
            "settle_p95_ms": rules.quantile(times, 0.95),
            "api_requests": figures.api_requests,
            "api_errors": figures.api_errors,
            "uptime": rules.ratio(figures.checks_alive, figures.checks),
            "log_errors": figures.log_errors,
        }


class MetricsPointOut(MetricsFiguresOut):
    """Figures from `at` until the next point."""

    at: datetime


class MetricsOut(LazyModel):
    """Metrics of an agent: points of equal length, the oldest first; one without figures has zeros."""

    agent_did: str
    time_range: RangeName
    from_: datetime = Field(alias="from", description="Beginning of the first point.")
    to: datetime = Field(description="Time of this answer, within the last point.")
    totals: MetricsFiguresOut
    series: list[MetricsPointOut] = Field(max_length=60)
    computed_at: datetime = Field(
        description="Payments that were recorded before this time are in the figures; usually seconds ago."
    )

    @classmethod
    def of(cls, metrics: Metrics) -> "MetricsOut":
        return cls.model_validate(
            {
                "agent_did": metrics.agent_did,
                "time_range": metrics.time_range,
                "from": metrics.begins_at,
                "to": metrics.ends_at,
                "totals": MetricsFiguresOut.members_of(metrics.total),
                "series": [{"at": one.at, **MetricsFiguresOut.members_of(one)} for one in metrics.points],
                "computed_at": metrics.computed_at,
            }
        )
