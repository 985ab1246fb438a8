"""A key as it is kept, and why a new one is refused."""

from datetime import datetime

import msgspec

from hansa.foundation.values.errors import Conflict


class KeyHeldBefore(Conflict):
    """The supplied key is the agent's current key or one of its former keys."""

    code = "KEY_HELD_BEFORE"
    sentence = "This agent has or had this key; supply a key that it never used."


class HeldKey(msgspec.Struct, frozen=True):
    """One key of an agent: its signatures count from `valid_from` until `valid_until`, if that has come."""

    number: int
    public_key: bytes
    valid_from: datetime
    valid_until: datetime | None
