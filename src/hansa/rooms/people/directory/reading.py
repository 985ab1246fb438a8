"""Developers by a part of their name or address, or by their number."""

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .records import FoundDeveloper


async def find_developers(tx: Tx, text: str, *, limit: int, offset: int) -> tuple[list[FoundDeveloper], int]:
    """A page of the developers whose name or address contains `text` or whose number it is, newest first, and how many there are."""
    return await store.find(tx, text.strip(), limit=limit, offset=offset)


async def read_developer(tx: Tx, developer_id: int) -> FoundDeveloper | None:
    """One developer; None where there is no such account."""
    return await store.find_one(tx, developer_id)
