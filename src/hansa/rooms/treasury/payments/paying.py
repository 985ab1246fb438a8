"""Kind `payment`: units go from the treasury to an agent of any registry.

Within this registry they move in the commit that carries the request out, under the reference `org-request-<id>`; to another registry they
are reserved there, under the id of the request, and a job ends the request once the other registry has decided.
"""

from uuid import UUID

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger, transfers
from hansa.rooms.organizations import Acting, Organization, Outcome, Request, RequestKind
from hansa.rooms.treasury.counting import count_request, demands_of_payments

REFERENCE = "org-request-"
CROSSINGS = "treasury: crossings"
CROSSING_SECONDS = 3600.0
"""Time that the other registry has to answer; afterwards the transfer is aborted."""


def reference_of(request_id: UUID) -> str:
    """Return the name of a request in the ledger, where it is unique."""
    return f"{REFERENCE}{request_id}"


async def _pay(tx: Tx, acting: Acting, organization: Organization, request: Request) -> Outcome:
    """Raises: the errors of `count_request`, of `ledger.payment_line` and of `transfers.reserve_payment`."""
    payee, settings = request.body["receiver_did"], acting.runtime.settings
    assert request.amount is not None
    await count_request(tx, organization, request, payee, acting.runtime)
    if await _is_at_peer(tx, payee, settings):
        return await _cross(tx, acting, organization, request, payee)
    order = ledger.payment_line(
        ledger.PaymentOrder(
            organization.treasury_did,
            payee,
            request.amount,
            reference_of(request.id),
            request.body["message"],
        )
    )
    (done,) = await ledger.apply(tx, [order], ledger.Book.of(settings))
    return Outcome(tx_id=done.tx_id)


async def _is_at_peer(tx: Tx, payee: str, settings: Settings) -> bool:
    """Return whether units reach the payee at a peer; a DID of which nothing is known is looked for in the own ledger."""
    if not await transfers.is_foreign(tx, payee, settings):
        return False
    return await transfers.peer_of(tx, payee, settings) is not None


async def _cross(tx: Tx, acting: Acting, organization: Organization, request: Request, payee: str) -> Outcome:
    corridor = await transfers.corridor_to(tx, payee, acting.runtime)
    order = ledger.TransferOrder(
        organization.treasury_did, payee, Minor(request.amount or 0), request.body["message"]
    )
    await transfers.reserve_payment(
        tx, corridor, transfers.CrossingPayment(request.id, order, CROSSING_SECONDS, None)
    )
    await jobs.enqueue(tx, CROSSINGS, str(request.id), {"organization_id": str(organization.id)})
    tx_id = await transfers.movement_of(tx, corridor, request.id)
    return Outcome(tx_id=tx_id, transfer_id=request.id, is_decided=False)


PAYMENT = RequestKind("payment", demands_of_payments, _pay)
