"""Figures on stakes at one moment; amounts in minor units."""

from datetime import datetime

import msgspec

from hansa.foundation.values.money import Minor


class Holdings(msgspec.Struct, frozen=True):
    """Balances of an account now; `locked` is the part of `staked` whose lock has not ended, `escrow` the sum of its holds."""

    account_id: int
    liquid: Minor
    staked: Minor
    escrow: Minor
    locked: Minor
    active_positions: int
    next_unlock_at: datetime | None


class Totals(msgspec.Struct, frozen=True):
    """Units that an account ever staked, released and was paid, and the reward counted and not paid yet; `compounded` is a part of `rewards`."""

    staked: Minor
    unstaked: Minor
    rewards: Minor
    compounded: Minor
    positions: int
    first_staked_at: datetime | None
    reward_due: Minor


class HistoryLine(msgspec.Struct, frozen=True):
    """A stake, release or reward, paid or compounded; the position is named where there was exactly one."""

    tx_id: int
    tx_type: str
    amount: Minor
    position_id: str | None
    recorded_at: datetime


class GlobalTotals(msgspec.Struct, frozen=True):
    """The stakes of all agents together."""

    staked: Minor
    locked: Minor
    active_positions: int
    stakers: int


class StakeGap(msgspec.Struct, frozen=True):
    """An account whose staked balance is not the sum of its active positions."""

    did: str
    staked: Minor
    in_positions: Minor


class Stats(msgspec.Struct, frozen=True):
    """Figures on an agent's stakes, now and ever, and the reward that a claim would be due now."""

    holdings: Holdings
    totals: Totals
    claimable: Minor
