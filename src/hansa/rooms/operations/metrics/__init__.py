"""Metrics of agents: figures by minute and hour, made of the journal and of counts of the processes."""

from .counting import COUNT_PAYMENTS, FORGET_OLD, SETTLE_TIMES, add_log_errors
from .noting import NOTED, WRITE_NOTED, write_noted, writing_noted
from .reading import metrics_of
from .records import Metrics, Point, RangeName
from .routes import router
from .rules import quantile
from .schemas import MetricsFiguresOut

__all__ = [
    "COUNT_PAYMENTS",
    "FORGET_OLD",
    "NOTED",
    "SETTLE_TIMES",
    "WRITE_NOTED",
    "Metrics",
    "MetricsFiguresOut",
    "Point",
    "RangeName",
    "add_log_errors",
    "metrics_of",
    "quantile",
    "router",
    "write_noted",
    "writing_noted",
]
