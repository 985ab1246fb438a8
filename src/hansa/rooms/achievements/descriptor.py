"""Descriptor of the achievements room for the process."""

from hansa.foundation.plumbing.room import Room, Routes

from . import flares
from .counting import COUNT_SIGNALS, LIVES_AND_BONDS
from .routes import router

ROOM = Room(
    name="achievements",
    routes=(Routes(2070, flares.router), Routes(2071, router)),
    reactors=(LIVES_AND_BONDS,),
    jobs=(COUNT_SIGNALS,),
    settings=frozenset({"flare_prices", "ledger_id", "settlement_currency"}),
)
