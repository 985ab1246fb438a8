"""What of commerce a transfer to another registry pays: it ends in the commit that decides the transfer."""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import transfers

from . import contracts, payments


async def end_paid_across(tx: Tx, decision: transfers.CrossingDecision, settings: Settings) -> None:
    """End the part of a contract and the payment token that this transfer pays, if there are any."""
    # An approval locks the contract before its token, too.
    await contracts.end_by_decision(tx, decision, settings)
    await payments.end_by_decision(tx, decision, settings)
