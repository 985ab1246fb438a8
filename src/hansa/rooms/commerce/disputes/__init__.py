"""Disputes: an agent complains about another, and an administrator rules."""

from hansa.rooms.commerce.disputes.bond import (
    SLASH_BOND,
    BondSlash,
    BondSlashed,
    SlashBond,
    without_bonds,
)

__all__ = ["SLASH_BOND", "BondSlash", "BondSlashed", "SlashBond", "without_bonds"]
