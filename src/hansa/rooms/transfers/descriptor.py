"""What the process needs to know of the transfers room."""

from hansa.foundation.plumbing.room import Room, Routes

from .routes import router

ROOM = Room(
    name="transfers",
    # The hot routes are matched first.
    routes=(Routes(100, router),),
    settings=frozenset({"settlement_currency"}),
)
