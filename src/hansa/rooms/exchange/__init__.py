"""Exchange: organizations sell points, rights to a share of their revenue for a term."""

from hansa.rooms.exchange.auditing import gaps
from hansa.rooms.exchange.descriptor import ROOM

__all__ = ["ROOM", "gaps"]
