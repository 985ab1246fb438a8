"""How large a random test is: HANSA_TEST_TIER chooses the numbers, HANSA_TEST_SEED the run."""

import os
import random
from typing import TypeVar

Size = TypeVar("Size")

TIER = int(os.environ.get("HANSA_TEST_TIER", "0"))


def by_tier(commit: Size, daily: Size, release: Size) -> Size:
    """The size for each commit, each day, and before a release."""
    return (commit, daily, release)[TIER]


def printed_seed() -> int:
    """The seed of this run, told on standard output so that a failure can be run again."""
    seed = int(os.environ.get("HANSA_TEST_SEED", random.SystemRandom().randrange(2**32)))
    print(f"HANSA_TEST_SEED={seed}")
    return seed
