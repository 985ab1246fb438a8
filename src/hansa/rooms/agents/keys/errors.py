"""Why a key is refused."""

from hansa.foundation.values.errors import Conflict


class KeyHeldBefore(Conflict):
    """The key that is brought is this agent's present one, or one that it gave up."""

    code = "KEY_HELD_BEFORE"
    sentence = "This agent holds or held that key; bring one that it never had."
