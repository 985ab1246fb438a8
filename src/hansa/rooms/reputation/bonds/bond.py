"""Bonds and their states."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import Minor, parse_amount


class State(StrEnum):
    """Where a bond is. Only an active one counts."""

    NONE = "none"
    ACTIVE = "active"
    RELEASING = "releasing"
    RELEASED = "released"
    SLASHED = "slashed"


class Policy(msgspec.Struct, frozen=True):
    """The settings of bonds; `minimum` in minor units."""

    mode: Literal["off", "observe", "enforce"]
    minimum: Minor
    maturity: timedelta
    currency: str

    @classmethod
    def of(cls, settings: Settings) -> "Policy":
        """Return the policy that the operator has set."""
        return cls(
            settings.bond_mode,
            parse_amount(settings.bond_minimum),
            timedelta(days=settings.bond_maturity_days),
            settings.settlement_currency,
        )


class Bond(msgspec.Struct, frozen=True):
    """The bond of an agent as it was at `now`, the database's clock; `amount` is the amount of its hold, in minor units."""

    agent_did: str
    id: int | None
    state: State
    hold_id: int | None
    amount: Minor
    matures_at: datetime | None
    releasable_at: datetime | None
    now: datetime


class Business(msgspec.Struct, frozen=True):
    """Open business of an agent: units that disputes keep of its bond, in minor units, and the number of its contracts."""

    disputed: Minor
    contracts: int


class Blocker(msgspec.Struct, frozen=True):
    """Why a bond is not released yet. `kind` is maturity, open_contract or open_dispute."""

    kind: str
    detail: str


class BondShown(msgspec.Struct, frozen=True):
    """Bond with the obstacles to its release."""

    bond: Bond
    blockers: tuple[Blocker, ...]
