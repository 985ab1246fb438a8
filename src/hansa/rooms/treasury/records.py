"""Limits, budgets and sums of a treasury, as they are read."""

from datetime import date, datetime
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor
from hansa.rooms.organizations import Tier

Period: TypeAlias = Literal["month", "once"]


class Limits(msgspec.Struct, frozen=True):
    """Limits beside the tiers; None: no limit. Amounts are those of a UTC day, without fees."""

    per_day_max: Minor | None = None
    unapproved_per_day_max: Minor | None = None
    allowlist: tuple[str, ...] | None = None


class Rules(msgspec.Struct, frozen=True):
    """Tiers of approvals, in ascending order, and limits."""

    tiers: tuple[Tier, ...] = ()
    limits: Limits = Limits()

    @property
    def unapproved_max(self) -> Minor | None:
        """Sum of a day above which a payment needs the lowest tier; None without tiers."""
        if not self.tiers:
            return None
        stated = self.limits.unapproved_per_day_max
        return self.tiers[0].above if stated is None else stated


class NewBudget(msgspec.Struct, frozen=True):
    """Budget of a team, or of an agent."""

    name: str
    amount: Minor
    period: Period
    team_id: UUID | None = None
    agent_did: str | None = None


class Budget(msgspec.Struct, frozen=True):
    """A budget; `spent` is that of the current period."""

    id: UUID
    organization_id: UUID
    name: str
    amount: Minor
    period: Period
    team_id: UUID | None
    agent_did: str | None
    spent: Minor
    created_at: datetime

    @property
    def terms(self) -> NewBudget:
        """The members that a change may give."""
        return NewBudget(self.name, self.amount, self.period, self.team_id, self.agent_did)


class Day(msgspec.Struct, frozen=True):
    """Sums of a UTC day."""

    spent: Minor = Minor(0)
    unapproved: Minor = Minor(0)


class Outlay(msgspec.Struct, frozen=True):
    """Amount that a request or a draw counts in the sums."""

    id: UUID
    amount: Minor
    is_unapproved: bool = False
    budget_id: UUID | None = None


class Spent(msgspec.Struct, frozen=True):
    """Period of a budget that an amount was taken from, and the rest."""

    period_start: date
    period_number: int
    rest: Minor


class Counted(msgspec.Struct, frozen=True):
    """Outlay as it was counted."""

    organization_id: UUID
    day: date
    amount: Minor
    is_unapproved: bool
    budget_id: UUID | None
    period_number: int | None
