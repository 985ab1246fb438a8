"""The score of a peer and its state (Specification 6 S, 6 W 20). Pure: the evidence is counted elsewhere.

score = (1 + s) / (2 + s + f), where s and f are the weights of successes and failures, each halved every 90 days. Without
evidence it is 0.5 and means nothing: a peer with few interactions is `unmeasured`.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from hansa.foundation.plumbing.settings import Settings

TrustState: TypeAlias = Literal["unmeasured", "ok", "warn", "restricted", "suspended"]
SignalKind: TypeAlias = Literal["crossing", "dispute_lost", "card_refused", "unanswered", "swap_aborted"]

HALF_LIFE_DAYS = 90
CROSSINGS_OF_AN_HOUR = 10
SUCCESSES: Mapping[str, float] = {"crossing": 1.0}
FAILURES: Mapping[str, float] = {
    "dispute_lost": 5.0,
    "card_refused": 1.0,
    "unanswered": 1.0,
    "swap_aborted": 1.0,
}


class Thresholds(msgspec.Struct, frozen=True):
    """Scores below which a peer is warned of, restricted and suspended, and the conditions of its recovery."""

    min_interactions: int
    warn_below: float
    restrict_below: float
    suspend_below: float
    recover_margin: float

    @classmethod
    def of(cls, settings: Settings) -> "Thresholds":
        return cls(
            settings.peer_trust_min_interactions,
            float(settings.peer_trust_warn_below),
            float(settings.peer_trust_restrict_below),
            float(settings.peer_trust_suspend_below),
            float(settings.peer_trust_recover_margin),
        )


def score(decayed: Mapping[str, float]) -> float:
    """From 0 to 1, of the numbers of signals by kind, each already halved by its age."""
    succeeded = sum(weight * decayed.get(kind, 0) for kind, weight in SUCCESSES.items())
    failed = sum(weight * decayed.get(kind, 0) for kind, weight in FAILURES.items())
    return (1 + succeeded) / (2 + succeeded + failed)


def weight_of(state: TrustState, reached: float) -> int:
    """The score in thousandths; 0 for a peer that is unmeasured or suspended."""
    return 0 if state in {"unmeasured", "suspended"} else round(reached * 1000)


def reason_of(state: TrustState, reached: float, interactions: int, limits: Thresholds) -> str:
    """Why a peer with this score has this state, in one sentence."""
    margin = limits.recover_margin
    match state:
        case "unmeasured":
            return f"{interactions} interactions; {limits.min_interactions} are needed for a measurement."
        case "ok":
            return f"The score {reached:.2f} is not below {limits.warn_below:.2f}."
        case "warn":
            return f"The score {reached:.2f} is below {limits.warn_below:.2f}."
        case "restricted":
            lifted = limits.restrict_below + margin
            return f"The score {reached:.2f} is or was below {limits.restrict_below:.2f}; lifted from {lifted:.2f} on."
        case "suspended":
            lifted = limits.suspend_below + margin
            return f"The score {reached:.2f} is or was below {limits.suspend_below:.2f}; lifted from {lifted:.2f} on."


def next_state(present: TrustState, reached: float, interactions: int, limits: Thresholds) -> TrustState:
    """The state of a peer with this score. A restricted or suspended one recovers only past the margin."""
    if interactions < limits.min_interactions:
        return "unmeasured"
    to_leave_suspension = limits.recover_margin if present == "suspended" else 0
    to_leave_restriction = limits.recover_margin if present in {"restricted", "suspended"} else 0
    if reached < limits.suspend_below + to_leave_suspension:
        return "suspended"
    if reached < limits.restrict_below + to_leave_restriction:
        return "restricted"
    return "warn" if reached < limits.warn_below else "ok"
