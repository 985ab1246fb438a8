"""Enforcement: which agents and developers are suspended or revoked by an administrator."""

from .descriptor import ROOM
from .reading import hard_suspensions_at
from .rules import HardSuspension

__all__ = ["ROOM", "HardSuspension", "hard_suspensions_at"]
