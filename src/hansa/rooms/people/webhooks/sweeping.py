"""What is forgotten of webhooks."""

from hansa.foundation.plumbing.database import Tx

from . import rules, store


async def forget_old_deliveries(tx: Tx) -> None:
    """Delete the deliveries of more than 30 days ago."""
    await store.forget_old(tx, rules.DELIVERIES_KEPT_DAYS)
