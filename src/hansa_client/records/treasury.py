"""Answers about treasuries of organizations, their rules and budgets. Amounts are without fees."""

from datetime import datetime
from decimal import Decimal
from typing import Literal

from msgspec import field

from .organizations import TreasuryBalances
from .record import Record

Period = Literal["month", "once"]


class ApprovalTier(Record, frozen=True):
    """Approvals that a payment of more than `over` needs, of `admin`, `owner` or the slug of a team (`by`)."""

    over: Decimal
    approvals: int
    by: str = field(name="from")


class TreasuryRules(Record, frozen=True):
    """All rules of a treasury; what is None is no rule."""

    tiers: tuple[ApprovalTier, ...] = ()
    per_day_max: Decimal | None = None
    unapproved_per_day_max: Decimal | None = None
    allowlist: list[str] | None = None


class TreasuryBudget(Record, frozen=True):
    """A budget of a team, whose members pay within it without approvals, or of an agent, which draws it."""

    budget_id: str
    name: str
    amount: Decimal
    period: str
    team_id: str | None
    agent_did: str | None
    spent: Decimal
    left: Decimal
    created_at: datetime


class OrganizationTreasury(Record, frozen=True):
    """A treasury with its rules and budgets."""

    did: str
    balances: TreasuryBalances
    rules: TreasuryRules
    budgets: list[TreasuryBudget]
    spent_today: Decimal


class TreasuryDraw(Record, frozen=True):
    """Units that an agent drew from the treasury of its organization."""

    tx_id: int
    amount: Decimal
    fee_amount: Decimal
    budget_left: Decimal
