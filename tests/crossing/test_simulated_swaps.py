"""Seeded histories of swaps: no unit is lost or made, k never falls, and both registries agree on the reserves."""

from itertools import count

import pytest

from tests.crossing.model import Broken
from tests.crossing.swaps import PLANTED, Plant, SwapHistory
from tests.properties.scale import by_tier

HISTORIES = by_tier(400, 100_000, 1_000_000)
HISTORIES_FOR_A_BUG = 2_000


def test_every_swap_is_decided_alike_and_the_reserves_agree_once_the_network_heals():
    committed = 0
    for seed in range(HISTORIES):
        history = SwapHistory(seed)
        try:
            history.run()
        except Broken as broken:
            pytest.fail(f"seed {seed}: {broken}")
        committed += sum(
            kind == "commit_in"
            for one in history.honest.values()
            for kept in one.toward.values()
            for kind, _ in kept.moved
        )
    assert committed > HISTORIES // 2
    print(f"{HISTORIES} histories, {committed} swaps")


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_bug_in_swaps_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch):
    plant(monkeypatch)
    for seed in count():
        assert seed < HISTORIES_FOR_A_BUG, f"not found: {plant.__doc__}"
        try:
            SwapHistory(seed).run()
        except Broken:
            return
