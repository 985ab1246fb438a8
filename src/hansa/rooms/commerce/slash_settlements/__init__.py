"""Settlements: slashes of agents of other registries, asked for there, and those that others ask for here."""

from .administering import SettlementFilter, approve, list_settlements, reject, write_off
from .awarding import Awarded, begin_award, paid_before
from .beginning import RuledAbroad, begin, end_with, peer_of_party
from .channel import SETTLEMENTS_OUTBOX, SIGNED_VERDICT
from .routes import admin_router, peer_router
from .schemas import SettlementDirection, SettlementOut, SettlementReasonIn, SettlementStatus, SlashConfigIn
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
    "SettlementDirection",
    "SettlementFilter",
    "SettlementOut",
    "SettlementReasonIn",
    "SettlementStatus",
    "SlashConfigIn",
    "admin_router",
    "approve",
    "begin",
    "begin_award",
    "compensated_before",
    "end_with",
    "list_settlements",
    "lock_peer",
    "paid_before",
    "peer_of_party",
    "peer_router",
    "reject",
    "reopen",
    "worth",
    "write_off",
]
