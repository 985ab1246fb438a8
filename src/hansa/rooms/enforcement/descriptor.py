"""Descriptor of enforcement for the process."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED

from .blocklist import BLOCKLIST
from .correction_routes import corrections_router
from .developers import is_suspended_or_closed
from .routes import router

ROOM = Room(
    name="enforcement",
    routes=(Routes(2000, router), Routes(2001, corrections_router)),
    reactors=(BLOCKLIST,),
    settings=frozenset({"base_url"}),
    fills=(IS_DEVELOPER_SUSPENDED.filled_with(is_suspended_or_closed),),
)
