"""The submitted part is paid, and approved in the commit that pays it."""

from collections.abc import Awaitable, Callable

from hansa.foundation.plumbing.storage.database import Tx

from . import events, rules, store
from .contract import Contract, Payment, Status
from .reading import ContractShown
from .transitions import Act, move


async def approve_once_paid(
    tx: Tx, contract: Contract, pay: Callable[[Tx, Contract], Awaitable[Payment]], actor: str | None
) -> ContractShown:
    """Pay the submitted part and record its approval. Raises: the errors of `pay`."""
    # Read before the payment, which keeps the account of the fees locked until the commit.
    counts = await _counts(tx, contract)
    payment = await pay(tx, contract)
    after = rules.approved(contract, payment)
    milestone = contract.current.index if contract.current else None
    if after.status == Status.COMPLETED:
        event = events.completed(after, counts=counts)
    else:
        assert milestone is not None
        event = events.milestone_approved(after, milestone, payment)
    return await move(tx, contract, after, Act("approved", actor, milestone), event)


async def _counts(tx: Tx, contract: Contract) -> bool:
    """Return whether the job counts toward the records of the two, once its last part is paid."""
    assert contract.provider_did is not None
    return contract.is_last_part and await store.counts(tx, contract.contractor_did, contract.provider_did)
