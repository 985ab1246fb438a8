"""Finding cards by what they say: an index beside the database, fed from it, and the searches that read it."""

from .answers import Answers
from .discover import discover
from .errors import SearchNotReady
from .routes import Search, router
from .searcher import Searcher
from .wanted import LOCAL_ORIGIN, Discovery, Facets, FoundCard, Wanted, Why
from .writes import CardWrites

__all__ = [
    "LOCAL_ORIGIN",
    "Answers",
    "CardWrites",
    "Discovery",
    "Facets",
    "FoundCard",
    "Search",
    "SearchNotReady",
    "Searcher",
    "Wanted",
    "Why",
    "discover",
    "router",
]
