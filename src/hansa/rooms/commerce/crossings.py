"""What of commerce transfers to another registry pay: it ends in the commit that decides them."""

from collections.abc import Sequence

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import transfers

from . import contracts, payments


async def end_paid_across(
    tx: Tx, decisions: Sequence[transfers.CrossingDecision], settings: Settings
) -> None:
    """End the parts of contracts and the payment tokens that these transfers pay, if there are any.

    Most transfers pay neither, so that both are looked up for all of them at once.
    """
    named = [decision.transfer_id for decision in decisions]
    of_contracts = await contracts.paid_by_transfers(tx, named)
    of_tokens = await payments.named_tokens(tx, named)
    for decision in decisions:
        # An approval locks the contract before its token, too.
        if (contract_id := of_contracts.get(decision.transfer_id)) is not None:
            await contracts.end_by_decision(tx, contract_id, decision, settings)
        if decision.transfer_id in of_tokens:
            await payments.end_by_decision(tx, decision, settings)
