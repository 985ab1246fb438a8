"""The end of an account: only an empty one is closed, so that no unit reaches it any more."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Conflict
from hansa.foundation.values.money import format_amount

from . import crossings_store, store
from .accounts import balance_of


class AccountHoldsUnits(Conflict):
    """The account still holds liquid or staked units, which would be lost."""

    code = "ACCOUNT_HOLDS_UNITS"
    sentence = "The account still holds units; transfer them and release its stakes first."


class CrossingPending(Conflict):
    """A transfer from or to another registry is undecided, which may still credit the account."""

    code = "CROSSING_PENDING"
    sentence = "A transfer from or to another registry is undecided, which may still credit this account."
    remedy = "Retry once the transfer is completed or aborted."


async def close_account(tx: Tx, did: str, *, waits_for_crossings: bool = True) -> None:
    """Let nothing in or out of an empty account any more; one that is closed already stays so.

    With `waits_for_crossings` an account is not closed while a transfer from or to another registry is undecided. Without, units
    that such a transfer brings later go to the registry's account for unclaimed units.

    Raises: AccountHoldsUnits, CrossingPending, AccountUnknown. The transaction is then to be rolled back.
    """
    if await store.close_if_empty(tx, did):
        # Read under the lock of the account, which every order on its crossings takes.
        if waits_for_crossings and await crossings_store.is_any_pending(tx, did):
            raise CrossingPending
        return
    holds = await balance_of(tx, did)
    raise AccountHoldsUnits(
        context={
            "liquid_balance": format_amount(holds.liquid),
            "staked_balance": format_amount(holds.staked),
            **({"escrow_balance": format_amount(holds.escrow)} if holds.escrow else {}),
        }
    )
