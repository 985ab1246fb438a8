"""The cheapest attacks found that forge each grade of a score.

For each attack and each grade, a hill climb with a fixed seed varies how fees are spread over the payments of the attack and keeps the
cheaper one. Scores come from the formula of `hansa_verify`. All fees count as costs, whoever pays them; capital that an attacker gets
back does not. The search finds prices; it proves no bound.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import pairwise

import msgspec

from hansa_verify import Score, Signal, scores_of
from hansa_verify.reputation import GRADES, UNIT

from .forging_attacks import EPOCH, Attack, honest_signals
from .tables import NEVER, Outcome, Table, units

Formula = Callable[[Iterable[Signal], date], dict[str, Score]]

TRIES = 600
STARTS = 3
TARGET = "0"
SEED = 20_260_101
# The search stops refining where two costs differ by less than a thousandth.
PRECISION = 1000
COST_MAX = 10**6 * UNIT
"""The most that is tried: an attack that does not reach a score with it never does."""
SPREAD_OF_A_STEP = 0.7
CHANCE_TO_DROP = 0.15
GRADES_UPWARD = tuple((least, name) for least, name in reversed(GRADES) if least)


class Cost(msgspec.Struct, frozen=True):
    """The least fees found, in minor units, with which an attack reaches a score; `COST_MAX`: it reaches it with none."""

    attack: Attack
    grade: str
    least_score: int
    fees: int


class Search:
    """Looks for the cheapest spread of fees over the lines of an attack."""

    def __init__(self, attack: Attack, least_score: int, formula: Formula) -> None:
        self._attack = attack
        self._least_score = least_score
        self._formula = formula
        self._honest = honest_signals()
        self._random = random.Random(f"{SEED} {attack.name} {least_score}")  # noqa: S311

    def cheapest(self, tries: int) -> int:
        """The least total of fees found in so many tries, in minor units."""
        return min(self._climb(tries // STARTS, at_random=start > 0) for start in range(STARTS))

    def _climb(self, tries: int, *, at_random: bool) -> int:
        parts = [self._random.random() if at_random else 1.0 for _ in self._attack.lines]
        if not self._reaches(parts, COST_MAX):
            return COST_MAX
        fees = self._least_fees(parts, COST_MAX)
        for _ in range(tries):
            tried = self._changed(parts)
            aim = fees - fees // PRECISION - 1
            if self._reaches(tried, aim):
                parts, fees = tried, self._least_fees(tried, aim)
        return fees

    def _changed(self, parts: list[float]) -> list[float]:
        changed = list(parts)
        for _ in range(self._random.choice((1, 1, 2))):
            line = self._random.randrange(len(parts))
            factor = math.exp(self._random.gauss(0, SPREAD_OF_A_STEP))
            is_dropped = self._random.random() < CHANCE_TO_DROP
            changed[line] = 0.0 if is_dropped else max(changed[line], max(parts) / 100) * factor
        return changed if any(changed) else parts

    def _least_fees(self, parts: list[float], enough: int) -> int:
        """The least total with this spread that reaches the score, at most `enough`."""
        low, high = 0, enough
        while high - low > max(high // PRECISION, 1):
            middle = (low + high) // 2
            low, high = (low, middle) if self._reaches(parts, middle) else (middle, high)
        return high

    def _reaches(self, parts: list[float], fees: int) -> bool:
        whole = sum(parts)
        signals = list(self._honest)
        for line, part in zip(self._attack.lines, parts, strict=True):
            if part:
                signals += line.signals(int(fees * part / whole))
        found = self._formula(signals, EPOCH).get(TARGET)
        return found is not None and found.score >= self._least_score


def costs_of_grades(attacks: Sequence[Attack], tries: int, formula: Formula = scores_of) -> list[Cost]:
    """The cheapest cost found of each grade by each attack."""
    return [
        Cost(attack, grade, least, Search(attack, least, formula).cheapest(tries))
        for attack in attacks
        for least, grade in GRADES_UPWARD
    ]


def sublinear(costs: Iterable[Cost]) -> list[Cost]:
    """Costs that grew less than the score: a point of score was cheaper than in the grade below, by more than the search's precision."""
    found = list(costs)
    pairs = [(lower, higher) for lower, higher in pairwise(found) if lower.attack is higher.attack]
    return [
        higher
        for lower, higher in pairs
        if higher.fees < COST_MAX
        and higher.fees * lower.least_score * 100 < lower.fees * higher.least_score * 99
    ]


def outcome(costs: Sequence[Cost]) -> Outcome:
    """Return the fees of each attack for each grade, in units, with a sentence for each attack."""
    attacks = list(dict.fromkeys(one.attack for one in costs))
    rows = [[attack.name, *(_fees(one.fees) for one in costs if one.attack is attack)] for attack in attacks]
    rows.append(["**cheapest**", *(f"**{_fees(fees)}**" for fees in cheapest(costs).values())])
    notes = [f"**{attack.name}**: {attack.sentence}." for attack in attacks]
    notes += [
        f"A point of score is cheaper in `{one.grade}` than below it: {one.attack.name}."
        for one in sublinear(costs)
    ]
    return Outcome([(Table(["Attack", *(f"`{grade}`" for _, grade in GRADES_UPWARD)], rows), notes)])


def cheapest(costs: Iterable[Cost]) -> dict[str, int]:
    """Return the least fees found of each grade, in minor units."""
    found = list(costs)
    return {grade: min(one.fees for one in found if one.grade == grade) for _, grade in GRADES_UPWARD}


def _fees(fees: int) -> str:
    return NEVER if fees >= COST_MAX else units(fees)
