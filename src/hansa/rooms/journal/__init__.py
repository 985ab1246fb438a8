"""The journal: append-only, in the same commit as what it records."""

from hansa.rooms.journal.append import append
from hansa.rooms.journal.counting import EventCounts, count_settled
from hansa.rooms.journal.emission import settle_policies
from hansa.rooms.journal.errors import CursorInvalid, EmissionUndecided
from hansa.rooms.journal.feed import LiveFeed, forget_tickets
from hansa.rooms.journal.feed import root_router as feed_root_router
from hansa.rooms.journal.feed import router as feed_router
from hansa.rooms.journal.fold import (
    NOTHING_FOLDED,
    ORIGIN,
    RECORDED_TRANSACTIONS,
    FoldedFrom,
    Horizon,
    Move,
    SupplyFold,
    SupplyTerms,
    fold_moves,
    fold_supply,
    horizon,
)
from hansa.rooms.journal.ledger_readings import AccountCount, AccountKey, Held, LedgerReadings
from hansa.rooms.journal.partitions import keep_partitions_ahead
from hansa.rooms.journal.reactors import Reactor, pass_over, read_reactors, run_reactors, settle_reactors
from hansa.rooms.journal.reading import EventFilter, EventsPage, SortOrder, list_events
from hansa.rooms.journal.routes import router
from hansa.rooms.journal.schemas import EventsPageOut
from hansa.rooms.journal.store import (
    StoredEvent,
    add_months,
    months,
    newest_position,
    newest_sequence,
    sequence_of,
)

__all__ = [
    "NOTHING_FOLDED",
    "ORIGIN",
    "RECORDED_TRANSACTIONS",
    "AccountCount",
    "AccountKey",
    "CursorInvalid",
    "EmissionUndecided",
    "EventCounts",
    "EventFilter",
    "EventsPage",
    "EventsPageOut",
    "FoldedFrom",
    "Held",
    "Horizon",
    "LedgerReadings",
    "LiveFeed",
    "Move",
    "Reactor",
    "SortOrder",
    "StoredEvent",
    "SupplyFold",
    "SupplyTerms",
    "add_months",
    "append",
    "count_settled",
    "feed_root_router",
    "feed_router",
    "fold_moves",
    "fold_supply",
    "forget_tickets",
    "horizon",
    "keep_partitions_ahead",
    "list_events",
    "months",
    "newest_position",
    "newest_sequence",
    "pass_over",
    "read_reactors",
    "router",
    "run_reactors",
    "sequence_of",
    "settle_policies",
    "settle_reactors",
]
