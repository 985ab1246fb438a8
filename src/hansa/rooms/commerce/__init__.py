"""Commerce: paid calls by payment tokens; contracts and disputes stand beside them."""

from hansa.rooms.commerce.descriptor import ROOM
from hansa.rooms.commerce.disputes import SLASH_BOND, BondSlash, BondSlashed, SlashBond
from hansa.rooms.commerce.payments import SIGNATORY, ReceiptUnknown, signed_receipt

__all__ = [
    "ROOM",
    "SIGNATORY",
    "SLASH_BOND",
    "BondSlash",
    "BondSlashed",
    "ReceiptUnknown",
    "SlashBond",
    "signed_receipt",
]
