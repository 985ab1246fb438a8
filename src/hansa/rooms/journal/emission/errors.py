"""Why a policy is not changed."""

from hansa.foundation.values.errors import Conflict


class EmissionRequired(Conflict):
    """The event is always recorded: it moves balances, makes or destroys units, or tells of a policy."""

    code = "EMISSION_REQUIRED"
    sentence = "This event cannot be switched off."
