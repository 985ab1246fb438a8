"""Views of the newest epoch: trust, the agents around an agent, its volume, and its jobs for other frames."""

from .routes import router

__all__ = ["router"]
