"""Treasury: payments of an organization, by its rules and its budgets."""

from hansa.rooms.treasury.agreements.waiting import (
    WORK_WAITING,
    WaitingWork,
    work_waiting_for,
    work_waiting_in,
)
from hansa.rooms.treasury.auditing import request_gaps
from hansa.rooms.treasury.counting import ARREARS, rules_of
from hansa.rooms.treasury.descriptor import ROOM
from hansa.rooms.treasury.judging import TIERS_MAX, demands_of
from hansa.rooms.treasury.records import Budget, Day, Rules
from hansa.rooms.treasury.store import budgets_of as budgets_in
from hansa.rooms.treasury.store import today
from hansa.rooms.treasury.work_orders import gaps as work_order_gaps
from hansa.rooms.treasury.work_orders.bidding import bids_read_by
from hansa.rooms.treasury.work_orders.errors import WorkOrderUnknown
from hansa.rooms.treasury.work_orders.reading import orders_of_organization, read_order
from hansa.rooms.treasury.work_orders.records import ShownOrder
from hansa.rooms.treasury.work_orders.schemas import WorkBidOut, WorkOrderOut

__all__ = [
    "ARREARS",
    "ROOM",
    "TIERS_MAX",
    "WORK_WAITING",
    "Budget",
    "Day",
    "Rules",
    "ShownOrder",
    "WaitingWork",
    "WorkBidOut",
    "WorkOrderOut",
    "WorkOrderUnknown",
    "bids_read_by",
    "budgets_in",
    "demands_of",
    "orders_of_organization",
    "read_order",
    "request_gaps",
    "rules_of",
    "today",
    "work_order_gaps",
    "work_waiting_for",
    "work_waiting_in",
]
