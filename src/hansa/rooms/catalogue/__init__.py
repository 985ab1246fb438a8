"""Agent cards: their form, their storage, reading and finding them."""

from .availability import (
    PROVE_IN_LOG,
    LoggedEntry,
    LoggedStatements,
    ProbedDay,
    measured_days,
)
from .bonds import show_bond
from .card_facts import HAS_ANSWERED, IS_HOST_VERIFIED, LIVENESS, NAME_ON_CARD
from .card_rights import AGENT_RIGHT, HELD_RIGHT, CardReader
from .descriptor import ROOM
from .enforcement import reinstate_card, reinstate_listings, suspend_card, suspend_listings
from .errors import CardInvalid, CardRevoked, CardUnknown, HumanReadableIdTaken
from .flares import show_flares, shown_flare
from .form import check_card
from .human_readable_id import is_well_formed as is_human_readable_id
from .listing import Filters, list_cards
from .marks import GRADES, grade_of
from .mcp_servers.calling import McpCalls, Reply
from .mcp_servers.protocol import CALL_TOOL
from .mcp_servers.server_json import MCP
from .mcp_servers.tools import TOOL_TAG
from .mirrors import MirrorResult, mirror_cards
from .moving import (
    AddressMissing,
    CardAddress,
    CardChanged,
    Unfit,
    address_of_agent,
    check_address,
    move_card,
)
from .owning import LOCK_AGENT
from .owning.edit import CardEdit, Editor, edit_card, list_or_unlist, preview_edit
from .owning.ownership import Owners
from .pages import PageRequest
from .payment import declared_price, is_paid, rate_of
from .publication import CARD_STATE, agent_json_ld, others_state
from .publish import publish_card, publish_imported, publish_stub, publish_unlisted
from .pulls import VISIT_MADE, MadeVisit, PullStatus, note_heartbeat, pull_cycle
from .pulls.preview import preview_host
from .pulls.records import Interface, Unserved
from .reading import (
    card_called,
    card_of,
    card_of_agent,
    is_stated_bonded_here,
    listed_agents_of_organization,
    mirrored_homes,
    mirrored_statuses,
    name_of_agent,
    names_by_did,
    names_of_agents,
    other_agents_of_owner,
    verified_jobs_of,
)
from .records import Bond, Card, CardName, Flares, FlareShown, StoredCard, WorkOfAgent
from .replace import replace_document
from .reserved_names import reserve_name
from .retire import retire_card
from .search import (
    LOCAL_ORIGIN,
    SEARCH_ANSWERS,
    SEARCHER,
    Answers,
    CardWrites,
    Discovery,
    Explanation,
    Facets,
    FoundCard,
    Hits,
    Search,
    Searcher,
    SearchNotReady,
    SearchQuery,
    discover,
    notify_changed,
)
from .showcase import PINS_MAX, Pin, PinsIn, ShowcaseItem, ShowcaseOut, pin_agents, pins, read_showcase
from .signatures import AGENT_KEYS, AgentKey, SignaturePolicy, is_exported
from .store import newest_position, set_organization
from .template import card_template
from .track_record import show_scores, show_track_record
from .versions.reading import card_document_at, history_of, version_and_before
from .versions.records import CardVersion, Replaced
from .versions.releases import RELEASES_OF_AGENT, Artifact, Release
from .versions.schemas import CodeVersionOut

__all__ = [
    "AGENT_KEYS",
    "AGENT_RIGHT",
    "CALL_TOOL",
    "CARD_STATE",
    "GRADES",
    "HAS_ANSWERED",
    "HELD_RIGHT",
    "IS_HOST_VERIFIED",
    "LIVENESS",
    "LOCAL_ORIGIN",
    "LOCK_AGENT",
    "MCP",
    "NAME_ON_CARD",
    "PINS_MAX",
    "PROVE_IN_LOG",
    "RELEASES_OF_AGENT",
    "ROOM",
    "SEARCHER",
    "SEARCH_ANSWERS",
    "TOOL_TAG",
    "VISIT_MADE",
    "AddressMissing",
    "AgentKey",
    "Answers",
    "Artifact",
    "Bond",
    "Card",
    "CardAddress",
    "CardChanged",
    "CardEdit",
    "CardInvalid",
    "CardName",
    "CardReader",
    "CardRevoked",
    "CardUnknown",
    "CardVersion",
    "CardWrites",
    "CodeVersionOut",
    "Discovery",
    "Editor",
    "Explanation",
    "Facets",
    "Filters",
    "FlareShown",
    "Flares",
    "FoundCard",
    "Hits",
    "HumanReadableIdTaken",
    "Interface",
    "LoggedEntry",
    "LoggedStatements",
    "MadeVisit",
    "McpCalls",
    "MirrorResult",
    "Owners",
    "PageRequest",
    "Pin",
    "PinsIn",
    "ProbedDay",
    "PullStatus",
    "Release",
    "Replaced",
    "Reply",
    "Search",
    "SearchNotReady",
    "SearchQuery",
    "Searcher",
    "ShowcaseItem",
    "ShowcaseOut",
    "SignaturePolicy",
    "StoredCard",
    "Unfit",
    "Unserved",
    "WorkOfAgent",
    "address_of_agent",
    "agent_json_ld",
    "card_called",
    "card_document_at",
    "card_of",
    "card_of_agent",
    "card_template",
    "check_address",
    "check_card",
    "declared_price",
    "discover",
    "edit_card",
    "grade_of",
    "history_of",
    "is_exported",
    "is_human_readable_id",
    "is_paid",
    "is_stated_bonded_here",
    "list_cards",
    "list_or_unlist",
    "listed_agents_of_organization",
    "measured_days",
    "mirror_cards",
    "mirrored_homes",
    "mirrored_statuses",
    "move_card",
    "name_of_agent",
    "names_by_did",
    "names_of_agents",
    "newest_position",
    "note_heartbeat",
    "notify_changed",
    "other_agents_of_owner",
    "others_state",
    "pin_agents",
    "pins",
    "preview_edit",
    "preview_host",
    "publish_card",
    "publish_imported",
    "publish_stub",
    "publish_unlisted",
    "pull_cycle",
    "rate_of",
    "read_showcase",
    "reinstate_card",
    "reinstate_listings",
    "replace_document",
    "reserve_name",
    "retire_card",
    "set_organization",
    "show_bond",
    "show_flares",
    "show_scores",
    "show_track_record",
    "shown_flare",
    "suspend_card",
    "suspend_listings",
    "verified_jobs_of",
    "version_and_before",
]
