"""Staking: units of an account set aside in positions, some of them locked for a while, and their rewards."""

from hansa.rooms.ledger.staking.compounding import (
    COMPOUND_REWARDS,
    KEPT_ACTIVE,
    compound,
    compound_all,
    set_auto_compound,
)
from hansa.rooms.ledger.staking.errors import (
    InsufficientUnlockedStake,
    PositionLocked,
    PositionReleased,
    PositionUnknown,
    RewardsDisabled,
    StakeBelowMinimum,
    StakePinned,
    StakingDisabled,
    TooManyPositions,
)
from hansa.rooms.ledger.staking.figures import Holdings, Stats
from hansa.rooms.ledger.staking.pins import STAKE_PINS, PinnedUntil
from hansa.rooms.ledger.staking.policy import StakingPolicy
from hansa.rooms.ledger.staking.positions import (
    Claim,
    StakeOrder,
    StakeReceipt,
    UnstakeOrder,
    UnstakeReceipt,
    claim_rewards,
    release_unlocked,
    stake,
    unstake,
)
from hansa.rooms.ledger.staking.reading import read_holdings, read_positions, read_stakes, stake_gaps
from hansa.rooms.ledger.staking.routes import router
from hansa.rooms.ledger.staking.rules import Position
from hansa.rooms.ledger.staking.stakes_then import (
    Stake,
    active_stake,
    lock_stakes,
    read_stake,
    staked_then,
    units_of_agents,
)

__all__ = [
    "COMPOUND_REWARDS",
    "KEPT_ACTIVE",
    "STAKE_PINS",
    "Claim",
    "Holdings",
    "InsufficientUnlockedStake",
    "PinnedUntil",
    "Position",
    "PositionLocked",
    "PositionReleased",
    "PositionUnknown",
    "RewardsDisabled",
    "Stake",
    "StakeBelowMinimum",
    "StakeOrder",
    "StakePinned",
    "StakeReceipt",
    "StakingDisabled",
    "StakingPolicy",
    "Stats",
    "TooManyPositions",
    "UnstakeOrder",
    "UnstakeReceipt",
    "active_stake",
    "claim_rewards",
    "compound",
    "compound_all",
    "lock_stakes",
    "read_holdings",
    "read_positions",
    "read_stake",
    "read_stakes",
    "release_unlocked",
    "router",
    "set_auto_compound",
    "stake",
    "stake_gaps",
    "staked_then",
    "units_of_agents",
    "unstake",
]
