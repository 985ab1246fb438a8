"""What a developer sees of the own calls."""

from hansa.foundation.plumbing.caller import Developer
from hansa.foundation.plumbing.database import Tx

from . import store


async def calls_of(
    tx: Tx, developer: Developer, *, limit: int, offset: int
) -> tuple[list[store.WrittenCall], int]:
    """A page of the last calls of the developer and the developer's agents, newest first, and how many are kept."""
    shown = await store.page(tx, developer.id, limit=limit, offset=offset)
    return shown, await store.count(tx, developer.id)
