"""Reading peers: their cards and acts of enforcement, from stored cursors, and the end of the mirrors of one peer."""

from .looking import peers_with_acts, peers_without_new_cards
from .reading import sync_acts, sync_peer
from .relayed import read_relayed
from .removing import ACTS_KIND, CARDS_KIND, remove_mirrors_of
from .store import (
    HAS_DUE_CARDS,
    TO_PLAN,
    begin,
    due_cards,
    has_read_acts,
    put_off_cards,
    reconcile_all,
    settle_statuses,
    take_due_acts,
)

__all__ = [
    "ACTS_KIND",
    "CARDS_KIND",
    "HAS_DUE_CARDS",
    "TO_PLAN",
    "begin",
    "due_cards",
    "has_read_acts",
    "peers_with_acts",
    "peers_without_new_cards",
    "put_off_cards",
    "read_relayed",
    "reconcile_all",
    "remove_mirrors_of",
    "settle_statuses",
    "sync_acts",
    "sync_peer",
    "take_due_acts",
]
