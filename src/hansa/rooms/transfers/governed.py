"""Transfers of agents whose owner bounds what they pay: one transaction each, beside the group commit.

The payment is judged, counted and made under the lock of the policy. A replay is not judged again; what waits for the
owner moves nothing and leaves its key free.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hansa.foundation.plumbing import idempotency
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.idempotency import Repeatable
from hansa.rooms import agents, ledger


@dataclass(frozen=True)
class GovernedTransfer:
    """A transfer to be judged; `tell` makes the answer that is sent and remembered."""

    order: ledger.TransferOrder
    spending: agents.Spending
    request: Repeatable | None
    tell: Callable[[ledger.Receipt], str]


async def transfer_governed(
    tx: Tx, asked: GovernedTransfer, book: ledger.Book
) -> ledger.Told | agents.Approval:
    """Make the transfer, or ask the owner about it.

    Raises: what `ledger.transfer`, `agents.clear_spending`, `agents.ask_approval` and `idempotency.recall` raise.
    """
    if asked.request and (answer := await idempotency.recall(tx, asked.request)) is not None:
        return ledger.Told(answer, replayed=True)
    payer = asked.order.payer
    if await agents.clear_spending(tx, payer, asked.spending) is agents.Clearance.NEEDS_APPROVAL:
        # Nobody is asked about what could not be paid anyway.
        await ledger.preview(tx, asked.order, ledger.FeePolicy())
        return await agents.ask_approval(tx, payer, asked.spending)
    answer = asked.tell(await ledger.transfer(tx, asked.order, book, ledger.FeePolicy()))
    if asked.request:
        await idempotency.remember(tx, asked.request, answer)
    return ledger.Told(answer, replayed=False)
