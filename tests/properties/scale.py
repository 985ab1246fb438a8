"""How large a random test is: HANSA_TEST_TIER chooses the numbers, HANSA_TEST_SEED the run."""

import os
import random
from typing import TypeVar

Size = TypeVar("Size")

TIER = int(os.environ.get("HANSA_TEST_TIER", "0"))


def by_tier(commit: Size, daily: Size, release: Size) -> Size:
    """The size for each commit, each day, and before a release."""
    return (commit, daily, release)[TIER]


# Each commit is judged by the same histories; the deeper tiers draw others in each run.
SEED_OF_A_COMMIT = 20_261_123


def printed_seed() -> int:
    """The seed of this run, printed so that a failure can be repeated."""
    drawn = random.SystemRandom().randrange(2**32) if TIER else SEED_OF_A_COMMIT
    seed = int(os.environ.get("HANSA_TEST_SEED", drawn))
    print(f"HANSA_TEST_SEED={seed}")
    return seed


def part_of(count: int) -> range:
    """The numbers of this many histories, from HANSA_TEST_FIRST on: a run that was ended goes on with its seed."""
    return range(int(os.environ.get("HANSA_TEST_FIRST", "0")), count)
