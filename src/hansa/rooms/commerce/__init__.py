"""Commerce: paid calls by payment tokens, contracts of two agents, disputes."""

from hansa.rooms.commerce.descriptor import ROOM
from hansa.rooms.commerce.disputes import SLASH_BOND, BondSlash, BondSlashed, SlashBond, open_disputes_of
from hansa.rooms.commerce.payments import SIGNATORY, ReceiptUnknown, signed_receipt

__all__ = [
    "ROOM",
    "SIGNATORY",
    "SLASH_BOND",
    "BondSlash",
    "BondSlashed",
    "ReceiptUnknown",
    "SlashBond",
    "open_disputes_of",
    "signed_receipt",
]
