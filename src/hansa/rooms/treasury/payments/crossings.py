"""Job that ends a request whose units cross: it asks the other registry, and writes what was decided. An ABORT gives the sums back."""

from uuid import UUID

from hansa.foundation.plumbing.jobs import Job, LeasedKind, PutOff, Retries
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import organizations, transfers
from hansa.rooms.treasury import store

from .paying import CROSSINGS

COMMITTED, ABORTED = "committed", "aborted"
RETRIES = Retries(attempts_max=None, pause_seconds=0.5, pause_max_seconds=30.0)


async def _follow(runtime: Runtime, job: Job) -> None:
    organization_id, request_id = UUID(job.payload["organization_id"]), UUID(job.key)
    await transfers.ask_to_prepare(runtime, request_id)
    is_over = await runtime.database.transaction(lambda tx: end_by_decision(tx, organization_id, request_id))
    if not is_over:
        raise PutOff("The other registry has not decided on the transfer.")


async def end_by_decision(tx: Tx, organization_id: UUID, request_id: UUID) -> bool:
    """Write what was decided on the transfer of a request, once; False where nothing is decided yet."""
    organization = await organizations.lock(tx, organization_id)
    transfer = await transfers.find_payment(tx, request_id)
    if transfer is None or transfer.state not in {COMMITTED, ABORTED}:
        return False
    is_paid = transfer.state == COMMITTED
    reason = None if is_paid else f"The transfer was aborted ({transfer.code})."
    has_ended = await organizations.end_executing(
        tx, organization, request_id, is_paid=is_paid, reason=reason
    )
    if has_ended and not is_paid:
        await store.return_outlay(tx, request_id)
    return True


FOLLOW_CROSSINGS = LeasedKind(CROSSINGS, _follow, at_once=4, retries=RETRIES)
