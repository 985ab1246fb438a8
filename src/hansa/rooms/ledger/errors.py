"""Why the book refuses."""

from typing import ClassVar

from hansa.foundation.words.errors import BadRequest, Forbidden, NotFound, Refused


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
