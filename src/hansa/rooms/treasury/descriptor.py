"""Descriptor of the treasury room for the process."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.rooms import organizations

from .agents_moved import BUDGETS_OF_MOVED_AGENTS
from .agreements import router as agreements_router
from .control.budgeting import BUDGET
from .control.ruling import RULES
from .counting import ARREARS
from .payments.contracting import CONTRACT
from .payments.crossings import FOLLOW_CROSSINGS
from .payments.paying import PAYMENT
from .routes import drawing_router, router
from .work_orders import (
    AWARD,
    WORK_ORDER_EXPIRIES,
    WORK_ORDERS_FOLLOW,
    blockers_of,
    board_router,
    orders_router,
)

ROOM = Room(
    name="treasury",
    routes=(
        Routes(1985, agreements_router),
        Routes(1986, orders_router),
        Routes(1987, board_router),
        Routes(1988, drawing_router),
        Routes(1989, router),
    ),
    reactors=(BUDGETS_OF_MOVED_AGENTS, WORK_ORDERS_FOLLOW),
    jobs=(FOLLOW_CROSSINGS, WORK_ORDER_EXPIRIES),
    settings=frozenset({"ledger_id", "settlement_currency"}),
    offers=(ARREARS,),
    fills=(
        organizations.REQUEST_KINDS.filled_with((PAYMENT, CONTRACT, AWARD, RULES, BUDGET)),
        organizations.BLOCKERS_ABOVE.filled_with(blockers_of),
    ),
)
