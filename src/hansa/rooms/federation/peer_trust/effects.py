"""What the state of a peer has as its effect, where PEER_TRUST_MODE is `enforce`; else it has none."""

from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.federation.peers import PeerRecord


def accepts_cards(peer: PeerRecord, settings: Settings) -> bool:
    """Whether cards of this peer are taken in: not of a restricted or suspended one, where scores have effects."""
    return settings.peer_trust_mode != "enforce" or peer.trust_state not in {"restricted", "suspended"}


def may_cross(peer: PeerRecord, settings: Settings) -> bool:
    """Whether money may cross to and from this peer: not of a suspended one, where scores have effects."""
    return settings.peer_trust_mode != "enforce" or peer.trust_state != "suspended"
