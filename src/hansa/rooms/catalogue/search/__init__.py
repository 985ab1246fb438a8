"""Finding cards by their content: an index beside the database, fed from it, and the searches that read it."""

from .discover import discover, discover_all
from .errors import SearchNotReady
from .execution import Hits
from .query import LOCAL_ORIGIN, Discovery, Explanation, Facets, FoundCard, SearchQuery
from .routes import Search, router
from .searcher import SEARCHER, Searcher
from .store import CARDS_CHANGED
from .writes import CardWrites

__all__ = [
    "CARDS_CHANGED",
    "LOCAL_ORIGIN",
    "SEARCHER",
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
    "discover_all",
    "router",
]
