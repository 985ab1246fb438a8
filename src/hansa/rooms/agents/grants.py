"""The genesis grant of a developer's first agent: paid at its creation, or owed until it is due and the treasury can pay.

An owed grant keeps the amount of the day on which it was claimed. Only active agents are paid; the oldest claim first.
In one hour at most GENESIS_GRANTS_PER_ADDRESS grants for agents from one address are due, and GENESIS_GRANTS_PER_HOUR are paid in all.
"""

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import ledger

from . import grants_store as store
from . import rules
from .rules import FundingStatus

REFERENCE = "genesis_grant"
PAID_PER_ROUND = 100


async def fund(
    tx: Tx, developer_id: int, did: str, site: str, *, is_first: bool, settings: Settings
) -> FundingStatus:
    """Pay the grant of a new agent that has claimed it; a grant that is due later, or that the treasury cannot pay, stays owed."""
    amount = parse_amount(settings.genesis_grant_amount) if settings.genesis_grant_enabled else Minor(0)
    if (without := rules.funding_without_grant(is_first=is_first, grant=amount)) is not None:
        return without
    await store.lock_grant_places(tx)
    is_due = await store.place_grant(tx, developer_id, site, settings.genesis_grants_per_address)
    is_due = is_due and await _has_room(tx, settings)
    if is_due and await _pay(tx, developer_id, did, amount, settings):
        return FundingStatus.COMPLETED
    await store.owe_grant(tx, developer_id, amount)
    return FundingStatus.TREASURY_EMPTY if is_due else FundingStatus.DUE_LATER


async def forget_sites(tx: Tx) -> None:
    """Delete the addresses of grants that count in no hour any more."""
    await store.forget_sites(tx)


async def pay_owed_grants(runtime: Runtime) -> None:
    """Pay owed grants, each in a transaction of its own, until none is due, the hour has no room or the treasury cannot pay the oldest."""
    for _ in range(PAID_PER_ROUND):
        if not await runtime.database.transaction(lambda tx: _pay_oldest(tx, runtime.settings)):
            return


async def _pay_oldest(tx: Tx, settings: Settings) -> bool:
    """Return whether a grant was paid; one that another transaction has locked is skipped."""
    await store.lock_grant_places(tx)
    if not await _has_room(tx, settings):
        return False
    owed = await store.lock_owed_grant(tx)
    return owed is not None and await _pay(tx, owed.developer_id, owed.did, owed.amount, settings)


async def _has_room(tx: Tx, settings: Settings) -> bool:
    return await store.grants_of_the_hour(tx) < settings.genesis_grants_per_hour


async def _pay(tx: Tx, developer_id: int, did: str, amount: Minor, settings: Settings) -> bool:
    if not await ledger.grant(tx, payee=did, amount=amount, ref=REFERENCE, book=ledger.Book.of(settings)):
        return False
    await store.settle_grant(tx, developer_id)
    return True
