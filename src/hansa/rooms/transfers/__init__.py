"""The methods by which units move: so far, between two agents of this registry."""

from hansa.rooms.transfers.descriptor import ROOM

__all__ = ["ROOM"]
