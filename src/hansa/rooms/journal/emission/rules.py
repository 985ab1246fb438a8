"""What may be decided about an event type."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hansa.foundation.events import event_types

from .errors import EmissionRequired

FOLDED = frozenset({"LedgerBalanceChanged", "ProjectionSnapshot"})


@dataclass(frozen=True)
class Rule:
    """What the policy of one event type says; a null says nothing."""

    emit_from_teg: bool | None = None
    emit_from_registry: bool | None = None
    skip_in_projection: bool = False


@dataclass(frozen=True)
class Policy:
    """The policy of one event type."""

    event_type: str
    rule: Rule
    updated_at: datetime


def first_policies() -> dict[str, Rule]:
    """What is said of each event type before anybody changes it: its own side may record it."""
    return {
        kind.__name__: Rule(
            emit_from_teg=True if kind.source == "ledger" else None,
            emit_from_registry=kind.source != "ledger",
            skip_in_projection=kind.__name__ not in FOLDED,
        )
        for kind in event_types()
    }


def changed(event_type: str, before: Rule, change: Mapping[str, Any]) -> Rule:
    """The rule after a change; members that the change does not name stay. Raises: EmissionRequired."""
    after = replace(before, **change)
    kind = next((kind for kind in event_types() if kind.__name__ == event_type), None)
    if kind is None or not kind.is_always_recorded:
        return after
    admitted = after.emit_from_teg if kind.source == "ledger" else after.emit_from_registry
    if admitted is not True:
        raise EmissionRequired(f"{event_type} cannot be switched off.")
    if after.skip_in_projection and not before.skip_in_projection:
        raise EmissionRequired(f"{event_type} cannot be left out of projections.")
    return after
