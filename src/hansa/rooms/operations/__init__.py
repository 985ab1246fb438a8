"""Operations: what owners watch of their agents, logs and metrics; versions of their code, deployments, bundles and projects."""

from hansa.rooms.operations.building import PROJECT_FILE, PROJECT_TYPE, AgentProjectIn, build_project
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
    "PROJECT_FILE",
    "PROJECT_TYPE",
    "ROOM",
    "SETTLE_TIMES",
    "AgentProjectIn",
    "DeploymentRequest",
    "Entry",
    "EntryFilter",
    "MetricsFiguresOut",
    "PipelinesOfBundle",
    "Point",
    "RangeName",
    "build_project",
    "list_deployments",
    "metrics_of",
    "note_refused_payment_token",
    "note_stopped_webhook",
    "preview_deployment",
    "quantile",
    "read_log",
    "releases_of",
]
