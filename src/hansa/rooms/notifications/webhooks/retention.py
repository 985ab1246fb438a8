"""Retention of webhooks: rows that are deleted, and deliveries that are no longer sent."""

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.storage.database import Tx

from . import rules, store
from .queue import KIND


async def forget_old_deliveries(tx: Tx) -> None:
    """Delete the deliveries of more than 30 days ago."""
    await store.forget_old(tx, rules.DELIVERIES_KEPT_DAYS)


async def withhold_deliveries(tx: Tx) -> int:
    """Withhold every waiting delivery in a restored copy: the registry it was copied from may have sent it since."""
    await jobs.withdraw(tx, KIND)
    return await store.withhold_pending(tx, "withheld: the registry was restored from a backup")
