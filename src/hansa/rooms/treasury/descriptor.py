"""Descriptor of the treasury room for the process."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.rooms import organizations

from .agents_moved import BUDGETS_OF_MOVED_AGENTS
from .control.budgeting import BUDGET
from .control.ruling import RULES
from .payments.contracting import CONTRACT
from .payments.crossings import FOLLOW_CROSSINGS
from .payments.paying import PAYMENT
from .routes import drawing_router, router

ROOM = Room(
    name="treasury",
    routes=(Routes(1988, drawing_router), Routes(1989, router)),
    reactors=(BUDGETS_OF_MOVED_AGENTS,),
    jobs=(FOLLOW_CROSSINGS,),
    settings=frozenset({"settlement_currency"}),
    fills=(organizations.REQUEST_KINDS.filled_with((PAYMENT, CONTRACT, RULES, BUDGET)),),
)
