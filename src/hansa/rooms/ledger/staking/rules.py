"""The decisions of staking, without I/O.

- A stake may be released once its lock has ended; one without a lock at any time.
- Without a position named, units are drawn from the positions whose lock has ended, oldest first; the last one drawn
  from keeps the rest.
- Rewards are simple yearly interest at the rate of the tier that the lock period chose when the stake was made, for
  whole seconds of a year of 365 days, rounded down to the smallest unit. They do not earn rewards themselves, unless they are added to their position.
"""

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms.ledger.errors import InsufficientBalance

from .errors import (
    InsufficientUnlockedStake,
    PositionLocked,
    PositionUnknown,
    RewardsDisabled,
    StakeBelowMinimum,
    StakingDisabled,
    TooManyPositions,
)
from .policy import StakingPolicy

LOCK_PERIOD_MAX_DAYS = 365
# A claim looks at every active position while it holds the fee collector's account.
ACTIVE_POSITIONS_MAX = 1000
YEAR_SECONDS = 365 * 24 * 3600
BIGINT_MAX = 2**63 - 1

_POSITION_ID = re.compile(r"stake-([1-9][0-9]{0,18})", re.ASCII)


class RewardTier(msgspec.Struct, frozen=True):
    """Reward of locks of this many days, in percent a year."""

    lock_days_min: int
    lock_days_max: int
    yearly_percent: int


REWARD_TIERS = (
    RewardTier(0, 29, 2),
    RewardTier(30, 89, 3),
    RewardTier(90, 179, 5),
    RewardTier(180, 364, 7),
    RewardTier(365, LOCK_PERIOD_MAX_DAYS, 10),
)


class Position(msgspec.Struct, frozen=True):
    """A stake at the moment it was read; `unrewarded_seconds` are those whose reward is not counted yet."""

    id: int
    amount: Minor
    remaining: Minor
    lock_period: int
    staked_at: datetime
    unlocks_at: datetime
    unstaked_at: datetime | None
    last_reward_claim: datetime | None
    auto_compound: bool
    is_unlocked: bool
    unrewarded_seconds: int

    @property
    def position_id(self) -> str:
        """The public name."""
        return f"stake-{self.id}"

    @property
    def is_active(self) -> bool:
        """Return whether something is still staked in it."""
        return self.remaining > 0


class Draw(msgspec.Struct, frozen=True):
    """Amount to take out of one position."""

    position: Position
    amount: Minor


class Compounded(msgspec.Struct, frozen=True):
    """Part of the reward of one position that is added to it."""

    position: Position
    added: Minor


def require_open(policy: StakingPolicy) -> None:
    """Raises: StakingDisabled."""
    if not policy.is_open:
        raise StakingDisabled


def require_rewards(policy: StakingPolicy) -> None:
    """Raises: RewardsDisabled."""
    if not policy.pays_rewards:
        raise RewardsDisabled


def require_minimum(amount: Minor, policy: StakingPolicy) -> None:
    """Raises: StakeBelowMinimum."""
    if amount < policy.minimum:
        least = format_amount(policy.minimum)
        raise StakeBelowMinimum(f"The minimum stake is {least}.", field="amount", context={"minimum": least})


def uncovered(available: int, required: int) -> InsufficientBalance:
    """Return the refusal that states the available and the required amount."""
    held, needed = format_amount(available), format_amount(required)
    return InsufficientBalance(
        f"The balance does not cover the stake: {held} available, {needed} required.",
        context={"available": held, "required": needed},
    )


def require_room(active_positions: int) -> None:
    """Raises: TooManyPositions."""
    if active_positions >= ACTIVE_POSITIONS_MAX:
        raise TooManyPositions(f"An agent can have at most {ACTIVE_POSITIONS_MAX} active positions.")


def position_number(position_id: str) -> int:
    """The number in a position's public name. Raises: PositionUnknown."""
    named = _POSITION_ID.fullmatch(position_id)
    if named is None or int(named[1]) > BIGINT_MAX:
        raise PositionUnknown
    return int(named[1])


def require_known(position: Position | None) -> Position:
    """Return the position. Raises: PositionUnknown."""
    if position is None:
        raise PositionUnknown
    return position


def draw_oldest_first(positions: Sequence[Position], amount: Minor) -> list[Draw]:
    """Return the draws that cover the amount from the active positions, given oldest first. Raises: InsufficientUnlockedStake."""
    unlocked = [position for position in positions if position.is_unlocked]
    _require_enough(sum(position.remaining for position in unlocked), amount)
    draws: list[Draw] = []
    needed: int = amount
    for position in unlocked:
        if needed == 0:
            break
        taken = min(needed, position.remaining)
        draws.append(Draw(position, Minor(taken)))
        needed -= taken
    return draws


def draw_from(position: Position | None, amount: Minor) -> list[Draw]:
    """Take from this position alone. Raises: PositionUnknown, PositionLocked, InsufficientUnlockedStake."""
    position = require_known(position)
    if not position.is_unlocked:
        unlocks_at = position.unlocks_at.isoformat()
        raise PositionLocked(
            f"This position is locked until {unlocks_at}.", context={"unlocks_at": unlocks_at}
        )
    _require_enough(position.remaining, amount)
    return [Draw(position, amount)]


def yearly_percent(lock_period: int) -> int:
    """The rate of the tier that a lock period chooses."""
    return next(tier.yearly_percent for tier in REWARD_TIERS if lock_period <= tier.lock_days_max)


def reward_of(position: Position) -> Minor:
    """Return the reward of the position that was not counted yet, rounded down."""
    interest = position.remaining * yearly_percent(position.lock_period) * position.unrewarded_seconds
    return Minor(interest // (100 * YEAR_SECONDS))


def compounded(earning: Sequence[Position], covered: int) -> list[Compounded]:
    """Share what the fee collector covers between positions, in their order: each gets its reward while that lasts."""
    added: list[Compounded] = []
    for position in earning:
        if covered == 0:
            break
        part = min(covered, reward_of(position))
        added.append(Compounded(position, Minor(part)))
        covered -= part
    return added


def _require_enough(unlocked: int, amount: Minor) -> None:
    if unlocked < amount:
        releasable, needed = format_amount(unlocked), format_amount(amount)
        raise InsufficientUnlockedStake(
            f"The amount exceeds what is staked and no longer locked: {releasable} unlocked, {needed} required.",
            context={"unlocked": releasable, "required": needed},
        )
