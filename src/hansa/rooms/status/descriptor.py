"""Descriptor of the status room for the process."""

from hansa.foundation.plumbing.jobs import sweep
from hansa.foundation.plumbing.room import Room, Routes

from .measuring import MEASURE
from .routes import admin_router, public_router
from .store import forget_days

ROOM = Room(
    name="status",
    routes=(Routes(2700, public_router), Routes(2710, admin_router)),
    jobs=(MEASURE, sweep("status: forget old days", 24 * 3600, forget_days)),
    settings=frozenset({"ledger_id", "mcp_enabled", "require_admin_2fa"}),
)
