"""Effects of a dispute on its contract: deadlines and hold are frozen until it is dismissed, or a ruling closes the contract.

The caller holds the contract locked, and writes the dispute in the same transaction.
"""

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents, ledger

from . import paying, rules
from .contract import Contract, Payment, Status
from .payment_reference import message_of
from .suspension import end_of_revoked, on_hold
from .transitions import Act, move


async def dispute(tx: Tx, contract: Contract, dispute_id: int, complainant: str) -> Contract:
    """Stop the deadlines of a contract and freeze its hold."""
    reason = rules.reason_of_dispute(dispute_id)
    await on_hold(tx, contract, ledger.freeze_hold, reason)
    disputed = await move(tx, contract, rules.disputed(contract, dispute_id), Act("disputed", complainant))
    return disputed.contract


async def restore(tx: Tx, contract: Contract, status: Status, settings: Settings) -> Contract:
    """Return a contract to the state before its dispute, or end it where a party was revoked meanwhile."""
    assert contract.dispute_id is not None
    await on_hold(tx, contract, ledger.thaw_hold, rules.reason_of_dispute(contract.dispute_id))
    after = rules.restored(contract, status)
    restored = await move(tx, contract, after, Act("dispute_dismissed", None))
    statuses = await agents.statuses_of(tx, contract.parties)
    for did in contract.parties:
        if statuses.get(did) == "revoked":
            await end_of_revoked(tx, contract.id, did, settings)
    return restored.contract


async def held_for(tx: Tx, contract: Contract) -> int | None:
    """The hold of a contract, if it still holds units."""
    holds = await ledger.read_holds(tx, paying.OWNER_KIND, str(contract.id))
    return next((hold.id for hold in holds if hold.remaining > 0), None)


def award(contract: Contract, hold_id: int, winner: str) -> ledger.Order:
    """Order that gives the remaining units of a contract's hold to one of its parties."""
    if winner == contract.contractor_did:
        return ledger.orders.release(hold_id)
    return ledger.orders.award(hold_id, contract.unpaid, message=message_of(contract))


async def close(tx: Tx, contract: Contract, paid: ledger.Result | None) -> Contract:
    """Close a contract by a ruling; `paid` is the payment to the provider."""
    payment = None
    if paid is not None:
        assert paid.tx_id is not None
        payment = Payment(paid.tx_id, paid.moved, paid.fee)
    closed = await move(tx, contract, rules.closed(contract, payment), Act("closed", None))
    return closed.contract
