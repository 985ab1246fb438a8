"""What is read of stakes: figures at one moment, amounts in minor units."""

from dataclasses import dataclass
from datetime import datetime

from hansa.foundation.values.money import Minor


@dataclass(frozen=True)
class Holdings:
    """What an account holds now; `locked` is the part of `staked` whose lock has not ended, `escrow` what its holds keep."""

    account_id: int
    liquid: Minor
    staked: Minor
    escrow: Minor
    locked: Minor
    active_positions: int
    next_unlock_at: datetime | None


@dataclass(frozen=True)
class Totals:
    """What an account ever staked, released and was paid, and the reward counted and not paid yet."""

    staked: Minor
    unstaked: Minor
    rewards: Minor
    positions: int
    first_staked_at: datetime | None
    reward_due: Minor


@dataclass(frozen=True)
class HistoryLine:
    """A stake, release or reward; the position is named where there was exactly one."""

    tx_id: int
    tx_type: str
    amount: Minor
    position_id: str | None
    recorded_at: datetime


@dataclass(frozen=True)
class GlobalTotals:
    """The stakes of all agents together."""

    staked: Minor
    locked: Minor
    active_positions: int
    stakers: int


@dataclass(frozen=True)
class StakeGap:
    """An account whose staked balance is not the sum of its active positions."""

    did: str
    staked: Minor
    in_positions: Minor


@dataclass(frozen=True)
class Stats:
    """What an agent has staked now and ever, and what a claim would be due now."""

    holdings: Holdings
    totals: Totals
    claimable: Minor
