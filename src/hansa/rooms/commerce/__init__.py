"""Commerce: paid calls by payment tokens; contracts and disputes stand beside them."""

from hansa.rooms.commerce.descriptor import ROOM
from hansa.rooms.commerce.payments import SIGNATORY, ReceiptUnknown, signed_receipt

__all__ = ["ROOM", "SIGNATORY", "ReceiptUnknown", "signed_receipt"]
