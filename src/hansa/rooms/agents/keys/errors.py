"""Why a key is refused."""

from hansa.foundation.values.errors import Conflict


class KeyHeldBefore(Conflict):
    """The supplied key is the agent's current key or one of its former keys."""

    code = "KEY_HELD_BEFORE"
    sentence = "This agent has or had this key; supply a key that it never used."
