"""People: developers, their accounts and sessions."""

from .administrators import admit_administrator, create_administrator
from .api_keys import router as api_keys_router
from .audit_log import router as audit_log_router
from .check import check_developer
from .invites import router as invites_router
from .routes import router
from .store import names_of

__all__ = [
    "admit_administrator",
    "api_keys_router",
    "audit_log_router",
    "check_developer",
    "create_administrator",
    "invites_router",
    "names_of",
    "router",
]
