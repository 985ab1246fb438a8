"""Decisions that are allowed about an event type."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from hansa.foundation.events import RECORDED_FROM_BOTH_SIDES, event_types

from .errors import EmissionRequired

Side: TypeAlias = Literal["emit_from_teg", "emit_from_registry"]

FOLDED = frozenset({"LedgerBalanceChanged", "ProjectionSnapshot"})


class Rule(msgspec.Struct, frozen=True):
    """Members of the policy of one event type; a null decides nothing."""

    emit_from_teg: bool | None = None
    emit_from_registry: bool | None = None
    skip_in_projection: bool = False


class Policy(msgspec.Struct, frozen=True):
    """The policy of one event type."""

    event_type: str
    rule: Rule
    updated_at: datetime


def first_policies() -> dict[str, Rule]:
    """Return the rule of each event type before anybody changes it: its own side may record it."""
    own_side = {
        kind.__name__: Rule(
            emit_from_teg=True if kind.source == "ledger" else None,
            emit_from_registry=kind.source != "ledger",
            skip_in_projection=kind.__name__ not in FOLDED,
        )
        for kind in event_types()
    }
    both = Rule(emit_from_teg=True, emit_from_registry=True, skip_in_projection=True)
    return own_side | dict.fromkeys(RECORDED_FROM_BOTH_SIDES, both)


def changed(event_type: str, before: Rule, change: Mapping[str, Any]) -> Rule:
    """The rule after a change; members that the change does not name stay. Raises: EmissionRequired."""
    after = replace(before, **change)
    required = required_sides(event_type)
    if any(getattr(after, side) is not True for side in required):
        raise EmissionRequired(f"The recording of {event_type} cannot be switched off.")
    if required and after.skip_in_projection and not before.skip_in_projection:
        raise EmissionRequired(f"{event_type} cannot be excluded from projections.")
    return after


def required_sides(event_type: str) -> tuple[Side, ...]:
    """The sides whose events of this type are always recorded."""
    if event_type in RECORDED_FROM_BOTH_SIDES:
        return ("emit_from_teg", "emit_from_registry")
    kind = next((kind for kind in event_types() if kind.__name__ == event_type), None)
    if kind is None or not kind.is_always_recorded:
        return ()
    return ("emit_from_teg",) if kind.source == "ledger" else ("emit_from_registry",)


def always_recorded() -> dict[str, tuple[Side, ...]]:
    """Every event type that no policy may switch off, with the sides that record it."""
    return {name: sides for name in first_policies() if (sides := required_sides(name))}
