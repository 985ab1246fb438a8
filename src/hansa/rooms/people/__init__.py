"""People: developers, their accounts and sessions."""

from .administrators import admit_administrator, create_administrator
from .routes import router
from .sessions import check_developer

__all__ = ["admit_administrator", "check_developer", "create_administrator", "router"]
