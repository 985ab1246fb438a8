"""Operations: what owners watch of their agents, beginning with logs."""

from hansa.rooms.operations.descriptor import ROOM

__all__ = ["ROOM"]
