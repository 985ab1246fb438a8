"""Standing: who may not act, by the word of an administrator."""

from .blocklist import BLOCKLIST, is_blocklisted
from .developers import is_developer_suspended
from .owners_told import OWNERS_TOLD
from .reading import hard_suspensions_at
from .routes import router
from .rules import HardSuspension

__all__ = [
    "BLOCKLIST",
    "OWNERS_TOLD",
    "HardSuspension",
    "hard_suspensions_at",
    "is_blocklisted",
    "is_developer_suspended",
    "router",
]
