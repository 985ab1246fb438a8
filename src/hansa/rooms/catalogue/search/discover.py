"""Discovery: the index names the cards, the database supplies their present state."""

import json
from collections.abc import Mapping

import asyncpg

from hansa.foundation.plumbing.storage.database import Database

from . import store
from .execution import Hits
from .explanation import Explainer
from .query import Discovery, FoundCard, SearchQuery
from .searcher import Searcher

_SHOWN_AS_READ = tuple(
    name for name in FoundCard.__struct_fields__ if name not in {"pricing", "score", "why"}
)


async def discover(searcher: Searcher, db: Database, search_query: SearchQuery) -> Discovery:
    """Find cards; a card that was hidden a moment ago may still be counted, and is not shown.

    Raises: SearchNotReady, Unavailable.
    """
    discovery, _ = await read_found(db, await searcher.hits(search_query))
    return discovery


async def read_found(db: Database, hits: Hits) -> tuple[Discovery, Mapping[int, int]]:
    """Return the cards found, as they are now, and the version of each card that was read."""
    if not hits.cards:
        return Discovery([], hits.total, hits.facets), {}
    cards = await db.query(lambda tx: store.page(tx, hits.numbers))
    explainer = Explainer(hits.parsed, hits.unknown)
    results = [_found(cards[number], score, explainer) for number, score in hits.cards if number in cards]
    versions = {number: card["version"] for number, card in cards.items()}
    return Discovery(results, hits.total, hits.facets), versions


def _found(card: asyncpg.Record, score: float, explainer: Explainer) -> FoundCard:
    return FoundCard(
        **{name: card[name] for name in _SHOWN_AS_READ},
        pricing=None if card["pricing"] is None else json.loads(card["pricing"]),
        score=round(score, 4),
        why=explainer.why(card),
    )
