"""Enforcement: which agents and developers are suspended or revoked by an administrator."""

from .blocklist import is_blocklisted
from .descriptor import ROOM
from .owners_told import OWNERS_TOLD

__all__ = ["OWNERS_TOLD", "ROOM", "is_blocklisted"]
