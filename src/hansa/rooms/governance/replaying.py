"""Governed settings that a replay of a recorded period recomputes with (`hansa replay`), and the command for a proposal. No I/O."""

from collections.abc import Mapping
from typing import Any

FEES = ("fee_base_rate_percent", "fee_max_rate_percent")
BONDS = ("bond_minimum",)
PEER_TRUST = (
    "peer_trust_min_interactions",
    "peer_trust_recover_margin",
    "peer_trust_restrict_below",
    "peer_trust_suspend_below",
    "peer_trust_warn_below",
)
REPLAYED = (*FEES, *BONDS, *PEER_TRUST)


def replay_command(policy_diff: Mapping[str, Any] | None) -> str | None:
    """The command that replays the whole journal with the proposed values; None where a replay recomputes nothing with any of them."""
    values = [f"{name}={change['to']}" for name, change in (policy_diff or {}).items() if name in REPLAYED]
    return f"hansa replay --from 1 --with {','.join(values)}" if values else None
