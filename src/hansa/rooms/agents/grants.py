"""The genesis grant of a developer's first agent: paid at its creation, or owed until the treasury can pay.

An owed grant keeps the amount of the day on which it was claimed. Only active agents are paid; the oldest claim first.
"""

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import ledger

from . import rules, store
from .rules import FundingStatus

REFERENCE = "genesis_grant"
PAID_PER_ROUND = 100


async def fund(tx: Tx, developer_id: int, did: str, *, is_first: bool, settings: Settings) -> FundingStatus:
    """Pay the grant of a new agent that has claimed it; what the treasury cannot pay stays owed."""
    amount = parse_amount(settings.genesis_grant_amount) if settings.genesis_grant_enabled else Minor(0)
    if (without := rules.funding_without_grant(is_first=is_first, grant=amount)) is not None:
        return without
    if await _pay(tx, did, amount, settings):
        return FundingStatus.COMPLETED
    await store.owe_grant(tx, developer_id, amount)
    return FundingStatus.TREASURY_EMPTY


async def pay_owed_grants(runtime: Runtime) -> None:
    """Pay owed grants, each in a transaction of its own, until none is left or the treasury cannot pay the oldest."""
    for _ in range(PAID_PER_ROUND):
        if not await runtime.database.act(lambda tx: _pay_oldest(tx, runtime.settings)):
            return


async def _pay_oldest(tx: Tx, settings: Settings) -> bool:
    """Whether a grant was paid; one that another process is paying is skipped."""
    owed = await store.lock_owed_grant(tx)
    if owed is None or not await _pay(tx, owed.did, owed.amount, settings):
        return False
    await store.settle_owed_grant(tx, owed.developer_id)
    return True


async def _pay(tx: Tx, did: str, amount: Minor, settings: Settings) -> bool:
    return await ledger.grant(tx, payee=did, amount=amount, ref=REFERENCE, book=ledger.Book.of(settings))
