"""Descriptor of reputation for the process."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.foundation.plumbing.telemetry.metrics import unbonded_accepts_total
from hansa.rooms import commerce, spawn

from . import bonds, scores, views

ROOM = Room(
    name="reputation",
    routes=(
        Routes(2030, bonds.router),
        Routes(2031, bonds.config_router),
        Routes(2032, scores.router),
        Routes(2033, views.router),
    ),
    reactors=(scores.SIGNALS,),
    jobs=(scores.RECORD_SIGNALS, *scores.JOBS),
    settings=frozenset(
        {
            "bond_maturity_days",
            "bond_minimum",
            "bond_mode",
            "mark_min_fee",
            "settlement_currency",
            "trust_domain",
        }
    ),
    metrics=(unbonded_accepts_total,),
    account_end=bonds.ACCOUNT_END_OF_BONDS,
    fills=(
        commerce.BOND_ADMITS.filled_with(bonds.bond_admits),
        commerce.SLASH_BOND.filled_with(bonds.slash_bond),
        spawn.LET_BOND_GO.filled_with(bonds.let_go),
    ),
)
