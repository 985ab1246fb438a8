"""Requirement of an open, funded proposal for its provider; without I/O."""

import msgspec

from hansa.foundation.values.money import Minor


class Required(msgspec.Struct, frozen=True):
    """Requirement of a proposal for its provider: a bond of at least `bond` minor units, or so many verified jobs."""

    bond: Minor | None
    jobs: int | None
