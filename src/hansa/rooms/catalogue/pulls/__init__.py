"""Pull-sync: the registry reads the card that each agent serves itself, and calls the agent to see whether it answers."""

from .probing import HEALTH_CHECKS, note_heartbeat
from .pulling import CARD_PULLS
from .queue import RESULTS_AT_ONCE, WRITING, pull_cycle
from .routes import router
from .schemas import PullStatus

__all__ = [
    "CARD_PULLS",
    "HEALTH_CHECKS",
    "RESULTS_AT_ONCE",
    "WRITING",
    "PullStatus",
    "note_heartbeat",
    "pull_cycle",
    "router",
]
