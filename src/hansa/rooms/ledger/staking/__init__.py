"""Staking: units of an account set aside in positions, some of them locked for a while, and their rewards."""

from hansa.rooms.ledger.staking.errors import (
    InsufficientUnlockedStake,
    PositionLocked,
    PositionUnknown,
    RewardsDisabled,
    StakeBelowMinimum,
    StakingDisabled,
    TooManyPositions,
)
from hansa.rooms.ledger.staking.figures import Holdings, Stats
from hansa.rooms.ledger.staking.policy import StakingPolicy
from hansa.rooms.ledger.staking.positions import (
    Claim,
    StakeOrder,
    StakeReceipt,
    UnstakeOrder,
    UnstakeReceipt,
    claim_rewards,
    stake,
    unstake,
)
from hansa.rooms.ledger.staking.reading import read_holdings, read_positions, read_stakes, stake_gaps
from hansa.rooms.ledger.staking.routes import router
from hansa.rooms.ledger.staking.rules import Position

__all__ = [
    "Claim",
    "Holdings",
    "InsufficientUnlockedStake",
    "Position",
    "PositionLocked",
    "PositionUnknown",
    "RewardsDisabled",
    "StakeBelowMinimum",
    "StakeOrder",
    "StakeReceipt",
    "StakingDisabled",
    "StakingPolicy",
    "Stats",
    "TooManyPositions",
    "UnstakeOrder",
    "UnstakeReceipt",
    "claim_rewards",
    "read_holdings",
    "read_positions",
    "read_stakes",
    "router",
    "stake",
    "stake_gaps",
    "unstake",
]
