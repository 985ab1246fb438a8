"""Totals are compared at any load: honest registries never disagree, and units that one side made up are found once it is quiet."""

import random

from msgspec.structs import replace

from hansa.rooms.auditor.cross_registry.rules import Comparison, Totals, compare
from tests.properties.scale import by_tier, printed_seed

HISTORIES = by_tier(1_000, 30_000, 300_000)


class Corridor:
    """Two registries that commit, credit and confirm transfers to each other."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.sides = [Totals(0, 0, 0), Totals(0, 0, 0)]
        self.committed: list[tuple[int, int]] = []
        self.credited: list[tuple[int, int]] = []

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            match self.draw.randrange(3):
                case 0:
                    side, amount = self.draw.randrange(2), self.draw.randrange(1, 100)
                    self.sides[side] = replace(self.sides[side], out=self.sides[side].out + amount)
                    self.committed.append((side, amount))
                case 1 if self.committed:
                    self.credit(self.draw.randrange(len(self.committed)))
                case 2 if self.credited:
                    self.confirm(self.draw.randrange(len(self.credited)))

    def credit(self, place: int) -> None:
        side, amount = self.committed.pop(place)
        other = self.sides[1 - side]
        self.sides[1 - side] = replace(other, in_=other.in_ + amount)
        self.credited.append((side, amount))

    def confirm(self, place: int) -> None:
        side, amount = self.credited.pop(place)
        self.sides[side] = replace(self.sides[side], confirmed=self.sides[side].confirmed + amount)

    def settle(self) -> None:
        while self.committed:
            self.credit(0)
        while self.credited:
            self.confirm(0)


def compared(corridor: Corridor, side: int, steps: int) -> Comparison:
    """Return the findings of a side while the corridor goes on between its readings."""
    before = corridor.sides[side]
    corridor.go_on(steps)
    stated = corridor.sides[1 - side]
    corridor.go_on(steps)
    return compare(before, stated, corridor.sides[side])


def test_honest_registries_never_disagree_whatever_moves_between_the_readings():
    seed = printed_seed()
    for number in range(HISTORIES):
        corridor = Corridor(random.Random(f"{seed}-{number}"))
        for _ in range(4):
            corridor.go_on(10)
            assert compared(corridor, corridor.draw.randrange(2), 5) == Comparison(0, 0)


def test_a_unit_that_one_side_made_up_or_lost_is_found_by_both_sides_when_quiet():
    seed = printed_seed()
    for number in range(HISTORIES):
        corridor = Corridor(random.Random(f"{seed}-{number}"))
        corridor.go_on(30)
        corridor.settle()
        side, unit = corridor.draw.randrange(2), corridor.draw.choice([1, -1])
        cheat = corridor.sides[side]
        member = corridor.draw.choice([name for name in ("out", "in_") if getattr(cheat, name) + unit >= 0])
        corridor.sides[side] = replace(cheat, **{member: getattr(cheat, member) + unit})
        found = [compared(corridor, one, 0) for one in range(2)]
        if member == "out" and unit > 0:
            # As if it had been sent and not credited yet.
            assert found == [Comparison(0, 0)] * 2
        else:
            assert all(one.surplus + one.deficit == 1 for one in found), (member, unit, found)
