"""Answers about staking."""

from datetime import datetime
from decimal import Decimal

from .record import Record


class StakePosition(Record, frozen=True):
    """One stake; `lock_period` is in days."""

    position_id: str
    agent_did: str
    amount: Decimal
    staked_at: datetime
    lock_period: int
    unlocks_at: datetime
    is_active: bool
    unstaked_at: datetime | None
    last_reward_claim: datetime | None
    auto_compound: bool


class Staked(StakePosition, frozen=True):
    """A new position, and the balances after it was opened."""

    transaction_id: str
    status: str
    currency: str
    liquid_balance: Decimal
    staked_balance: Decimal


class Draw(Record, frozen=True):
    """Amount taken out of one position, and the rest in it."""

    position_id: str
    amount: Decimal
    remaining: Decimal


class Unstaked(Record, frozen=True):
    """Released units, and the balances after the release."""

    transaction_id: str
    status: str
    agent_did: str
    amount: Decimal
    currency: str
    positions: list[Draw]
    liquid_balance: Decimal
    staked_balance: Decimal
    timestamp: datetime


class ClaimedRewards(Record, frozen=True):
    """Reward paid by a claim; `due` was earned and could not be paid yet."""

    transaction_id: str | None
    agent_did: str
    amount: Decimal
    due: Decimal
    currency: str
    liquid_balance: Decimal


class StakingBalance(Record, frozen=True):
    """Balances of an agent; `locked_balance` is a part of `staked_balance`."""

    liquid_balance: Decimal
    staked_balance: Decimal
    locked_balance: Decimal
    total_balance: Decimal


class StakingStatus(Record, frozen=True):
    """Limits of the registry, and the stakes of the agent."""

    agent_did: str
    staking_enabled: bool
    rewards_enabled: bool
    minimum_stake: Decimal
    lock_period_max: int
    active_positions_max: int
    currency: str
    staked_balance: Decimal
    locked_balance: Decimal
    unlocked_balance: Decimal
    active_positions: int
    next_unlock_at: datetime | None
