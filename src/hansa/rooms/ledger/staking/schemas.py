"""Shapes of staking. Amounts are decimal strings in answers; a request may also give a JSON number."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AliasChoices, Field, StrictBool, model_validator

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmountOrNumber, format_amount, parse_positive
from hansa.foundation.values.request_body import RequestBody

from .figures import GlobalTotals, HistoryLine, Holdings, Stats
from .policy import StakingPolicy
from .positions import Claim, StakeOrder, StakeReceipt, UnstakeOrder, UnstakeReceipt
from .rules import ACTIVE_POSITIONS_MAX, LOCK_PERIOD_MAX_DAYS, Position, RewardTier

POSITION_ID_MAX_CHARACTERS = 64


LockPeriod = Annotated[int, Field(strict=True, ge=0, le=LOCK_PERIOD_MAX_DAYS)]


class StakeIn(RequestBody):
    """Units to stake."""

    amount: PositiveAmountOrNumber
    lock_period: LockPeriod = Field(
        default=0,
        validation_alias=AliasChoices("lock_period", "lock_period_days"),
        description="Days; 0: can be released at any time. `lock_period_days` is the same.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_lock_period(cls, members: Any) -> Any:
        both = ("lock_period", "lock_period_days")
        if isinstance(members, dict) and all(members.get(name) is not None for name in both):
            raise ValueError("lock_period and lock_period_days mean the same: send one of them")
        return members

    def order_by(self, agent: str) -> StakeOrder:
        """The order this request makes when `agent` sends it."""
        return StakeOrder(agent, parse_positive(self.amount), self.lock_period)


class UnstakeIn(LazyModel):
    """Units to release; without a position from those whose lock has ended, oldest first."""

    amount: PositiveAmountOrNumber
    position_id: Annotated[str | None, Field(max_length=POSITION_ID_MAX_CHARACTERS)] = None

    def order_by(self, agent: str) -> UnstakeOrder:
        """The order this request makes when `agent` sends it."""
        return UnstakeOrder(agent, parse_positive(self.amount), self.position_id)


class PositionIn(RequestBody):
    """Treatment of the rewards of one stake."""

    auto_compound: StrictBool = Field(
        description="True: once a day the reward is added to the stake, under its lock. False: it is paid by a claim."
    )


class PositionOut(LazyModel):
    """One stake."""

    position_id: str = Field(examples=["stake-17"])
    agent_did: str
    amount: str = Field(
        description="The amount still staked, with the rewards that were added to it; after the release, all that was staked in it."
    )
    staked_at: datetime
    lock_period: int
    unlocks_at: datetime
    is_active: bool
    unstaked_at: datetime | None
    last_reward_claim: datetime | None
    auto_compound: bool

    @classmethod
    def of(cls, position: Position, agent: str) -> "PositionOut":
        """The public form of a position of this agent."""
        return cls(**_members(position, agent))


class StakeOut(PositionOut):
    """The new position, and the balances after it was opened."""

    transaction_id: str
    status: str = Field(examples=["completed"])
    currency: str
    liquid_balance: str
    staked_balance: str

    @classmethod
    def of_result(cls, receipt: StakeReceipt, agent: str, currency: str) -> "StakeOut":
        """The response for this receipt."""
        return cls(
            **_members(receipt.position, agent),
            transaction_id=f"tx-{receipt.tx_id}",
            status="completed",
            currency=currency,
            liquid_balance=format_amount(receipt.liquid),
            staked_balance=format_amount(receipt.staked),
        )


class DrawOut(LazyModel):
    """The amount released from one position, and the rest."""

    position_id: str
    amount: str
    remaining: str


class UnstakeOut(LazyModel):
    """What was released, and the balances after it."""

    transaction_id: str
    status: str = Field(examples=["completed"])
    agent_did: str
    amount: str
    currency: str
    positions: list[DrawOut]
    liquid_balance: str
    staked_balance: str
    timestamp: datetime

    @classmethod
    def of_result(cls, receipt: UnstakeReceipt, agent: str, currency: str) -> "UnstakeOut":
        """The response for this receipt."""
        return cls(
            transaction_id=f"tx-{receipt.tx_id}",
            status="completed",
            agent_did=agent,
            amount=format_amount(receipt.amount),
            currency=currency,
            positions=[
                DrawOut(
                    position_id=one.position.position_id,
                    amount=format_amount(one.amount),
                    remaining=format_amount(one.position.remaining - one.amount),
                )
                for one in receipt.draws
            ],
            liquid_balance=format_amount(receipt.liquid),
            staked_balance=format_amount(receipt.staked),
            timestamp=receipt.recorded_at,
        )


class ClaimOut(LazyModel):
    """The result of a claim; without a payment there is no transaction."""

    transaction_id: str | None
    agent_did: str
    amount: str = Field(description="The amount paid: 0 if nothing was earned or the fee collector is empty.")
    due: str = Field(description="Earned but not paid, because the balance of the fee collector is too low.")
    currency: str
    liquid_balance: str

    @classmethod
    def of_result(cls, claim: Claim, agent: str, currency: str) -> "ClaimOut":
        """The response for this claim."""
        return cls(
            transaction_id=None if claim.tx_id is None else f"tx-{claim.tx_id}",
            agent_did=agent,
            amount=format_amount(claim.paid),
            due=format_amount(claim.due),
            currency=currency,
            liquid_balance=format_amount(claim.liquid),
        )


class StakingBalanceOut(LazyModel):
    """The balances of an agent: total is liquid, staked and what holds keep in escrow; locked is part of staked."""

    liquid_balance: str
    staked_balance: str
    locked_balance: str
    total_balance: str

    @classmethod
    def of(cls, holdings: Holdings) -> "StakingBalanceOut":
        """Return the public form of the balances of an account."""
        return cls(
            liquid_balance=format_amount(holdings.liquid),
            staked_balance=format_amount(holdings.staked),
            locked_balance=format_amount(holdings.locked),
            total_balance=format_amount(holdings.liquid + holdings.staked + holdings.escrow),
        )


class StakingStatusOut(LazyModel):
    """The staking limits of the registry, and the status of the agent."""

    agent_did: str
    staking_enabled: bool
    rewards_enabled: bool
    minimum_stake: str
    lock_period_max: int
    active_positions_max: int
    currency: str
    staked_balance: str
    locked_balance: str
    unlocked_balance: str
    active_positions: int
    next_unlock_at: datetime | None

    @classmethod
    def of(cls, holdings: Holdings, agent: str, policy: StakingPolicy, currency: str) -> "StakingStatusOut":
        """Return the public form of the balances of an account, beside the registry's policy."""
        return cls(
            agent_did=agent,
            staking_enabled=policy.is_open,
            rewards_enabled=policy.pays_rewards,
            minimum_stake=format_amount(policy.minimum),
            lock_period_max=LOCK_PERIOD_MAX_DAYS,
            active_positions_max=ACTIVE_POSITIONS_MAX,
            currency=currency,
            staked_balance=format_amount(holdings.staked),
            locked_balance=format_amount(holdings.locked),
            unlocked_balance=format_amount(holdings.staked - holdings.locked),
            active_positions=holdings.active_positions,
            next_unlock_at=holdings.next_unlock_at,
        )


