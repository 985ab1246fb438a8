"""Pull-sync: the registry reads the card that each agent serves itself, and calls the agent for a sign of life."""

from .probing import note_heartbeat, probe_due
from .pulling import pull_due
from .routes import router

__all__ = ["note_heartbeat", "probe_due", "pull_due", "router"]
