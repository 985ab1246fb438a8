"""Agent cards: their form, their storage, reading and finding them."""

from .enforcement import reinstate_card, reinstate_listings, suspend_card, suspend_listings
from .errors import CardInvalid, CardRevoked, CardUnknown, HumanReadableIdTaken
from .findings import Findings
from .listing import Filters, list_cards
from .maintenance import index_texts, keep_lists_quick
from .marks import grade_of
from .mirrors import MirrorResult, mirror_cards
from .owning import Ownership
from .owning import router as owning_router
from .pages import PageRequest
from .payment import is_paid, rate_of, stated_price
from .publication import agent_json_ld, manifest_router, resource_discovery_router, well_known_router
from .publish import publish_card, publish_stub
from .pulls import note_heartbeat, probe_due, pull_due
from .pulls import router as pulls_router
from .reading import card_of, card_of_agent, name_of_agent, names_of_agents
from .records import Card, StoredCard
from .replace import replace_document
from .retire import erase_cards_of, erase_old, retire_card
from .routes import router
from .search import (
    LOCAL_ORIGIN,
    Answers,
    CardWrites,
    Discovery,
    Explanation,
    Facets,
    FoundCard,
    Search,
    Searcher,
    SearchNotReady,
    SearchQuery,
    discover,
)
from .search import router as search_router
from .signatures import AgentKey, CardExporter, is_exported
from .signatures import router as signatures_router
from .store import newest_position
from .template import card_template
from .versions.records import Replaced
from .versions.routes import router as versions_router

__all__ = [
    "LOCAL_ORIGIN",
    "AgentKey",
    "Answers",
    "Card",
    "CardExporter",
    "CardInvalid",
    "CardRevoked",
    "CardUnknown",
    "CardWrites",
    "Discovery",
    "Explanation",
    "Facets",
    "Filters",
    "Findings",
    "FoundCard",
    "HumanReadableIdTaken",
    "MirrorResult",
    "Ownership",
    "PageRequest",
    "Replaced",
    "Search",
    "SearchNotReady",
    "SearchQuery",
    "Searcher",
    "StoredCard",
    "agent_json_ld",
    "card_of",
    "card_of_agent",
    "card_template",
    "discover",
    "erase_cards_of",
    "erase_old",
    "grade_of",
    "index_texts",
    "is_exported",
    "is_paid",
    "keep_lists_quick",
    "list_cards",
    "manifest_router",
    "mirror_cards",
    "name_of_agent",
    "names_of_agents",
    "newest_position",
    "note_heartbeat",
    "owning_router",
    "probe_due",
    "publish_card",
    "publish_stub",
    "pull_due",
    "pulls_router",
    "rate_of",
    "reinstate_card",
    "reinstate_listings",
    "replace_document",
    "resource_discovery_router",
    "retire_card",
    "router",
    "search_router",
    "signatures_router",
    "stated_price",
    "suspend_card",
    "suspend_listings",
    "versions_router",
    "well_known_router",
]
