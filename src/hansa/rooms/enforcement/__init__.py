"""Enforcement: which agents and developers are suspended or revoked by an administrator."""

from .blocklist import is_blocklisted
from .descriptor import ROOM
from .owners_told import OWNERS_TOLD
from .reading import hard_suspensions_at
from .rules import HardSuspension

__all__ = ["OWNERS_TOLD", "ROOM", "HardSuspension", "hard_suspensions_at", "is_blocklisted"]
