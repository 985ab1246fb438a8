"""Why staking is refused."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound


class StakingDisabled(Forbidden):
    """Staking is disabled at this registry; existing stakes can be released."""

    code = "staking_disabled"
    sentence = "Staking is disabled at this registry; existing stakes can be released."


class RewardsDisabled(Forbidden):
    """Staking rewards are disabled at this registry."""

    code = "staking_rewards_disabled"
    sentence = "Staking rewards are disabled at this registry."


class StakeBelowMinimum(Invalid):
    """The amount is below the minimum stake of this registry."""

    code = "STAKE_BELOW_MINIMUM"
    sentence = "The amount is below the minimum stake."


class TooManyPositions(Conflict):
    """The agent has the maximum number of active positions."""

    code = "TOO_MANY_POSITIONS"
    sentence = "This agent has the maximum number of active positions; release one first."


class InsufficientUnlockedStake(Forbidden):
    """The amount exceeds what is staked and no longer locked."""

    code = "INSUFFICIENT_UNLOCKED_STAKE"
    sentence = "The amount exceeds what is staked and no longer locked."


class PositionLocked(Forbidden):
    """The lock of this position has not ended."""

    code = "POSITION_LOCKED"
    sentence = "The lock of this position has not ended."


class PositionUnknown(NotFound):
    """The agent has no position with this id."""

    code = "POSITION_UNKNOWN"
    sentence = "This agent has no position with this id."


class PositionReleased(Conflict):
    """Nothing is staked in this position any more."""

    code = "POSITION_RELEASED"
    sentence = "Nothing is staked in this position any more."


class StakePinned(Forbidden):
    """Votes on open proposals pin more than what would stay staked."""

    code = "STAKE_PINNED"
    sentence = "Votes on open proposals pin more than what would stay staked."
    remedy = "Release less, or wait until `until`, when the last of these proposals ends."
