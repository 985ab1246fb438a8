"""An automatic approval that could not pay a provider of another registry: it is tried again, or the contract fails."""

from datetime import timedelta

from hansa.foundation.plumbing.jobs import enqueue
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import transfers

from . import payment_store
from .contract import Contract, Ending
from .ending import fail
from .transitions import DEADLINES, Act, move

TRIES = 12
PAUSE = timedelta(minutes=10)


async def not_begun(tx: Tx, contract: Contract, code: str, settings: Settings) -> None:
    """No transfer could be begun for this reason, which is one of `transfers.PASSING_CODES`."""
    milestone = contract.current.index if contract.current else None
    await move(tx, contract, contract, Act("payment_failed", None, milestone, note=code))
    await try_again_or_fail(tx, contract, code, settings)


async def try_again_or_fail(tx: Tx, contract: Contract, code: str, settings: Settings) -> None:
    """The review is over, and the payment failed for this reason, as the last line of the history says."""
    milestone = contract.current.index if contract.current else None
    tries = await payment_store.payments_failed(tx, contract.id, milestone)
    if code in transfers.PASSING_CODES and tries < TRIES:
        key = f"{contract.id} automatic {tries}"
        await enqueue(tx, DEADLINES, key, {"contract_id": contract.id}, contract.now + PAUSE)
    else:
        await fail(tx, contract, Ending.NOT_REVIEWED, Act("not_reviewed", None), settings)
