"""Pull-sync: the registry reads the card that each agent serves itself, and calls the agent to see whether it answers."""

from .probing import HEALTH_CHECKS, note_heartbeat
from .pulling import CARD_PULLS
from .queue import RESULTS_AT_ONCE, WRITING
from .routes import router

__all__ = ["CARD_PULLS", "HEALTH_CHECKS", "RESULTS_AT_ONCE", "WRITING", "note_heartbeat", "router"]
