"""Solvency: the account of each listing has what its holders are owed and what is carried."""

from collections.abc import Sequence

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import listing_did
from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms import ledger

from . import store
from .records import Solvency
from .rules import worst


async def solvency_of_listings(tx: Tx) -> list[Solvency]:
    """The accounts of all listings that were launched, in the snapshot of the transaction."""
    rows = await store.owed_of_listings(tx)
    accounts = [listing_did(row["treasury_did"], row["ref"]) for row in rows]
    balances = await ledger.balances_of(tx, accounts)
    return [
        Solvency(
            row["ref"],
            row["status"],
            row["held"],
            balances[account].liquid if account in balances else ZERO,
            Minor(row["owed"]),
            Minor(row["carried"]),
            Minor(row["arrears"]),
        )
        for row, account in zip(rows, accounts, strict=True)
    ]


def verdict_on(listings: Sequence[Solvency]) -> str:
    """The worst verdict on these listings."""
    return worst([listing.verdict for listing in listings])
