"""Find in the index: the cards, their number, and the facets of all of them."""

from collections.abc import Collection
from typing import Any

import msgspec
from tantivy import Order, Query, Searcher

from . import index_queries
from .query import Facets, SearchQuery
from .text import ParsedQuery, Word, parse_query

TAGS_RETURNED_MAX = 30
ORIGINS_MAX = 1000
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


class Hits(msgspec.Struct, frozen=True):
    """Numbers of cards with their scores, the best first; the total and the facets are of all cards found.

    `unknown` are words that no card holds: the cards found may hold another that is near.
    """

    parsed: ParsedQuery
    unknown: frozenset[Word]
    cards: tuple[tuple[int, float], ...]
    total: int
    facets: Facets

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(number for number, _ in self.cards)


def find(searcher: Searcher, search_query: SearchQuery, alive_since: int) -> Hits:
    """The page of cards that is wanted; `alive_since` is in seconds since 1970."""
    parsed = parse_query(search_query.q)
    if parsed.is_empty and search_query.q.strip():
        # A DID, or nothing but signs.
        chosen = index_queries.filtered(index_queries.named(parsed), search_query, alive_since)
    else:
        found = Query.all_query() if parsed.is_empty else index_queries.strict(parsed)
        chosen = index_queries.filtered(found, search_query, alive_since)
    counted = _count(searcher, chosen)
    unknown: frozenset[Word] = frozenset()
    if counted.total < index_queries.FEW:
        unknown = frozenset(word for word in parsed.words if not index_queries.is_known(word, searcher))
    for at_least in _steps(parsed):
        if counted.total >= index_queries.FEW:
            break
        chosen = index_queries.filtered(
            index_queries.lenient(parsed, unknown, at_least), search_query, alive_since
        )
        counted = _count(searcher, chosen)
    cards = _page(searcher, chosen, parsed, search_query) if search_query.offset < counted.total else ()
    return Hits(parsed, unknown, cards, counted.total, counted.facets)


def shared_names(searcher: Searcher, keys: Collection[str]) -> set[str]:
    """Those of the names, as `key_of` writes them, that several cards have."""
    return {key for key in keys if len(searcher.search(index_queries.called(key), 2, count=False).hits) > 1}


def _steps(parsed: ParsedQuery) -> list[int]:
    """How many words a card must hold where those that hold every word are few: most of them, then any."""
    words = len(parsed.words) + len(parsed.runs)
    return sorted({(words + 1) // 2, 1} if words else set(), reverse=True)


class _Counted(msgspec.Struct, frozen=True):
    total: int
    facets: Facets


def _count(searcher: Searcher, chosen: Query) -> _Counted:
    indexed = searcher.aggregate(chosen, _aggregations(TAGS_COUNTED))
    if indexed["tags"]["doc_count_error_upper_bound"]:
        indexed = searcher.aggregate(chosen, _aggregations(TAGS_MAX))
    pricing = _buckets(indexed["pricing"])
    facets = Facets(_buckets(indexed["origins"]), {"free": 0, "paid": 0} | pricing, _buckets(indexed["tags"]))
    # Each card is either free or paid.
    return _Counted(sum(pricing.values()), facets)


def _aggregations(tags_counted: int) -> dict[str, Any]:
    return {
        "origins": {"terms": {"field": "origin", "size": ORIGINS_MAX}},
        "pricing": {"terms": {"field": "pricing", "size": 2}},
        "tags": {"terms": {"field": "tag", "size": TAGS_RETURNED_MAX, "segment_size": tags_counted}},
    }


def _buckets(aggregation: dict[str, Any]) -> dict[str, int]:
    return {bucket["key"]: bucket["doc_count"] for bucket in aggregation["buckets"]}


def _page(
    searcher: Searcher, chosen: Query, parsed: ParsedQuery, search_query: SearchQuery
) -> tuple[tuple[int, float], ...]:
    if search_query.sort == "relevance" and parsed.whole:
        result = searcher.search(
            index_queries.ranked(chosen, parsed),
            search_query.limit,
            count=False,
            offset=search_query.offset,
            weight_by_field="weight",
        )
        scores = [float(score) for score, _ in result.hits]
    else:
        # A search without words makes no card more relevant than another: the reputation decides among those that respond.
        field, order = _ORDERS.get(search_query.sort, ("listed", Order.Desc))
        result = searcher.search(
            chosen,
            search_query.limit,
            count=False,
            offset=search_query.offset,
            order_by_field=field,
            order=order,
        )
        scores = [0.0] * len(result.hits)
    numbers = searcher.fast_field_values("id", [address for _, address in result.hits])
    return tuple((int(number or 0), score) for number, score in zip(numbers, scores, strict=True))
