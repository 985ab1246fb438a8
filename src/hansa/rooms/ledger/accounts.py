"""Opening accounts and reading them."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from . import store
from .errors import AccountUnknown
from .store import ACCOUNTS, BALANCES, OWED, WRITTEN_TRANSACTIONS

__all__ = [
    "ACCOUNTS",
    "BALANCES",
    "OWED",
    "WRITTEN_TRANSACTIONS",
    "Balance",
    "balance_of",
    "balances_of",
    "circulating",
    "is_active",
    "newest_transaction",
    "open_account",
    "open_leg",
]


class Balance(msgspec.Struct, frozen=True):
    """Balance of an account in each bucket, in minor units."""

    did: str
    liquid: Minor
    staked: Minor
    escrow: Minor


async def open_account(tx: Tx, did: str) -> None:
    """Open an agent's account with nothing in it.

    Raises: asyncpg.UniqueViolationError when the DID has one, which a fresh DID never has.
    """
    await store.open_account(tx, did)


async def open_leg(tx: Tx, did: str) -> None:
    """Open the account with the own reserve of a pool, unless it is there."""
    await store.open_accounts(tx, [did], kind="system")


async def balance_of(tx: Tx, did: str) -> Balance:
    """Raises: AccountUnknown."""
    buckets = await store.buckets_of(tx, did)
    if buckets is None:
        raise AccountUnknown
    return Balance(did, *buckets)


async def balances_of(tx: Tx, dids: Sequence[str]) -> dict[str, Balance]:
    """Balances of several accounts, by DID; an unknown DID is absent."""
    found = await store.buckets_of_each(tx, dids)
    return {did: Balance(did, *buckets) for did, buckets in found.items()}


async def is_active(tx: Tx, did: str) -> bool:
    """Return whether an account is there and not suspended."""
    return await store.is_active(tx, did)


async def circulating(tx: Tx) -> tuple[Minor, int]:
    """The sum of all balances, liquid, staked and in escrow, the registry's own included, and the number of agents' accounts."""
    return await store.sum_balances(tx)


async def newest_transaction(tx: Tx) -> int:
    """The highest id that this snapshot sees of a transaction, 0 without any."""
    return await store.newest_transaction(tx)
