"""Verdict on a peer by the evidence, its form for administrators, and its effects where PEER_TRUST_MODE is `enforce`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec
from msgspec.structs import asdict
from pydantic import Field

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms.federation.peers import PeerRecord

from .rules import Thresholds, TrustState, reason_of

Refused = Literal["cards", "crossings"]
_REFUSED: Mapping[TrustState, tuple[Refused, ...]] = {
    "restricted": ("cards",),
    "suspended": ("cards", "crossings"),
}


class PeerVerdict(msgspec.Struct, frozen=True):
    """A peer with its score, and how many signals of each kind there are."""

    peer: PeerRecord
    score: float
    counts: Mapping[str, int]


class TrustThresholds(LazyModel):
    """The settings PEER_TRUST_*."""

    min_interactions: int
    warn_below: float
    restrict_below: float
    suspend_below: float
    recover_margin: float


class TrustEvidence(LazyModel):
    """How many signals of each kind are kept. Older ones weigh less: half after 90 days."""

    crossings: int
    disputes_lost: int
    cards_refused: int
    unanswered: int
    swaps_aborted: int = Field(description="Swaps that it aborted after this registry was prepared for them.")


class PeerTrust(LazyModel):
    """A peer as its evidence shows it."""

    name: str
    ledger_id: str | None = Field(examples=["peer.example.org"])
    state: Literal["unmeasured", "ok", "warn", "restricted", "suspended"]
    score: float = Field(
        description="From 0 to 1; without evidence 0.5, which means nothing.", examples=[0.92]
    )
    interactions: int
    evidence: TrustEvidence
    reason: str = Field(description="Why it has this state.", examples=["The score 0.92 is not below 0.70."])
    refuses: list[Refused] = Field(
        description="What is refused of the peer now; nothing unless the mode is `enforce`.",
        examples=[[]],
    )

    @classmethod
    def of(cls, verdict: PeerVerdict, settings: Settings) -> "PeerTrust":
        """The verdict on one peer."""
        counts, peer = verdict.counts, verdict.peer
        limits = Thresholds.of(settings)
        return cls(
            name=peer.name,
            ledger_id=peer.ledger_id,
            state=peer.trust_state,
            score=round(verdict.score, 6),
            interactions=peer.total_interactions,
            evidence=TrustEvidence(
                crossings=counts.get("crossing", 0),
                disputes_lost=counts.get("dispute_lost", 0),
                cards_refused=counts.get("card_refused", 0),
                unanswered=counts.get("unanswered", 0),
                swaps_aborted=counts.get("swap_aborted", 0),
            ),
            reason=reason_of(peer.trust_state, verdict.score, peer.total_interactions, limits),
            refuses=refused_of(peer.trust_state, settings.peer_trust_mode),
        )


class PeerTrustReport(LazyModel):
    """The posture of this registry toward its peers."""

    mode: Literal["off", "observe", "enforce"]
    thresholds: TrustThresholds
    peers: list[PeerTrust]
    summary: dict[str, int] = Field(
        description="The number of peers by state.", examples=[{"ok": 4, "warn": 1}]
    )

    @classmethod
    def of(cls, settings: Settings, verdicts: Sequence[PeerVerdict]) -> "PeerTrustReport":
        """The verdicts of now under these settings."""
        return cls(
            mode=settings.peer_trust_mode,
            thresholds=TrustThresholds(**asdict(Thresholds.of(settings))),
            peers=[PeerTrust.of(verdict, settings) for verdict in verdicts],
            summary=dict(Counter(verdict.peer.trust_state for verdict in verdicts)),
        )


class OwnTrust(LazyModel):
    """What a peer states about its trust in this registry."""

    peer: str = Field(description="The ledger id of the peer.", examples=["peer.example.org"])
    mode: Literal["off", "observe", "enforce"] = Field(
        description="Whether the peer's verdict has effects there."
    )
    state: Literal["unmeasured", "ok", "warn", "restricted", "suspended"]
    score: float = Field(examples=[0.92])
    interactions: int
    reason: str = Field(examples=["The score 0.92 is not below 0.70."])
    read_at: datetime


class AdminTrustReport(PeerTrustReport):
    """The posture of this registry toward its peers, and theirs toward it."""

    own: list[OwnTrust]


class TrustInYou(LazyModel):
    """What this registry states about its trust in the registry that asks."""

    mode: Literal["off", "observe", "enforce"]
    trust: PeerTrust


def refused_of(state: TrustState, mode: str) -> list[Refused]:
    """Return the kinds of exchange that are refused to a peer in this state."""
    return list(_REFUSED.get(state, ())) if mode == "enforce" else []


def accepts_cards(peer: PeerRecord, settings: Settings) -> bool:
    """Return whether cards of this peer are taken in: not of a restricted or suspended one, where scores have effects."""
    return "cards" not in refused_of(peer.trust_state, settings.peer_trust_mode)


def may_cross(peer: PeerRecord, settings: Settings) -> bool:
    """Return whether money may cross to and from this peer: not of a suspended one, where scores have effects."""
    return "crossings" not in refused_of(peer.trust_state, settings.peer_trust_mode)
