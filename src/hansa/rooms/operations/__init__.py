"""Operations: what owners watch of their agents, logs and metrics; bundles of agents."""

from hansa.rooms.operations.bundles import PIPELINES_OF_BUNDLE, PipelinesOfBundle
from hansa.rooms.operations.descriptor import ROOM
from hansa.rooms.operations.logs import (
    Entry,
    EntryFilter,
    note_refused_payment_token,
    note_stopped_webhook,
)
from hansa.rooms.operations.logs import read as read_log
from hansa.rooms.operations.metrics import (
    NOTED,
    SETTLE_TIMES,
    MetricsFiguresOut,
    Point,
    RangeName,
    metrics_of,
    quantile,
)

__all__ = [
    "NOTED",
    "PIPELINES_OF_BUNDLE",
    "ROOM",
    "SETTLE_TIMES",
    "Entry",
    "EntryFilter",
    "MetricsFiguresOut",
    "PipelinesOfBundle",
    "Point",
    "RangeName",
    "metrics_of",
    "note_refused_payment_token",
    "note_stopped_webhook",
    "quantile",
    "read_log",
]
