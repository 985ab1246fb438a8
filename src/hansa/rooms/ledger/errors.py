"""Why the book refuses."""

from typing import ClassVar

from hansa.foundation.words.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound, Refused


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
