"""API keys: what scripts show in place of a developer token."""

from .check import KEY_PREFIX, check_api_key, check_key_behind_ticket
from .routes import router

__all__ = ["KEY_PREFIX", "check_api_key", "check_key_behind_ticket", "router"]
