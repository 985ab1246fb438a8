"""Log of the acts of administrators."""

from .reading import read_audit_log
from .routes import router

__all__ = ["read_audit_log", "router"]
