"""Appointment of an owner by an administrator, where too few owners can act: it takes effect a week after notice, unless an owner vetoes it."""

from hansa.rooms.organizations.appointments.carrying_out import CARRYING_OUT
from hansa.rooms.organizations.appointments.routes import admin_router, router

__all__ = ["CARRYING_OUT", "admin_router", "router"]
