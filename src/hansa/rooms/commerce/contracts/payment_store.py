"""SQL statements about the payments of a contract: transactions of the ledger, and transfers to other registries."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

from .records import PartPaid

_PAID_BY = """
SELECT id FROM commerce_contract WHERE payment_tx_id = $1
UNION SELECT contract_id FROM commerce_contract_milestone WHERE payment_tx_id = $1
UNION SELECT contract_id FROM commerce_contract_transfer WHERE surplus_tx_id = $1
"""

_PAID_BY_TRANSFERS = (
    "SELECT transfer_id, contract_id, milestone FROM commerce_contract_transfer WHERE transfer_id = ANY ($1)"
)

_IS_PENDING = "SELECT EXISTS (SELECT FROM commerce_contract WHERE crossing = $1)"

# A restored registry gives a forgotten transfer its name again.
_NOTE_TRANSFER = """
INSERT INTO commerce_contract_transfer (transfer_id, contract_id, milestone) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
"""

_NOTE_SURPLUS = "UPDATE commerce_contract_transfer SET surplus_tx_id = $2 WHERE transfer_id = $1 AND surplus_tx_id IS NULL"

_OWED_AFTER_ALL = "UPDATE commerce_contract_transfer SET surplus_tx_id = NULL WHERE transfer_id = $1"

_SURPLUS = (
    "SELECT surplus_tx_id FROM commerce_contract_transfer"
    " WHERE contract_id = $1 AND surplus_tx_id IS NOT NULL ORDER BY surplus_tx_id"
)

_SURPLUS_FOR = """
SELECT transfer_id, surplus_tx_id FROM commerce_contract_transfer
WHERE contract_id = $1 AND milestone IS NOT DISTINCT FROM $2 AND surplus_tx_id IS NOT NULL ORDER BY surplus_tx_id LIMIT 1
"""

_OVERPAID_AT = "SELECT max(at) FROM commerce_contract_history WHERE contract_id = $1 AND act = 'overpaid'"

_STATED_LAST = """
SELECT deliverable IS NOT NULL FROM commerce_contract_history WHERE contract_id = $1 AND act = 'submitted' ORDER BY id DESC LIMIT 1
"""

_RULINGS = "SELECT count(*) FROM commerce_contract_history WHERE contract_id = $1 AND act = 'closed'"

_PAYMENTS_FAILED = """
SELECT count(*) FROM commerce_contract_history
WHERE contract_id = $1 AND milestone IS NOT DISTINCT FROM $2 AND act = 'payment_failed'
"""

_WHO_BEGAN = """
SELECT actor_did FROM commerce_contract_history WHERE contract_id = $1 AND act = 'payment_begun' ORDER BY id DESC LIMIT 1
"""


async def paid_by(tx: Tx, tx_id: int) -> int | None:
    """The contract that this transaction paid, or a part of it."""
    contract_id: int | None = await tx.fetchval(_PAID_BY, tx_id)
    return contract_id


async def paid_by_transfers(tx: Tx, transfer_ids: Sequence[UUID]) -> dict[UUID, PartPaid]:
    """The parts of contracts that these transfers pay, or were to pay, by transfer."""
    rows = await tx.fetch(_PAID_BY_TRANSFERS, transfer_ids)
    return {row["transfer_id"]: PartPaid(row["contract_id"], row["milestone"]) for row in rows}


async def is_payment_pending(tx: Tx, transfer_id: UUID) -> bool:
    """Return whether a contract waits for the decision of this transfer."""
    found: bool = await tx.fetchval(_IS_PENDING, transfer_id)
    return found


async def note_transfer(tx: Tx, transfer_id: UUID, part: PartPaid) -> None:
    """A transfer is to pay this part."""
    await tx.execute(_NOTE_TRANSFER, transfer_id, part.contract_id, part.milestone)


async def note_surplus(tx: Tx, transfer_id: UUID, tx_id: int) -> bool:
    """Record that the contract does not owe the units that this transfer paid; false: that was noted before."""
    return await tx.execute(_NOTE_SURPLUS, transfer_id, tx_id) == "UPDATE 1"


async def note_owed(tx: Tx, transfer_id: UUID) -> None:
    """Record that this transfer approves a part after all."""
    await tx.execute(_OWED_AFTER_ALL, transfer_id)


async def surplus_of(tx: Tx, contract_id: int) -> list[int]:
    """Return the ledger transactions that paid a contract units that it does not owe."""
    return [row["surplus_tx_id"] for row in await tx.fetch(_SURPLUS, contract_id)]


async def surplus_for(tx: Tx, part: PartPaid) -> tuple[UUID, int] | None:
    """The first transfer that paid this part while the contract did not owe it, and its ledger transaction."""
    row = await tx.fetchrow(_SURPLUS_FOR, part.contract_id, part.milestone)
    return None if row is None else (row["transfer_id"], row["surplus_tx_id"])


async def overpaid_at(tx: Tx, contract_id: int) -> datetime | None:
    """When the last payment that a contract did not owe came to light."""
    timestamp: datetime | None = await tx.fetchval(_OVERPAID_AT, contract_id)
    return timestamp


async def is_last_submission_stated(tx: Tx, contract_id: int) -> bool:
    """Return whether the last submission of a contract states the digest of the work; false without a submission."""
    return bool(await tx.fetchval(_STATED_LAST, contract_id))


async def rulings_about(tx: Tx, contract_id: int) -> int:
    """How many rulings have closed a contract."""
    return int(await tx.fetchval(_RULINGS, contract_id))


async def payments_failed(tx: Tx, contract_id: int, milestone: int | None) -> int:
    """How many transfers that should have paid this part were aborted."""
    return int(await tx.fetchval(_PAYMENTS_FAILED, contract_id, milestone))


async def who_began_payment(tx: Tx, contract_id: int) -> str | None:
    """Return the agent that approved the payment under way; None: the registry, when the time for the review was over."""
    actor: str | None = await tx.fetchval(_WHO_BEGAN, contract_id)
    return actor


async def holds_of_version(tx: Tx, version: int, since: datetime) -> set[int]:
    """The holds of the contracts of this version that providers of this registry accepted from a moment on."""
    rows = await tx.fetch(
        "SELECT hold_id FROM commerce_contract WHERE version = $1 AND accepted_at >= $2 AND hold_id IS NOT NULL"
        " AND provider_registry IS NULL",
        version,
        since,
    )
    return {row["hold_id"] for row in rows}
