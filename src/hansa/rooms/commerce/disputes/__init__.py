"""Disputes: an agent complains about another, and an administrator rules."""

from hansa.rooms.commerce.disputes.account_end import ACCOUNT_END, open_disputes_of, require_unbound
from hansa.rooms.commerce.disputes.bond import (
    SLASH_BOND,
    BondSlash,
    BondSlashed,
    SlashBond,
)
from hansa.rooms.commerce.disputes.deciding import DISPUTE_DEADLINES
from hansa.rooms.commerce.disputes.routes import admin_router, malpractice_router, router

__all__ = [
    "ACCOUNT_END",
    "DISPUTE_DEADLINES",
    "SLASH_BOND",
    "BondSlash",
    "BondSlashed",
    "SlashBond",
    "admin_router",
    "malpractice_router",
    "open_disputes_of",
    "require_unbound",
    "router",
]
