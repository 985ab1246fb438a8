"""Pull-sync: the registry reads the card that each agent serves itself, and calls the agent to see whether it answers."""

from .mirror_probes import MIRROR_PROBES
from .probing import HEALTH_CHECKS, note_heartbeat
from .proving import NAMESPACE_PROOFS
from .pulling import CARD_PULLS
from .queue import VISIT_MADE, pull_cycle
from .records import MadeVisit
from .routes import router
from .schemas import PullStatus

__all__ = [
    "CARD_PULLS",
    "HEALTH_CHECKS",
    "MIRROR_PROBES",
    "NAMESPACE_PROOFS",
    "VISIT_MADE",
    "MadeVisit",
    "PullStatus",
    "note_heartbeat",
    "pull_cycle",
    "router",
]
