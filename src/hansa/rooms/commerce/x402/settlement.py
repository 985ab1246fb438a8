"""What became of a payment."""

import msgspec

from hansa.foundation.values.money import Minor


class Settlement(msgspec.Struct, frozen=True):
    """A payment that was settled, or with a reason one whose outcome is not known; amounts in minor units.

    `payer` is an address or a DID. `fee` was paid on top.
    """

    transaction: str
    payer: str
    amount: Minor
    fee: Minor | None = None
    reason: str | None = None
