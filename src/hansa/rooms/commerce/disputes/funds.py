"""Units that a payment has moved and that a hold keeps for it: the most that a ruling about it compensates."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms import ledger
from hansa.rooms.commerce import contracts

from .dispute import Funds


async def funds_of(tx: Tx, contract: contracts.Contract) -> Funds:
    """Return the funds of a contract that the caller has locked, with the payments beyond the amount that it owes."""
    surplus = [await _paid_by(tx, tx_id) for tx_id in await contracts.surplus_of(tx, contract.id)]
    is_held = await contracts.held_for(tx, contract) is not None
    return Funds(
        Minor(contract.amount_paid + sum(surplus)),
        contract.unpaid if is_held else ZERO,
    )


async def _paid_by(tx: Tx, tx_id: int) -> Minor:
    found = await ledger.find_payment(tx, tx_id) or await ledger.find_payment_abroad(tx, tx_id)
    return ZERO if found is None else found.amount
