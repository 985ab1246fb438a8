"""Effects of the state of a peer, where PEER_TRUST_MODE is `enforce`; else it has none."""

from collections.abc import Mapping
from typing import Literal

from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.federation.peers import PeerRecord

from .rules import TrustState

Refused = Literal["cards", "crossings"]

_REFUSED: Mapping[TrustState, tuple[Refused, ...]] = {
    "restricted": ("cards",),
    "suspended": ("cards", "crossings"),
}


def refused_of(state: TrustState, mode: str) -> list[Refused]:
    """Return the kinds of exchange that are refused to a peer in this state."""
    return list(_REFUSED.get(state, ())) if mode == "enforce" else []


def accepts_cards(peer: PeerRecord, settings: Settings) -> bool:
    """Return whether cards of this peer are taken in: not of a restricted or suspended one, where scores have effects."""
    return "cards" not in refused_of(peer.trust_state, settings.peer_trust_mode)


def may_cross(peer: PeerRecord, settings: Settings) -> bool:
    """Return whether money may cross to and from this peer: not of a suspended one, where scores have effects."""
    return "crossings" not in refused_of(peer.trust_state, settings.peer_trust_mode)
