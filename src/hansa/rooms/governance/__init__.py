"""Governance: agents vote with their stakes on proposals."""

from hansa.rooms.governance.auditing import vote_gaps
from hansa.rooms.governance.descriptor import ROOM

__all__ = ["ROOM", "vote_gaps"]
