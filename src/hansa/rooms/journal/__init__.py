"""Journal: append-only, in the same commit as the facts it records."""

from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.rooms.journal.append import append
from hansa.rooms.journal.descriptor import ROOM
from hansa.rooms.journal.emission import Policy as EmissionPolicy
from hansa.rooms.journal.emission import change_policy, list_policies, settle_policies
from hansa.rooms.journal.errors import CursorInvalid, EmissionUndecided
from hansa.rooms.journal.feed import LIVE_FEED, OWNED_AMONG, LiveFeed, StreamFilter, event_stream
from hansa.rooms.journal.fold import (
    NOTHING_FOLDED,
    ORIGIN,
    RECORDED_TRANSACTIONS,
    FoldedFrom,
    Horizon,
    Move,
    Numbers,
    SupplyFold,
    SupplyTerms,
    TypedSupply,
    fold_moves,
    fold_supply,
    fold_whole,
    horizon,
    typed_supply,
)
from hansa.rooms.journal.ledger_readings import (
    LEDGER_READINGS,
    AccountCount,
    AccountKey,
    Held,
    LedgerReadings,
)
from hansa.rooms.journal.partitions import keep_partitions_ahead
from hansa.rooms.journal.projection import SnapshotsDisabled, write_baseline
from hansa.rooms.journal.public_reading import (
    PublicFilter,
    PublicPage,
    find_public_event,
    list_own_events,
    list_public_events,
    public_events_of_transaction,
    public_events_of_transactions,
)
from hansa.rooms.journal.reactors import (
    pass_over,
    reactor_jobs,
    read_reactors,
    resume_events,
    settle_reactors,
)
from hansa.rooms.journal.reading import EventFilter, EventsPage, SortOrder, list_events
from hansa.rooms.journal.schemas import EventRecord, EventsPageOut
from hansa.rooms.journal.store import (
    add_months,
    months,
    newest_position,
    newest_sequence,
    sequence_of,
)
from hansa.rooms.journal.volume import DayVolume, volume_by_day

__all__ = [
    "LEDGER_READINGS",
    "LIVE_FEED",
    "NOTHING_FOLDED",
    "ORIGIN",
    "OWNED_AMONG",
    "RECORDED_TRANSACTIONS",
    "ROOM",
    "AccountCount",
    "AccountKey",
    "CursorInvalid",
    "DayVolume",
    "EmissionPolicy",
    "EmissionUndecided",
    "EventFilter",
    "EventRecord",
    "EventsPage",
    "EventsPageOut",
    "FoldedFrom",
    "Held",
    "Horizon",
    "LedgerReadings",
    "LiveFeed",
    "Move",
    "Numbers",
    "PublicFilter",
    "PublicPage",
    "Reactor",
    "SnapshotsDisabled",
    "SortOrder",
    "StoredEvent",
    "StreamFilter",
    "SupplyFold",
    "SupplyTerms",
    "TypedSupply",
    "add_months",
    "append",
    "change_policy",
    "event_stream",
    "find_public_event",
    "fold_moves",
    "fold_supply",
    "fold_whole",
    "horizon",
    "keep_partitions_ahead",
    "list_events",
    "list_own_events",
    "list_policies",
    "list_public_events",
    "months",
    "newest_position",
    "newest_sequence",
    "pass_over",
    "public_events_of_transaction",
    "public_events_of_transactions",
    "reactor_jobs",
    "read_reactors",
    "resume_events",
    "sequence_of",
    "settle_policies",
    "settle_reactors",
    "typed_supply",
    "volume_by_day",
    "write_baseline",
]
