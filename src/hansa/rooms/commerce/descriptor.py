"""What the process needs to know of commerce."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.rooms import agents

from . import contracts, payments

ROOM = Room(
    name="commerce",
    routes=(
        Routes(150, payments.hot_router),
        Routes(2010, contracts.router),
        Routes(2020, payments.router),
    ),
    reactors=(contracts.CONTRACTS_FOLLOW,),
    jobs=(contracts.CONTRACT_DEADLINES, contracts.CONTRACTS_OF_REVOKED, *payments.JOBS),
    settings=frozenset({"base_url", "dispute_window_hours", "settlement_currency", "trust_domain"}),
    account_end=contracts.ACCOUNT_END_OF_CONTRACTS,
    offers=(payments.VERIFIER, payments.SETTLEMENTS),
    fills=(
        payments.VERIFIER.built_by(payments.Verifier),
        payments.SETTLEMENTS.built_by(payments.Settlements),
        agents.REQUIRE_UNBOUND.filled_with(contracts.require_unbound),
    ),
)
