"""Reputation bonds: units that an agent deposits, and that a ruling can destroy."""

from hansa.rooms.reputation.bonds.admission import bond_admits
from hansa.rooms.reputation.bonds.bond import Policy
from hansa.rooms.reputation.bonds.moves import BOND_HOLD, let_go, slash_bond
from hansa.rooms.reputation.bonds.reading import ACCOUNT_END_OF_BONDS, read_bond
from hansa.rooms.reputation.bonds.replaying import BOND_EVENTS, BondCourse
from hansa.rooms.reputation.bonds.routes import config_router, router
from hansa.rooms.reputation.bonds.schemas import BondOut

__all__ = [
    "ACCOUNT_END_OF_BONDS",
    "BOND_EVENTS",
    "BOND_HOLD",
    "BondCourse",
    "BondOut",
    "Policy",
    "bond_admits",
    "config_router",
    "let_go",
    "read_bond",
    "router",
    "slash_bond",
]
