"""Requirement of an open, funded proposal for its provider; without I/O."""

import msgspec

from hansa.foundation.values.money import ZERO, Minor

RECORD_COST = 100
"""Fees of counted jobs for each unit of bond that a record replaces, so that a forged one costs so many times what it yields."""


class Required(msgspec.Struct, frozen=True):
    """Requirement of a proposal for its provider: a bond of at least `bond` minor units, or so many verified jobs.

    `replaced` are the bonds that the provider's record would replace, in this contract and in its others under way.
    """

    bond: Minor | None
    jobs: int | None
    replaced: Minor = ZERO

    @property
    def fees(self) -> Minor:
        """The fees that a record which replaces these bonds has."""
        return Minor(RECORD_COST * self.replaced)
