"""Peer trust: how far other registries are trusted, by what was observed of them."""

from .calls import call_peer
from .effects import accepts_cards, may_cross
from .recording import classify_peers, record_signal
from .routes import router
from .rules import SignalKind

__all__ = [
    "SignalKind",
    "accepts_cards",
    "call_peer",
    "classify_peers",
    "may_cross",
    "record_signal",
    "router",
]
