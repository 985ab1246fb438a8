"""What the process needs to know of commerce."""

from hansa.foundation.plumbing.room import Room, Routes

from . import payments

ROOM = Room(
    name="commerce",
    routes=(Routes(150, payments.hot_router), Routes(2020, payments.router)),
    jobs=payments.JOBS,
    settings=frozenset({"base_url", "settlement_currency"}),
    offers=(payments.VERIFIER, payments.SETTLEMENTS),
    fills=(
        payments.VERIFIER.built_by(payments.Verifier),
        payments.SETTLEMENTS.built_by(payments.Settlements),
    ),
)
