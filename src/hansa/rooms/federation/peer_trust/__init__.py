"""Peer trust: how far other registries are trusted, by the record of their behaviour."""

from .declared_trust import ask_peers, declared_trust
from .recording import call_peer, classify_peers, peer_verdict, record_crossings, record_signal
from .replaying import TrustCourse, trust_course
from .routes import peer_router, public_trust_router, router
from .rules import SignalKind, Thresholds
from .verdicts import OwnTrust, PeerTrust, accepts_cards, may_cross

__all__ = [
    "OwnTrust",
    "PeerTrust",
    "SignalKind",
    "Thresholds",
    "TrustCourse",
    "accepts_cards",
    "ask_peers",
    "call_peer",
    "classify_peers",
    "declared_trust",
    "may_cross",
    "peer_router",
    "peer_verdict",
    "public_trust_router",
    "record_crossings",
    "record_signal",
    "router",
    "trust_course",
]
