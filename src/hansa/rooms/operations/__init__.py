"""Operations: what owners watch of their agents, logs and metrics; versions of their code, deployments and bundles."""

from hansa.rooms.operations.bundles import PIPELINES_OF_BUNDLE, PipelinesOfBundle
from hansa.rooms.operations.deployments import DeploymentRequest, list_deployments, preview_deployment
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
from hansa.rooms.operations.releases import releases_of

__all__ = [
    "NOTED",
    "PIPELINES_OF_BUNDLE",
    "ROOM",
    "SETTLE_TIMES",
    "DeploymentRequest",
    "Entry",
    "EntryFilter",
    "MetricsFiguresOut",
    "PipelinesOfBundle",
    "Point",
    "RangeName",
    "list_deployments",
    "metrics_of",
    "note_refused_payment_token",
    "note_stopped_webhook",
    "preview_deployment",
    "quantile",
    "read_log",
    "releases_of",
]
