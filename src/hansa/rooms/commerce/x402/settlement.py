"""Settlement of an x402 payment."""

import msgspec

from hansa.foundation.values.money import Minor


class Settlement(msgspec.Struct, frozen=True):
    """A payment that was settled, or with a reason one whose outcome is not known; amounts in minor units.

    `payment` names it from the beginning on, by the payment token or by the digest that a wallet signed; `transaction` is None while its
    outcome is not known. `payer` is an address or a DID. `fee` was paid on top.
    """

    payment: str
    payer: str
    amount: Minor
    transaction: str | None = None
    fee: Minor | None = None
    reason: str | None = None
