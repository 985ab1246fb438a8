"""What the process needs to know of commerce."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.rooms import agents

from . import contracts

ROOM = Room(
    name="commerce",
    routes=(Routes(2010, contracts.router),),
    reactors=(contracts.CONTRACTS_FOLLOW,),
    jobs=(contracts.CONTRACT_DEADLINES, contracts.CONTRACTS_OF_REVOKED),
    settings=frozenset({"dispute_window_hours", "settlement_currency", "trust_domain"}),
    account_end=contracts.ACCOUNT_END_OF_CONTRACTS,
    fills=(agents.REQUIRE_UNBOUND.filled_with(contracts.require_unbound),),
)
