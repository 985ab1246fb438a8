"""Agents that were suspended at a moment, for rooms whose deadlines a suspension stops."""

from collections.abc import Sequence
from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .rules import HardSuspension


async def hard_suspensions_at(tx: Tx, dids: Sequence[str], timestamp: datetime) -> list[HardSuspension]:
    """The hard suspensions of these agents that were in force at a timestamp, in the order in which they began."""
    return await store.hard_suspensions_at(tx, dids, timestamp)
