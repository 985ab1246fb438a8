"""The end of an account: only an empty one is closed."""

from hansa.rooms.ledger.closing.close import close_account
from hansa.rooms.ledger.closing.errors import AccountHoldsUnits, CrossingPending

__all__ = ["AccountHoldsUnits", "CrossingPending", "close_account"]
