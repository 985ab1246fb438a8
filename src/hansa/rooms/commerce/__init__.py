"""Commerce: paid calls by payment tokens; contracts and disputes stand beside them."""

from hansa.rooms.commerce.bonds import BOND_ADMITS
from hansa.rooms.commerce.contracts import OpenBusiness, open_business
from hansa.rooms.commerce.descriptor import ROOM
from hansa.rooms.commerce.disputes import SLASH_BOND, BondSlash, BondSlashed, SlashBond
from hansa.rooms.commerce.payments import SIGNATORY, ReceiptUnknown, signed_receipt

__all__ = [
    "BOND_ADMITS",
    "ROOM",
    "SIGNATORY",
    "SLASH_BOND",
    "BondSlash",
    "BondSlashed",
    "OpenBusiness",
    "ReceiptUnknown",
    "SlashBond",
    "open_business",
    "signed_receipt",
]
