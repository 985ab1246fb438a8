"""Close an account, so that no unit reaches it any more."""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms.ledger.accounts import balance_of

from . import store
from .errors import AccountHoldsUnits


async def close_account(tx: Tx, did: str) -> None:
    """Let nothing in or out of an empty account any more; one that is closed already is no trouble.

    Raises: AccountHoldsUnits, AccountUnknown.
    """
    if await store.close_if_empty(tx, did):
        return
    holds = await balance_of(tx, did)
    raise AccountHoldsUnits(
        context={
            "liquid_balance": format_amount(holds.liquid),
            "staked_balance": format_amount(holds.staked),
            **({"escrow_balance": format_amount(holds.escrow)} if holds.escrow else {}),
        }
    )
