"""Mirrored cards: the statements of peer registries about their agents, applied a page at a time."""

from .apply import mirror_cards
from .records import MirrorResult, PeerItem
from .rules import read_item
from .store import lock_peer, remove_mirrors, stored_versions

__all__ = [
    "MirrorResult",
    "PeerItem",
    "lock_peer",
    "mirror_cards",
    "read_item",
    "remove_mirrors",
    "stored_versions",
]
