"""Operations: what owners watch of their agents, logs and metrics; bundles of agents."""

from hansa.rooms.operations.bundles import PIPELINES_OF_BUNDLE, PipelinesOfBundle
from hansa.rooms.operations.descriptor import ROOM
from hansa.rooms.operations.logs import note_refused_payment_token, note_stopped_webhook
from hansa.rooms.operations.metrics import NOTED, SETTLE_TIMES

__all__ = [
    "NOTED",
    "PIPELINES_OF_BUNDLE",
    "ROOM",
    "SETTLE_TIMES",
    "PipelinesOfBundle",
    "note_refused_payment_token",
    "note_stopped_webhook",
]
