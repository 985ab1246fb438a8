"""People: developers, their accounts and sessions."""

from .routes import router
from .sessions import check_developer

__all__ = ["check_developer", "router"]
