"""Discovery: the index says which cards, the database what they are now."""

import json
from dataclasses import fields

import asyncpg

from hansa.foundation.plumbing.database import Database

from . import store
from .searcher import Searcher
from .wanted import Discovery, FoundCard, Wanted
from .why import Explainer

_SHOWN_AS_READ = tuple(
    field.name for field in fields(FoundCard) if field.name not in {"pricing", "score", "why"}
)


async def discover(searcher: Searcher, db: Database, wanted: Wanted) -> Discovery:
    """Find cards; a card that was hidden a moment ago may still be counted, and is not shown.

    Raises: SearchNotReady, Unavailable.
    """
    hits = await searcher.hits(wanted)
    if not hits.cards:
        return Discovery([], hits.total, hits.facets)
    cards = await db.look(lambda tx: store.page(tx, [number for number, _ in hits.cards]))
    explainer = Explainer(hits.asked)
    results = [_found(cards[number], score, explainer) for number, score in hits.cards if number in cards]
    return Discovery(results, hits.total, hits.facets)


def _found(card: asyncpg.Record, score: float, explainer: Explainer) -> FoundCard:
    return FoundCard(
        **{name: card[name] for name in _SHOWN_AS_READ},
        pricing=None if card["pricing"] is None else json.loads(card["pricing"]),
        score=round(score, 4),
        why=explainer.why(card),
    )
