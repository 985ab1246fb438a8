"""Reading peers: their cards and acts of enforcement, from stored cursors, and the end of what is mirrored from one."""

from .looking import peers_with_acts
from .reading import sync_acts, sync_peer
from .relayed import read_relayed
from .removing import ACTS_KIND, CARDS_KIND, HINT_KIND, remove_mirrors_of
from .store import begin, has_read_acts, reconcile_all, settle_statuses, take_due

__all__ = [
    "ACTS_KIND",
    "CARDS_KIND",
    "HINT_KIND",
    "begin",
    "has_read_acts",
    "peers_with_acts",
    "read_relayed",
    "reconcile_all",
    "remove_mirrors_of",
    "settle_statuses",
    "sync_acts",
    "sync_peer",
    "take_due",
]
