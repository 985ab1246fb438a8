"""Claims of DIDs: which registry of a trust domain holds a DID, kept by the frame of that trust domain."""

from .announcing import CLAIM_DIDS, announce_did
from .confirming import CONFIRM_CLAIMS
from .did_holder import held_elsewhere, is_own_did, is_shared, require_confirmed, speaks_for, unconfirmed
from .errors import DidClaimed, DidNotConfirmed, DidRefused
from .learning import FrameUnavailable, learn_holders
from .named import is_held_elsewhere, require_own_confirmed
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
