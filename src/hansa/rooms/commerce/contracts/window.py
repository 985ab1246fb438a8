"""Time for a dispute about a contract: the setting in force when the contract was accepted, whatever governance changes later."""

from datetime import timedelta

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx

from .contract import Contract


async def dispute_window(tx: Tx, contract: Contract, settings: Settings) -> timedelta:
    """Return the time for a dispute about a contract."""
    begun_at = contract.accepted_at or contract.created_at
    settings = await parameters.in_force_at(tx, settings, begun_at)
    return timedelta(hours=settings.dispute_window_hours)
