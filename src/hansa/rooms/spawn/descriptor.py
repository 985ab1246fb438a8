"""Descriptor of the spawn room for the process."""

from hansa.foundation.plumbing.room import Room, Routes

from .ending import END_CHILDREN, LET_BOND_GO
from .routes import router

ROOM = Room(
    name="spawn",
    routes=(Routes(1480, router),),
    jobs=(END_CHILDREN,),
    settings=frozenset({"agent_rbac_mode", "settlement_currency"}),
    offers=(LET_BOND_GO,),
)
