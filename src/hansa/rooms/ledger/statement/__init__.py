"""Account statements: an agent's own transactions, and what fees are."""

from .routes import router

__all__ = ["router"]
