"""Why an account is not closed."""

from hansa.foundation.values.errors import Conflict


class AccountHoldsUnits(Conflict):
    """The account still holds liquid or staked units, which would be lost."""

    code = "ACCOUNT_HOLDS_UNITS"
    sentence = "The account still holds units; transfer them and release its stakes first."


class CrossingPending(Conflict):
    """A transfer from or to another registry is undecided, which may still credit the account."""

    code = "CROSSING_PENDING"
    sentence = "A transfer from or to another registry is undecided, which may still credit this account."
    remedy = "Retry once the transfer is completed or aborted."
