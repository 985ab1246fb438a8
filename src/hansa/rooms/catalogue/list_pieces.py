"""The pieces of a page of cards, as they are sent: a long page is never in memory as a whole.

The first cards are read with the page, the others in batches while the client reads. A card that is hidden meanwhile is omitted: in
a list of changes a later page has its tombstone.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

from hansa.foundation.plumbing.storage.database import Database

from .listing import read_cards
from .pages import CardsPage, PageRequest
from .schemas import CardOut, CardPageOut
from .shown import shown

PIECE_BYTES = 64 * 1024


async def list_pieces(
    db: Database, page: CardsPage, page_request: PageRequest, extension_base: str
) -> AsyncIterator[bytes]:
    """The JSON text of the page, piece by piece. Raises: Unavailable, between two batches."""
    before, after = CardPageOut.around(page, page_request.limit)
    piece, separator = bytearray(before), b""
    for numbers in ((), *page.later):
        read = partial(read_cards, page=page, numbers=numbers, with_data=page_request.with_data)
        for card in await db.read(read) if numbers else page.cards:
            piece += separator
            piece += CardOut.of(shown(card, extension_base)).body()
            separator = b","
            if len(piece) >= PIECE_BYTES:
                yield bytes(piece)
                piece.clear()
                # Other requests go on between two pieces of a page.
                await asyncio.sleep(0)
    yield bytes(piece + after)
