"""People: developers, their accounts and sessions."""

from .administrators import admit_administrator, create_administrator
from .audit_log import router as audit_log_router
from .routes import router
from .sessions import check_developer

__all__ = ["admit_administrator", "audit_log_router", "check_developer", "create_administrator", "router"]
