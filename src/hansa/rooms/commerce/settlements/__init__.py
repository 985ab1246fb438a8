"""Settlements: slashes of agents of other registries, asked for there, and those that others ask for here."""

from .beginning import RuledAbroad, begin, peer_of_defendant
from .exchange import EXCHANGE_JOBS, SIGNED_VERDICT
from .routes import admin_router, peer_router
from .settlement import SAME_UNIT, Claim, worth
from .slashing import SLASHING_JOBS

__all__ = [
    "EXCHANGE_JOBS",
    "SAME_UNIT",
    "SIGNED_VERDICT",
    "SLASHING_JOBS",
    "Claim",
    "RuledAbroad",
    "admin_router",
    "begin",
    "peer_of_defendant",
    "peer_router",
    "worth",
]
