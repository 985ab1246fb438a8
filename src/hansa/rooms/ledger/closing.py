"""The end of an account: only an empty one is closed, so that no unit reaches it any more."""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.errors import Conflict
from hansa.foundation.values.money import format_amount

from . import store
from .accounts import balance_of


class AccountHoldsUnits(Conflict):
    """The account still holds liquid or staked units, which would be lost."""

    code = "ACCOUNT_HOLDS_UNITS"
    sentence = "The account still holds units; transfer them and release its stakes first."


async def close_account(tx: Tx, did: str) -> None:
    """Let nothing in or out of an empty account any more; one that is closed already stays so.

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
