"""Why an account is not closed."""

from hansa.foundation.values.errors import Conflict


class AccountHoldsUnits(Conflict):
    """The account still holds units, liquid or staked: they would be lost to their owner."""

    code = "ACCOUNT_HOLDS_UNITS"
    sentence = "The account still holds units; send them elsewhere and release its stakes first."