class StakingStatsOut(LazyModel):
    """The staking totals of an agent."""

    agent_did: str
    currency: str
    total_staked: str = Field(description="Total of all stakes.")
    total_unstaked: str
    total_rewards: str = Field(description="Total of all rewards, paid or added to stakes.")
    total_compounded: str = Field(description="The part of the rewards that was added to stakes.")
    claimable_rewards: str = Field(description="Earned and not paid yet; 0 while rewards are disabled.")
    staked_balance: str
    active_positions: int
    total_positions: int
    first_staked_at: datetime | None

    @classmethod
    def of(cls, stats: Stats, agent: str, currency: str) -> "StakingStatsOut":
        """The public form of an agent's figures."""
        return cls(
            agent_did=agent,
            currency=currency,
            total_staked=format_amount(stats.totals.staked),
            total_unstaked=format_amount(stats.totals.unstaked),
            total_rewards=format_amount(stats.totals.rewards),
            total_compounded=format_amount(stats.totals.compounded),
            claimable_rewards=format_amount(stats.claimable),
            staked_balance=format_amount(stats.holdings.staked),
            active_positions=stats.holdings.active_positions,
            total_positions=stats.totals.positions,
            first_staked_at=stats.totals.first_staked_at,
        )


class HistoryLineOut(LazyModel):
    """A stake, a release or a reward, paid or compounded."""

    transaction_id: str
    type: str = Field(description="stake, unstake, reward or compound.")
    amount: str
    position_id: str | None = Field(
        description="Null for a reward that was paid, and for a release from or a reward of several positions."
    )
    timestamp: datetime

    @classmethod
    def of(cls, line: HistoryLine) -> "HistoryLineOut":
        """The public form of a line."""
        return cls(
            transaction_id=f"tx-{line.tx_id}",
            type=line.tx_type,
            amount=format_amount(line.amount),
            position_id=line.position_id,
            timestamp=line.recorded_at,
        )


class TierOut(LazyModel):
    """The reward rate for locks of this many days."""

    lock_days_min: int
    lock_days_max: int
    apy_percent: str = Field(description="Simple yearly interest, in percent.")

    @classmethod
    def of(cls, tier: RewardTier) -> "TierOut":
        """The public form of a tier."""
        return cls(
            lock_days_min=tier.lock_days_min,
            lock_days_max=tier.lock_days_max,
            apy_percent=str(tier.yearly_percent),
        )


class TiersOut(LazyModel):
    """The reward rates; nothing is paid while rewards are disabled."""

    rewards_enabled: bool
    tiers: list[TierOut]


class GlobalStatsOut(LazyModel):
    """The stakes of all agents together."""

    staking_enabled: bool
    rewards_enabled: bool
    minimum_stake: str
    currency: str
    total_staked: str
    total_locked: str
    active_positions: int
    stakers: int

    @classmethod
    def of(cls, global_totals: GlobalTotals, policy: StakingPolicy, currency: str) -> "GlobalStatsOut":
        """The public form of these figures."""
        return cls(
            staking_enabled=policy.is_open,
            rewards_enabled=policy.pays_rewards,
            minimum_stake=format_amount(policy.minimum),
            currency=currency,
            total_staked=format_amount(global_totals.staked),
            total_locked=format_amount(global_totals.locked),
            active_positions=global_totals.active_positions,
            stakers=global_totals.stakers,
        )


def _members(position: Position, agent: str) -> dict[str, Any]:
    return {
        "position_id": position.position_id,
        "agent_did": agent,
        "amount": format_amount(position.remaining or position.amount),
        "staked_at": position.staked_at,
        "lock_period": position.lock_period,
        "unlocks_at": position.unlocks_at,
        "is_active": position.is_active,
        "unstaked_at": position.unstaked_at,
        "last_reward_claim": position.last_reward_claim,
        "auto_compound": position.auto_compound,
    }
