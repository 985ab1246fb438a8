"""Why a policy is not changed."""

from hansa.foundation.values.errors import Conflict


class EmissionRequired(Conflict):
    """The event is always recorded: it changes balances, the supply, or a policy."""

    code = "EMISSION_REQUIRED"
    sentence = "The recording of this event cannot be switched off."
