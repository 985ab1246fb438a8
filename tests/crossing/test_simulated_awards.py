"""Awards in seeded histories with everything else: a payment is compensated once, and what was issued was destroyed.

The histories themselves are played in `test_simulated_together.py`; here each planted bug must be found.
"""

from collections.abc import Callable

import pytest

from hansa.rooms.commerce.slash_settlements import settlement as protocol
from tests.crossing import awarding
from tests.crossing.awarding import AwardHistory
from tests.crossing.model import Broken

HISTORIES_FOR_A_BUG = 1_000


def each_award_is_paid(patch: pytest.MonkeyPatch) -> None:
    """A payment is compensated again under another number."""
    patch.setattr(protocol, "is_other_award", lambda paid, claim, award: False)


def what_was_lost_is_not_destroyed_again(patch: pytest.MonkeyPatch) -> None:
    """The registry that ruled confirms an award that it does not know."""
    patch.setattr(protocol, "left_to_destroy", lambda known, paid: 0 if known else min(paid.slashed, 1))


def what_was_destroyed_since_does_not_count(patch: pytest.MonkeyPatch) -> None:
    """An award that is shown is destroyed whole beside that of the new ruling."""
    patch.setattr(protocol, "left_to_destroy", lambda known, paid: paid.slashed)


def what_was_paid_is_not_shown(patch: pytest.MonkeyPatch) -> None:
    """The registry that paid keeps it to itself."""
    patch.setattr(AwardHistory, "_paid", lambda *given: None)


def awards_of_before_a_restore_count(patch: pytest.MonkeyPatch) -> None:
    """Neither awards nor receipts state positions."""
    patch.setattr(awarding, "observed", lambda registry, peer, positions: True)


PLANTED = (
    each_award_is_paid,
    what_was_lost_is_not_destroyed_again,
    what_was_destroyed_since_does_not_count,
    what_was_paid_is_not_shown,
    awards_of_before_a_restore_count,
)


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_bug_in_the_awards_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    for seed in range(HISTORIES_FOR_A_BUG):
        try:
            AwardHistory(seed).run()
        except Broken as broken:
            print(f"seed {seed}: {broken}")
            return
    pytest.fail(f"not found: {plant.__doc__}")
