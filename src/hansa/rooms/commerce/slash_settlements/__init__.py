"""Settlements: slashes of agents of other registries, asked for there, and those that others ask for here."""

from .awarding import Awarded, begin_award, paid_before
from .beginning import RuledAbroad, begin, end_with, peer_of_party
from .channel import SETTLEMENTS_OUTBOX, SIGNED_VERDICT
from .routes import admin_router, peer_router
from .settlement import SAME_UNIT, Claim, worth
from .slashing import SLASHING_JOBS
from .store import compensated_before, lock_peer, reopen

__all__ = [
    "SAME_UNIT",
    "SETTLEMENTS_OUTBOX",
    "SIGNED_VERDICT",
    "SLASHING_JOBS",
    "Awarded",
    "Claim",
    "RuledAbroad",
    "admin_router",
    "begin",
    "begin_award",
    "compensated_before",
    "end_with",
    "lock_peer",
    "paid_before",
    "peer_of_party",
    "peer_router",
    "reopen",
    "worth",
]
