"""Staking policy of a registry."""

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import Minor, parse_amount


class StakingPolicy(msgspec.Struct, frozen=True):
    """The switches, and the smallest stake in minor units."""

    is_open: bool
    pays_rewards: bool
    minimum: Minor

    @classmethod
    def of(cls, settings: Settings) -> "StakingPolicy":
        """The policy of the registry with these settings."""
        return cls(
            is_open=settings.staking_enabled,
            pays_rewards=settings.staking_rewards_enabled,
            minimum=parse_amount(settings.staking_min_stake_amount),
        )
