"""Treasury: payments of an organization, by its rules and its budgets."""

from hansa.rooms.treasury.auditing import request_gaps
from hansa.rooms.treasury.descriptor import ROOM

__all__ = ["ROOM", "request_gaps"]
