"""Peer trust: how far other registries are trusted, by what was observed of them."""

from .calls import call_peer
from .recording import classify_peers, record_crossings, record_signal
from .routes import router
from .rules import SignalKind
from .verdicts import accepts_cards, may_cross

__all__ = [
    "SignalKind",
    "accepts_cards",
    "call_peer",
    "classify_peers",
    "may_cross",
    "record_crossings",
    "record_signal",
    "router",
]
