"""Descriptor of the support room for the process."""

from hansa.foundation.plumbing.room import AccountEnd, Room, Routes

from .admin_routes import admin_router
from .closing import CLOSE_RESOLVED
from .routes import router
from .store import erase

ROOM = Room(
    name="support",
    routes=(Routes(2065, router), Routes(2066, admin_router)),
    jobs=(CLOSE_RESOLVED,),
    settings=frozenset({"base_url"}),
    account_end=AccountEnd(erase=erase),
)
