"""Standing: who may not act, by the word of an administrator."""

from .blocklist import BLOCKLIST, is_blocklisted
from .developers import is_developer_suspended
from .routes import router

__all__ = ["BLOCKLIST", "is_blocklisted", "is_developer_suspended", "router"]
