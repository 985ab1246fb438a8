"""Claims of DIDs: which registry of a trust domain holds a DID, kept by the frame of that trust domain."""

from .errors import DidClaimed, DidNotConfirmed, DidRefused
from .operator_claims import (
    CLAIM_DIDS,
    CONFIRM_CLAIMS,
    FrameUnavailable,
    announce_did,
    held_elsewhere,
    is_held_elsewhere,
    is_own_did,
    is_shared,
    learn_holders,
    require_confirmed,
    require_own_confirmed,
    speaks_for,
    unconfirmed,
)
from .routes import peer_router

__all__ = [
    "CLAIM_DIDS",
    "CONFIRM_CLAIMS",
    "DidClaimed",
    "DidNotConfirmed",
    "DidRefused",
    "FrameUnavailable",
    "announce_did",
    "held_elsewhere",
    "is_held_elsewhere",
    "is_own_did",
    "is_shared",
    "learn_holders",
    "peer_router",
    "require_confirmed",
    "require_own_confirmed",
    "speaks_for",
    "unconfirmed",
]
