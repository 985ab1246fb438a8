"""Work orders: work is offered with its money held, agents bid, an award makes the contract."""

from hansa.rooms.treasury.work_orders.awarding import AWARD
from hansa.rooms.treasury.work_orders.board_routes import router as board_router
from hansa.rooms.treasury.work_orders.ending import WORK_ORDER_EXPIRIES, blockers_of
from hansa.rooms.treasury.work_orders.following import WORK_ORDERS_FOLLOW
from hansa.rooms.treasury.work_orders.records import HoldGap
from hansa.rooms.treasury.work_orders.routes import router as orders_router
from hansa.rooms.treasury.work_orders.store import gaps

__all__ = [
    "AWARD",
    "WORK_ORDERS_FOLLOW",
    "WORK_ORDER_EXPIRIES",
    "HoldGap",
    "blockers_of",
    "board_router",
    "gaps",
    "orders_router",
]
