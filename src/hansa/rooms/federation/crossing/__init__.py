"""Crossing: the conditions under which money crosses to or from another registry."""

from .errors import AgentBlocked, LicenceRequired, PeerPaused, PeerSuspended
from .licence_round import OPERATOR_LICENCE, refresh_licences
from .require import require_may_cross, require_not_blocked

__all__ = [
    "OPERATOR_LICENCE",
    "AgentBlocked",
    "LicenceRequired",
    "PeerPaused",
    "PeerSuspended",
    "refresh_licences",
    "require_may_cross",
    "require_not_blocked",
]
