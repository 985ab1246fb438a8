"""Read which peers have applied the acts on an agent, for everyone."""

from datetime import datetime
from typing import NamedTuple

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.reading import card_of_agent

from . import store
from .records import Notice


class NoticesOfAgent(NamedTuple):
    """Page of the notices that peers have to apply of an agent, how many there are, and the time."""

    notices: list[Notice]
    total: int
    now: datetime


async def notices_of_agent(tx: Tx, did: str, limit: int, offset: int) -> NoticesOfAgent:
    """Read one page, the newest act first. Raises: CardUnknown."""
    await card_of_agent(tx, did)
    notices, total = await store.of_agent(tx, did, limit, offset)
    return NoticesOfAgent(notices, total, await clock.now(tx))
