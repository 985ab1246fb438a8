"""Why the book refuses."""

from typing import ClassVar

from hansa.foundation.values.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, Refused


class InsufficientBalance(Refused):
    """The payer cannot cover the amount and its fee."""

    status: ClassVar[int] = 402
    code = "INSUFFICIENT_BALANCE"
    sentence = "The balance does not cover the amount and its fee."
    remedy = "Reduce the amount, or transfer units to the payer first."


class AccountUnknown(NotFound):
    """No account of this registry has this DID."""

    code = "ACCOUNT_UNKNOWN"
    sentence = "No account of this registry has this DID."


class AccountSuspended(Forbidden):
    """One of the parties is suspended and may neither send nor receive."""

    code = "ACCOUNT_SUSPENDED"
    sentence = "A suspended account may neither send nor receive."


class SystemAccountRefused(Forbidden):
    """System accounts of the registry cannot be the sender or receiver of a transfer."""

    code = "SYSTEM_ACCOUNT"
    sentence = "System accounts of the registry cannot be the sender or receiver of a transfer."


class SelfTransfer(BadRequest):
    """Payer and payee are the same account."""

    code = "SELF_TRANSFER"
    sentence = "An agent cannot transfer to itself."


class HoldUnknown(NotFound):
    """No hold has this id."""

    code = "HOLD_UNKNOWN"
    sentence = "No hold has this id."


class HoldEnded(Conflict):
    """The hold has ended: all its units were captured or released."""

    code = "HOLD_ENDED"
    sentence = "The hold has ended: all its units were captured or released."


class HoldExpired(Conflict):
    """The hold expired before it was captured."""

    code = "HOLD_EXPIRED"
    sentence = "The hold has expired and can no longer be captured."


class HoldNotDue(Conflict):
    """The hold has not expired yet, or is frozen."""

    code = "HOLD_NOT_DUE"
    sentence = "The hold has not expired, or is frozen."


class HoldExceeded(Conflict):
    """The amount exceeds what is left of the hold."""

    code = "HOLD_EXCEEDED"


class TransitLimitReached(Conflict):
    """The transfer would exceed the limit for units in transit to or from the other registry."""

    code = "TRANSIT_LIMIT_REACHED"
    sentence = "The limit for units in transit to or from that registry would be exceeded."


class CrossingUnknown(NotFound):
    """Nothing was reserved for this transfer with that registry."""

    code = "CROSSING_UNKNOWN"
    sentence = "Nothing was reserved for this transfer with that registry."


class CrossingDecided(Conflict):
    """The transfer was decided otherwise: a committed transfer is not aborted, an aborted one is not committed."""

    code = "CROSSING_DECIDED"
    sentence = "The transfer was decided otherwise before."


class CrossingDiffers(Conflict):
    """Another agent, amount or fee was reserved under this transfer id."""

    code = "ID_CONFLICT"
    sentence = "Another agent, amount or fee was reserved under this transfer id."


class PeerLimitReached(Forbidden):
    """More would have come in from that registry than it may bring."""

    code = "PEER_LIMIT"
    sentence = "The limit of what may come in from that registry would be exceeded."
    remedy = "Send less, or ask the administrators of the receiving registry to raise the limit."


class IssuanceRefused(Forbidden):
    """An operator registry holds what crossed in from its frame and other registries; it makes no units."""

    code = "ISSUANCE_REFUSED"
    sentence = "An operator registry issues no units; its frame does."
    remedy = "Issue the units at the frame, and transfer them to an agent of this registry."


class MintTooLarge(Invalid):
    """The amount exceeds the maximum of one issue."""

    code = "MINT_TOO_LARGE"


class ReferenceInvalid(Invalid):
    """The reference is empty, too long or not printable."""

    code = "REFERENCE_INVALID"


class ReferenceUsed(Conflict):
    """The reference was already used to issue, destroy or correct units."""

    code = "REFERENCE_USED"
    sentence = "This reference was used before; nothing was changed."


class ClaimUnknown(NotFound):
    """No unclaimed units came by this transaction, or they were paid before."""

    code = "CLAIM_UNKNOWN"
    sentence = "No unclaimed units came by this transaction, or they were paid before; nothing was moved."
    remedy = "List what is unclaimed with `hansa transfers unclaimed`."


class SupplyExhausted(Conflict):
    """The total supply would exceed its limit."""

    code = "SUPPLY_EXHAUSTED"


class TreasuryInsufficient(Conflict):
    """The treasury does not hold enough units."""

    code = "TREASURY_INSUFFICIENT"


class OrderRefused(Exception):
    """One of several orders, of which all are carried out or none, is refused: the one with this index."""

    def __init__(self, index: int, refusal: Refused) -> None:
        super().__init__(f"order {index}: {refusal}")
        self.index = index
        self.refusal = refusal
