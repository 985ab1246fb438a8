"""Figures of the registry card about the supply, from the newest audit cycle."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import federation

from . import store


async def last_audit(tx: Tx) -> federation.LastAudit | None:
    """The newest verdict for the block `economic` of the registry card; None before the first cycle."""
    verdict = await store.latest_verdict(tx)
    if verdict is None:
        return None
    return federation.LastAudit(verdict.status, format_amount(verdict.delta), verdict.checked_at)
