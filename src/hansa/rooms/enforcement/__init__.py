"""Standing: who may not act, by the word of an administrator."""

from .blocklist import BLOCKLIST, is_blocklisted
from .developers import is_developer_suspended
from .owners_told import OWNERS_TOLD
from .routes import router

__all__ = ["BLOCKLIST", "OWNERS_TOLD", "is_blocklisted", "is_developer_suspended", "router"]
