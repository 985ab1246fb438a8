"""Seeded histories of registries that send each other units: what holds in each, and that bugs do not stay unseen."""

from itertools import count

import pytest

from tests.crossing.model import Broken
from tests.crossing.planted import PLANTS, Plant
from tests.crossing.simulation import Covered, History
from tests.properties.scale import by_tier

HISTORIES = by_tier(2_000, 100_000, 1_000_000)
HISTORIES_FOR_A_BUG = 5_000

FAILED_ONCE = (5, 18, 47, 69, 94, 100, 139, 160, 192, 199, 208, 7_920, 42_975)
"""Seeds of histories that once broke an invariant: receipts from before a restore were believed, a rewind of a quiet pair stayed
unseen, two restores of one backup began the same epoch, and (in the simulation alone) a message of a lost epoch came when all had stopped sending."""


def test_no_unit_is_lost_or_made_and_every_transfer_is_decided_once_the_network_heals():
    coverage: dict[Covered, int] = {}
    for seed in range(HISTORIES):
        history = History(seed)
        try:
            history.run()
        except Broken as broken:
            pytest.fail(f"seed {seed}: {broken}")
        for key, times in history.coverage.items():
            coverage[key] = coverage.get(key, 0) + times
    faults = {fault for _, _, fault in coverage}
    assert faults == {
        "none", "lost", "doubled", "late", "corrupted", "crash before the commit", "crash after the commit",
    }  # fmt: skip
    print(f"{HISTORIES} histories, {len(coverage)} combinations of state, message and fault")
    assert len(coverage) >= 350, sorted(map(str, coverage))


def test_the_same_seed_gives_the_same_history():
    assert History(4711).run().trace == History(4711).run().trace


@pytest.mark.parametrize("seed", FAILED_ONCE)
def test_a_history_that_failed_once_holds(seed: int):
    History(seed).run()


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_bug_in_the_protocol_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch):
    plant(monkeypatch)
    for seed in count():
        assert seed < HISTORIES_FOR_A_BUG, f"not found: {plant.__doc__}"
        try:
            History(seed, is_attacked=seed % 2 == 1).run()
        except Broken:
            return
