"""Treasury: payments of an organization, by its rules and its budgets."""

from hansa.rooms.treasury.auditing import request_gaps
from hansa.rooms.treasury.descriptor import ROOM
from hansa.rooms.treasury.work_orders import gaps as work_order_gaps

__all__ = [
    "ROOM",
    "request_gaps",
    "work_order_gaps",
]
