"""Results of a listing of few cards, kept for a while, so that its later pages need not search again.

To find the cards that hold a rare word costs as much for the hundredth page as for the first. A listing goes from the
newest card to older ones: a card published meanwhile is on no later page of it. Whether a card still fits and may still
be shown is asked anew for every page.
"""

import time
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import neg

from hansa.foundation.plumbing.process.runtime import Slot

from .card_conditions import Conditions

KEPT_SECONDS = 60.0
KEPT_LISTINGS = 64


class CardFindings:
    """The numbers of the cards that listings of this process found lately, the newest first, for each its conditions."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[Conditions, tuple[float, array[int]]] = OrderedDict()

    def keep(self, conditions: Conditions, numbers: Sequence[int]) -> None:
        """Keep all the numbers found, in place of those found earlier."""
        self._kept[conditions] = (self._clock() + KEPT_SECONDS, array("q", numbers))
        self._kept.move_to_end(conditions)
        if len(self._kept) > KEPT_LISTINGS:
            self._kept.popitem(last=False)

    def of(self, conditions: Conditions) -> Sequence[int] | None:
        """Return the numbers found, or None where they are not kept."""
        until, numbers = self._kept.get(conditions, (0.0, None))
        return numbers if self._clock() < until else None


def older_than(numbers: Sequence[int], below: int) -> Sequence[int]:
    """Those of the numbers, the highest first, that are lower."""
    return numbers[bisect_left(numbers, 1 - below, key=neg) :]


LIST_FINDINGS: Slot[CardFindings] = Slot("catalogue: findings of listings", build=lambda _: CardFindings())
