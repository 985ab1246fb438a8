"""The steps of the bridge, of slashes and of swaps across, each as the write of a row by one of two serving registries.

Begun at `a`; a ruling and an approval are acts of administrators, whose requests the tests make to the database itself.
"""

from dataclasses import replace

from tests.operation.held_steps import STEPS as CROSSING_STEPS
from tests.operation.held_steps import Step

SAGA, DECISION, SETTLEMENT = "transfers_bridge_saga", "transfers_bridge_decision", "commerce_settlement"


def _bridge(requested: str) -> dict[str, Step]:
    becomes = "NEW.state = '{0}' AND OLD.state <> '{0}'"
    return {
        "begin": Step("sender", SAGA, "INSERT", "true", "true"),
        "request": Step("sender", SAGA, "UPDATE", becomes.format(requested), f"state = '{requested}'"),
        "decide": Step("receiver", DECISION, "INSERT", "NEW.is_done", "is_done"),
        "complete": Step("sender", SAGA, "UPDATE", becomes.format("COMPLETED"), "state = 'COMPLETED'"),
        "confirm": Step(
            "receiver",
            DECISION,
            "UPDATE",
            "NEW.next_at IS NULL AND OLD.next_at IS NOT NULL",
            "next_at IS NULL",
        ),
    }


_SLASH = {
    "claim": Step("receiver", SETTLEMENT, "INSERT", "NEW.direction = 'incoming'", "true"),
    "destroy": Step(
        "receiver",
        SETTLEMENT,
        "UPDATE",
        "NEW.direction = 'incoming' AND NEW.status = 'SLASHED' AND OLD.status <> 'SLASHED'",
        "status = 'SLASHED'",
    ),
    "compensate": Step(
        "sender",
        SETTLEMENT,
        "UPDATE",
        "NEW.direction = 'outgoing' AND NEW.status = 'SETTLED' AND OLD.status <> 'SETTLED'",
        "status = 'SETTLED'",
    ),
    "close": Step(
        "receiver",
        SETTLEMENT,
        "UPDATE",
        "NEW.direction = 'incoming' AND NEW.is_closed AND NOT OLD.is_closed",
        "is_closed",
    ),
}
SAGA_STEPS = {
    "wrap": _bridge("MINT_REQUESTED"),
    "redeem": _bridge("UNLOCK_REQUESTED"),
    "slash": _SLASH,
    "swap": {name: replace(step, follows=None) for name, step in CROSSING_STEPS.items()},
}
"""By what is begun at `a`, in order; `sender` is `a`, `receiver` is `b`."""


def all_kills() -> list[tuple[str, str, str]]:
    """Each step of each, with the moments at which its registry is killed: before its commit, and once the other one is at the next step."""
    kills = []
    for saga, steps in SAGA_STEPS.items():
        names = list(steps)
        for name, following in zip(names, [*names[1:], None], strict=True):
            kills.append((saga, name, "before"))
            if following is not None and steps[following].by != steps[name].by:
                kills.append((saga, name, "after"))
    return kills
