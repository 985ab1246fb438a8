"""Peer trust: how far other registries are trusted, by the record of their behaviour."""

from .declared_trust import ask_peers
from .recording import call_peer, classify_peers, record_crossings, record_signal
from .routes import peer_router, public_trust_router, router
from .rules import SignalKind
from .verdicts import accepts_cards, may_cross

__all__ = [
    "SignalKind",
    "accepts_cards",
    "ask_peers",
    "call_peer",
    "classify_peers",
    "may_cross",
    "peer_router",
    "public_trust_router",
    "record_crossings",
    "record_signal",
    "router",
]
