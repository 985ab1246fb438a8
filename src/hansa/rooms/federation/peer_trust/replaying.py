"""States of peers over a recorded time by other thresholds, computed from the evidence that is stored."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .rules import HALF_LIFE_DAYS, Thresholds, TrustState, next_state, score
from .store import Signal
from .verdicts import refused_of

DAY_SECONDS = 86_400


class _FollowedPeer(msgspec.Struct):
    """State of a peer, and its evidence by kind with its weight at a moment."""

    at: datetime
    state: TrustState = "unmeasured"
    interactions: int = 0
    decayed: dict[str, float] = {}


class TrustCourse:
    """States of all peers, each followed from its first signal on; moments are asked for in their order."""

    def __init__(self, signals: Sequence[Signal], limits_at: Callable[[datetime], Thresholds]) -> None:
        self._limits_at = limits_at
        self._signals: dict[str, list[Signal]] = defaultdict(list)
        for signal in reversed(signals):
            self._signals[signal.peer].append(signal)
        self._evidence_of: dict[str, _FollowedPeer] = {}

    @property
    def peers(self) -> list[str]:
        """The ledger ids of the peers with evidence."""
        return sorted(self._signals)

    def refuses_crossings(self, peer: str, moment: datetime) -> bool:
        """Return whether the peer was suspended at a moment, where scores have effects."""
        waiting = self._signals.get(peer, [])
        while waiting and waiting[-1].at <= moment:
            self._follow(peer, waiting[-1].at, waiting.pop().kind)
        return "crossings" in refused_of(self._follow(peer, moment), "enforce")

    def _follow(self, peer: str, moment: datetime, kind: str | None = None) -> TrustState:
        followed = self._evidence_of.setdefault(peer, _FollowedPeer(moment))
        days = max((moment - followed.at).total_seconds(), 0) / DAY_SECONDS
        decayed = {name: weight * 0.5 ** (days / HALF_LIFE_DAYS) for name, weight in followed.decayed.items()}
        if kind is not None:
            decayed[kind] = decayed.get(kind, 0) + 1
            followed.interactions += 1
        followed.at, followed.decayed = max(moment, followed.at), decayed
        limits = self._limits_at(moment)
        followed.state = next_state(followed.state, score(decayed), followed.interactions, limits)
        return followed.state


async def trust_course(tx: Tx, limits_at: Callable[[datetime], Thresholds]) -> TrustCourse:
    """Return the course of the states of all peers by these thresholds."""
    return TrustCourse(await store.signals(tx), limits_at)
