"""Why staking is refused."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound


class StakingDisabled(Forbidden):
    """The registry takes no new stakes; present ones can be released."""

    code = "staking_disabled"
    sentence = "Staking is switched off at this registry; present stakes can be released."


class RewardsDisabled(Forbidden):
    """The registry pays no staking rewards."""

    code = "staking_rewards_disabled"
    sentence = "Staking rewards are switched off at this registry."


class StakeBelowMinimum(Invalid):
    """The amount is less than the smallest stake this registry takes."""

    code = "STAKE_BELOW_MINIMUM"
    sentence = "The amount is below the smallest stake."


class TooManyPositions(Conflict):
    """The agent holds as many active positions as one agent may."""

    code = "TOO_MANY_POSITIONS"
    sentence = "This agent holds too many active positions; release some first."


class InsufficientUnlockedStake(Forbidden):
    """More is asked for than is staked and no longer locked."""

    code = "INSUFFICIENT_UNLOCKED_STAKE"
    sentence = "Less than that is staked and no longer locked."


class PositionLocked(Forbidden):
    """The lock of this position has not ended."""

    code = "POSITION_LOCKED"
    sentence = "The lock of this position has not ended."


class PositionUnknown(NotFound):
    """The agent has no position with this id."""

    code = "POSITION_UNKNOWN"
    sentence = "This agent has no position with this id."
