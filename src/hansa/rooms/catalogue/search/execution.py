"""Find in the index: which cards, how many, and what is true of all of them."""

from dataclasses import dataclass
from typing import Any

from tantivy import Order, Query, Searcher

from . import index_queries
from .query import Facets, Wanted
from .text import Asked, Word, asked_for

TAGS_TOLD = 30
ORIGINS_TOLD = 1000
# Distinct tags that a segment of the index counts at first; only where there are more, all of them are counted.
TAGS_COUNTED = 10_000
TAGS_MAX = 10_000_000

_ORDERS: dict[str, tuple[str, Order]] = {
    "newest": ("id", Order.Desc),
    "reputation": ("standing", Order.Desc),
    "proven": ("jobs", Order.Desc),
    "price_low": ("price_low", Order.Asc),
    "price_high": ("price_high", Order.Desc),
}


@dataclass(frozen=True)
class Hits:
    """Numbers of cards with their scores, the best first; the total and the facets are of all that was found.

    `unknown` are words that no card holds: what was found may hold another that is near.
    """

    asked: Asked
    unknown: frozenset[Word]
    cards: tuple[tuple[int, float], ...]
    total: int
    facets: Facets

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(number for number, _ in self.cards)


def find(searcher: Searcher, wanted: Wanted, alive_since: int) -> Hits:
    """The page of cards that is wanted; `alive_since` is in seconds since 1970."""
    asked = asked_for(wanted.q)
    if asked.is_empty and wanted.q.strip():
        # A DID, or nothing but signs.
        chosen = index_queries.filtered(index_queries.named(asked), wanted, alive_since)
    else:
        found = Query.all_query() if asked.is_empty else index_queries.strict(asked)
        chosen = index_queries.filtered(found, wanted, alive_since)
    counted = _count(searcher, chosen)
    unknown: frozenset[Word] = frozenset()
    if counted.total < index_queries.FEW:
        unknown = frozenset(word for word in asked.words if not index_queries.is_known(word, searcher))
    for at_least in _steps(asked):
        if counted.total >= index_queries.FEW:
            break
        chosen = index_queries.filtered(index_queries.lenient(asked, unknown, at_least), wanted, alive_since)
        counted = _count(searcher, chosen)
    cards = _page(searcher, chosen, asked, wanted) if wanted.offset < counted.total else ()
    return Hits(asked, unknown, cards, counted.total, counted.facets)


def _steps(asked: Asked) -> list[int]:
    """How many words a card must hold where those that hold every word are few: most of them, then any."""
    words = len(asked.words) + len(asked.runs)
    return sorted({(words + 1) // 2, 1} if words else set(), reverse=True)


@dataclass(frozen=True)
class _Counted:
    total: int
    facets: Facets


def _count(searcher: Searcher, chosen: Query) -> _Counted:
    told = searcher.aggregate(chosen, _aggregations(TAGS_COUNTED))
    if told["tags"]["doc_count_error_upper_bound"]:
        told = searcher.aggregate(chosen, _aggregations(TAGS_MAX))
    pricing = _buckets(told["pricing"])
    facets = Facets(_buckets(told["origins"]), {"free": 0, "paid": 0} | pricing, _buckets(told["tags"]))
    # Each card is either free or paid.
    return _Counted(sum(pricing.values()), facets)


def _aggregations(tags_counted: int) -> dict[str, Any]:
    return {
        "origins": {"terms": {"field": "origin", "size": ORIGINS_TOLD}},
        "pricing": {"terms": {"field": "pricing", "size": 2}},
        "tags": {"terms": {"field": "tag", "size": TAGS_TOLD, "segment_size": tags_counted}},
    }


def _buckets(aggregation: dict[str, Any]) -> dict[str, int]:
    return {bucket["key"]: bucket["doc_count"] for bucket in aggregation["buckets"]}


def _page(searcher: Searcher, chosen: Query, asked: Asked, wanted: Wanted) -> tuple[tuple[int, float], ...]:
    if wanted.sort == "relevance" and asked.whole:
        result = searcher.search(
            index_queries.ranked(chosen, asked),
            wanted.limit,
            count=False,
            offset=wanted.offset,
            weight_by_field="weight",
        )
        scores = [float(score) for score, _ in result.hits]
    else:
        # Where nothing was asked for, nothing is more relevant than anything else.
        field, order = _ORDERS["reputation" if wanted.sort == "relevance" else wanted.sort]
        result = searcher.search(
            chosen, wanted.limit, count=False, offset=wanted.offset, order_by_field=field, order=order
        )
        scores = [0.0] * len(result.hits)
    numbers = searcher.fast_field_values("id", [address for _, address in result.hits])
    return tuple((int(number or 0), score) for number, score in zip(numbers, scores, strict=True))
