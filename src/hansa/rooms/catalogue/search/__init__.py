"""Finding cards by their content: an index beside the database, fed from it, and the searches that read it."""

from .discover import discover
from .errors import SearchNotReady
from .execution import Hits
from .query import LOCAL_ORIGIN, Discovery, Explanation, Facets, FoundCard, SearchQuery
from .response_cache import SEARCH_ANSWERS, Answers
from .routes import Search, router
from .searcher import SEARCHER, Searcher
from .store import CARDS_CHANGED, notify_changed
from .writes import CardWrites

__all__ = [
    "CARDS_CHANGED",
    "LOCAL_ORIGIN",
    "SEARCHER",
    "SEARCH_ANSWERS",
    "Answers",
    "CardWrites",
    "Discovery",
    "Explanation",
    "Facets",
    "FoundCard",
    "Hits",
    "Search",
    "SearchNotReady",
    "SearchQuery",
    "Searcher",
    "discover",
    "notify_changed",
    "router",
]
