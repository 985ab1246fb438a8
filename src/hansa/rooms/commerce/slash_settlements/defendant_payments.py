"""Payments that a slash of a peer may rest on without an administrator (Specification 6 W 19).

- A token or a contract that this complainant paid to this defendant, by a transfer that this registry credited itself. A plain transfer
  is no payment: anybody can send one to a stranger.
- The slash is at most the paid amount. A payment is used once, whichever number its dispute has (`commerce_slashed_payment`).
"""

from collections.abc import Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import transfers
from hansa.rooms.commerce import contracts

from . import payment_store
from .records import Kept
from .settlement import Claim

TRANSFER, CONTRACT = "transfer:", "contract:"


async def unused_amount(tx: Tx, peer: str, frame: str, claim: Claim, payment: str | None) -> int:
    """Units that were paid under this name of a peer, and on which no slash rests yet; minor units of this registry."""
    paid = await _paid(tx, peer, frame, claim, payment)
    used = await payment_store.used(tx, peer, [one.transfer_id for one in paid])
    return sum(one.amount for one in paid if one.transfer_id not in used)


async def use(tx: Tx, kept: Kept) -> None:
    """The slash of this settlement rests on the payment that the peer named."""
    settlement = kept.settlement
    paid = await _paid(tx, kept.peer, kept.frame, settlement.claim, settlement.payment)
    await payment_store.use(tx, kept.peer, kept.settlement_id, [one.transfer_id for one in paid])


async def _paid(
    tx: Tx, peer: str, frame: str, claim: Claim, payment: str | None
) -> list[transfers.PaymentReceived]:
    found = await transfers.payments_received(tx, peer, _transfers(payment, frame))
    parties = (claim.complainant_did, claim.defendant_did)
    return [one for one in found if (one.sender_did, one.receiver_did) == parties]


def _transfers(payment: str | None, frame: str) -> Sequence[UUID]:
    """The transfers that a name of a payment means: that of a token, or those of the parts of a contract."""
    if payment is None:
        return ()
    if payment.startswith(TRANSFER):
        return _id(payment.removeprefix(TRANSFER))
    number, _, created_at = payment.removeprefix(CONTRACT).partition(":")
    is_number = number.isascii() and number.isdecimal() and len(number) <= contracts.DIGITS_MAX
    if not payment.startswith(CONTRACT) or not is_number:
        return ()
    return contracts.names_of_parts(frame, int(number), created_at)


def _id(text: str) -> Sequence[UUID]:
    try:
        return (UUID(text),)
    except ValueError:
        return ()
