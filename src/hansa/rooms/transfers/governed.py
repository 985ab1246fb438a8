"""Transfers that an owner's policy or a capability has a say in: one transaction each, beside the group commit.

The payment is judged, counted and made under the locks of the policy and of the capability's tree. A replay is not
judged again; a transfer that waits for the owner moves nothing and leaves its key free.
"""

from collections.abc import Callable

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.idempotency import Answer, Repeatable
from hansa.foundation.plumbing.web.in_process import InCommit
from hansa.rooms import agents, ledger


class GovernedTransfer(msgspec.Struct, frozen=True):
    """A transfer to be judged; `render` makes the answer of a receipt, the first time and every other.

    `in_commit` is called in its transaction, which is then one of its own.
    """

    order: ledger.TransferOrder
    payment: agents.Payment
    request: Repeatable | None
    render: Callable[[ledger.Receipt], str]
    in_commit: InCommit | None = None


async def transfer_governed(
    tx: Tx, agent: Agent, asked: GovernedTransfer, settings: Settings
) -> Answer | agents.Approval:
    """Make the transfer, or ask the agent's owner about it.

    Raises: the errors of `ledger.transfer`, `agents.clear_payment`, `agents.ask_owner` and `idempotency.recall`.
    """
    if asked.request and (stored := await idempotency.recall(tx, asked.request)) is not None:
        return Answer(asked.render(ledger.Receipt.of_text(stored, asked.order.amount)), replayed=True)
    clearance = await agents.clear_payment(tx, agent, asked.payment, settings)
    if clearance is agents.Clearance.NEEDS_APPROVAL:
        # Nobody is asked about what could not be paid anyway.
        await ledger.preview(tx, asked.order, ledger.Book.of(settings))
        return await agents.ask_owner(tx, agent, asked.payment)
    receipt = await ledger.transfer(tx, asked.order, ledger.Book.of(settings))
    if asked.in_commit is not None:
        await asked.in_commit(tx, f"tx-{receipt.tx_id}")
    if asked.request:
        # As the group commit keeps it: either may be asked to render it again.
        await idempotency.remember(tx, asked.request, receipt.as_text())
    return Answer(asked.render(receipt), replayed=False)
