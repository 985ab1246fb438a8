"""What the process needs to know of commerce."""

from hansa.foundation.plumbing.room import Room, Routes

from . import payments, x402

ROOM = Room(
    name="commerce",
    routes=(
        Routes(150, payments.hot_router),
        Routes(2020, payments.router),
        Routes(3500, x402.router, at_root=True),
    ),
    jobs=payments.JOBS,
    settings=frozenset({"agent_rbac_mode", "base_url", "settlement_currency"}),
    offers=(payments.VERIFIER, payments.SETTLEMENTS),
    fills=(
        payments.VERIFIER.built_by(payments.Verifier),
        payments.SETTLEMENTS.built_by(payments.Settlements),
    ),
)
