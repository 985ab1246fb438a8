"""Descriptor of the support room for the process."""

from hansa.foundation.plumbing.room import AccountEnd, Room, Routes
from hansa.foundation.plumbing.telemetry.metrics import support_oldest_seconds, support_waiting

from .admin_routes import admin_router
from .closing import CLOSE_RESOLVED
from .routes import router
from .store import erase
from .waiting import SHOW_WAITING

ROOM = Room(
    name="support",
    routes=(Routes(2065, router), Routes(2066, admin_router)),
    jobs=(CLOSE_RESOLVED,),
    rounds=(SHOW_WAITING,),
    metrics=(support_oldest_seconds, support_waiting),
    settings=frozenset({"base_url"}),
    account_end=AccountEnd(erase=erase),
)
