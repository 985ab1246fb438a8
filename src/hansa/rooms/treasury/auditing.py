"""Comparison for the auditor: requests that moved units within this registry and their references in the ledger, one to one."""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import ledger, organizations

from .payments.paying import REFERENCE


async def request_gaps(tx: Tx, after_tx: int) -> list[str]:
    """The requests and references of transactions above `after_tx` that do not belong together; none, unless somebody tampered."""
    paid = {
        (made.tx_id, made.request_id, made.amount) for made in await organizations.paid_requests(tx, after_tx)
    }
    booked = {
        (found.tx_id, UUID(found.ref.removeprefix(REFERENCE)), found.amount)
        for found in await ledger.referenced(tx, REFERENCE, after_tx)
    }
    return sorted(f"{tx_id} {request_id}" for tx_id, request_id, _ in paid ^ booked)
