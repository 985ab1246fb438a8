"""What became of a payment."""

from dataclasses import dataclass

from hansa.foundation.values.money import Minor


@dataclass(frozen=True)
class Settlement:
    """A payment that was settled, or with a reason one whose outcome is not known; amounts in minor units.

    `payer` is an address or a DID. `fee` was paid on top.
    """

    transaction: str
    payer: str
    amount: Minor
    fee: Minor | None = None
    reason: str | None = None
