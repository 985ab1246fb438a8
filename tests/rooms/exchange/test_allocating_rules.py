"""Allocation of a launch against a judge that gives points one by one, in fractions."""

import random
from fractions import Fraction

import pytest

from hansa.rooms.exchange.launches.allocating import allocated
from tests.properties.scale import by_tier, printed_seed

CASES = by_tier(200, 10_000, 100_000)


def judged(total: int, quantities: list[int]) -> list[int]:
    """Give whole shares, then the remaining points one by one to whoever is furthest below its exact share; of equal ones to the first."""
    wanted = sum(quantities)
    if wanted <= total:
        return quantities
    exact = [Fraction(total * quantity, wanted) for quantity in quantities]
    points = [share.numerator // share.denominator for share in exact]
    while sum(points) < total:
        place = max(range(len(points)), key=lambda n: (exact[n] - points[n], -n))
        points[place] += 1
    return points


def drawn(chance: random.Random) -> tuple[int, list[int]]:
    most = chance.choice([1, 2, 10, 1000, 10**10])
    quantities = [chance.randint(1, most) for _ in range(chance.choice([1, 2, 3, 10, 40]))]
    if chance.random() < 0.3:
        quantities = [chance.choice(quantities)] * len(quantities)
    return chance.choice(
        [1, 2, 7, 100, most, sum(quantities), chance.randint(1, 2 * sum(quantities))]
    ), quantities


def test_drawn_launches_are_allocated_as_the_judge_does():
    chance = random.Random(printed_seed())
    for _ in range(CASES):
        total, quantities = drawn(chance)
        points = allocated(total, quantities)
        assert points == judged(total, quantities), (total, quantities)
        assert sum(points) == min(total, sum(quantities))
        assert all(0 <= given <= wanted for given, wanted in zip(points, quantities, strict=True))


@pytest.mark.parametrize(
    ("total", "quantities", "expected"),
    [
        (10, [], []),
        (10, [3, 7], [3, 7]),
        (10, [10, 10], [5, 5]),
        (1, [5, 5, 5], [1, 0, 0]),
        (2, [1, 1, 1], [1, 1, 0]),
        (100, [1, 199], [1, 99]),
        (7, [1, 1, 10], [1, 0, 6]),
        (10**10, [10**10, 10**10, 1], [5 * 10**9, 5 * 10**9, 0]),
    ],
)
def test_a_share_is_rounded_down_and_the_rest_goes_by_largest_remainder_then_sequence(
    total, quantities, expected
):
    assert allocated(total, quantities) == expected
