"""Why the book refuses."""

from typing import ClassVar

from hansa.foundation.values.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, Refused


class InsufficientBalance(Refused):
    """The payer cannot cover the amount and its fee."""

    status: ClassVar[int] = 402
    code = "INSUFFICIENT_BALANCE"
    sentence = "The balance does not cover the amount and its fee."


class AccountUnknown(NotFound):
    """No account of this registry has that DID."""

    code = "ACCOUNT_UNKNOWN"
    sentence = "No account of this registry has that DID."


class AccountSuspended(Forbidden):
    """One of the parties is suspended and may neither send nor receive."""

    code = "ACCOUNT_SUSPENDED"
    sentence = "A suspended account may neither send nor receive."


class SystemAccountRefused(Forbidden):
    """The registry's own accounts take no part in ordinary transfers."""

    code = "SYSTEM_ACCOUNT"
    sentence = "The registry's own accounts take no part in ordinary transfers."


class SelfTransfer(BadRequest):
    """Payer and payee are the same account."""

    code = "SELF_TRANSFER"
    sentence = "An agent cannot transfer to itself."


class HoldUnknown(NotFound):
    """There is no such hold."""

    code = "HOLD_UNKNOWN"
    sentence = "There is no such hold."


class HoldEnded(Conflict):
    """Every unit of the hold was captured or freed before."""

    code = "HOLD_ENDED"
    sentence = "The hold has ended: nothing of it is left."


class HoldExpired(Conflict):
    """The hold expired before it was captured."""

    code = "HOLD_EXPIRED"
    sentence = "The hold has expired and cannot be captured any more."


class HoldNotDue(Conflict):
    """The hold has not expired yet, or is frozen."""

    code = "HOLD_NOT_DUE"
    sentence = "The hold has not expired, or is frozen."


class HoldExceeded(Conflict):
    """More is captured than the hold still has."""

    code = "HOLD_EXCEEDED"


class TransitLimitReached(Conflict):
    """What this registry may owe another, or be owed, would pass its limit."""

    code = "TRANSIT_LIMIT_REACHED"
    sentence = "The limit for units on their way to or from that registry would be passed."


class MintTooLarge(Invalid):
    """More units than one issue may bring into being."""

    code = "MINT_TOO_LARGE"


class ReferenceInvalid(Invalid):
    """The reference of what is issued or destroyed is empty, too long or not printable."""

    code = "REFERENCE_INVALID"


class ReferenceUsed(Conflict):
    """Units were issued under this reference before, or destroyed where that was asked."""

    code = "REFERENCE_USED"
    sentence = "This reference was used before; nothing was done now."


class SupplyExhausted(Conflict):
    """The whole supply would pass its limit."""

    code = "SUPPLY_EXHAUSTED"


class TreasuryInsufficient(Conflict):
    """The treasury does not hold what would be destroyed."""

    code = "TREASURY_INSUFFICIENT"


class OrderRefused(Exception):
    """Of several transfers, of which all are made or none, the one with this index is refused."""

    def __init__(self, index: int, refusal: Refused) -> None:
        super().__init__(f"order {index}: {refusal}")
        self.index = index
        self.refusal = refusal
