"""`python -m bench.forging [--tries N]`: the cheapest attacks found to forge each grade and mark, as the table of the guide.

For each attack of `bench.forging_attacks` and each grade, a hill climb with a fixed seed varies how fees are spread over the payments of
the attack and keeps the cheaper one. Scores come from the formula of `hansa_verify`. All fees count as costs, whoever pays them; capital
that an attacker gets back does not.
"""

import argparse
import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise

from bench.forging_attacks import ATTACKS, EPOCH, GRANTS_ARE_FUNDS, Attack, honest_signals
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.catalogue.marks import GRADES as MARKS
from hansa.rooms.commerce.requirement import RECORD_COST
from hansa_verify import Score, Signal, scores_of
from hansa_verify.reputation import GRADES, UNIT

Formula = Callable[[Iterable[Signal], date], dict[str, Score]]

TRIES = 600
STARTS = 3
TARGET = "0"
SEED = 20_260_101
# The search stops refining where two costs differ by less than a thousandth.
PRECISION = 1000
NEVER = "never"
COST_MAX = 10**6 * UNIT
"""The most that is tried: an attack that does not reach a score with it never does."""
SPREAD_OF_A_STEP = 0.7
CHANCE_TO_DROP = 0.15
GRADES_UPWARD = tuple((least, name) for least, name in reversed(GRADES) if least)


@dataclass(frozen=True)
class Cost:
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
        self._random = random.Random(f"{SEED} {attack.name} {least_score}")

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


def costs_of_grades(tries: int, formula: Formula = scores_of) -> list[Cost]:
    """The cheapest cost found of each grade by each attack."""
    return [
        Cost(attack, grade, least, Search(attack, least, formula).cheapest(tries))
        for attack in ATTACKS
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


def costs_of_marks(min_fee: Decimal) -> list[tuple[str, int, Decimal, str, Decimal]]:
    """Mark, verified jobs, the fees of the cheapest attack, each job with the least fee that counts, and of one paid with grants alone.

    The last member is the yield of a record with these fees: the bonds that it replaces.
    """
    with_grants = NEVER if not GRANTS_ARE_FUNDS else "the fees"
    return [(mark, jobs, jobs * min_fee, with_grants, jobs * min_fee / RECORD_COST) for jobs, mark in MARKS]


def tables(costs: list[Cost], min_fee: Decimal) -> str:
    """The tables of the guide, in Markdown; amounts in units."""
    grades = [grade for _, grade in GRADES_UPWARD]
    rows = [["Attack", *(f"`{grade}`" for grade in grades)]]
    rows += [
        [attack.name, *(_units(one.fees) for one in costs if one.attack is attack)] for attack in ATTACKS
    ]
    least = [min(one.fees for one in costs if one.grade == grade) for grade in grades]
    rows.append(["**cheapest**", *(f"**{_units(fees)}**" for fees in least)])
    marks = [["Mark", "Verified jobs", "Fees", "With genesis grants alone", "Bonds replaced at most"]]
    marks += [
        [mark, str(jobs), str(fees), granted, f"{replaced:f}"]
        for mark, jobs, fees, granted, replaced in costs_of_marks(min_fee)
    ]
    attacks = "\n".join(f"- **{attack.name}**: {attack.sentence}." for attack in ATTACKS)
    return f"{_markdown(rows)}\n\n{attacks}\n\n{_markdown(marks)}\n"


def _units(fees: int) -> str:
    if fees >= COST_MAX:
        return NEVER
    return f"{fees / UNIT:.3f}" if fees < UNIT else f"{fees / UNIT:.1f}"


def _markdown(rows: list[list[str]]) -> str:
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.forging", description=__doc__)
    parser.add_argument(
        "--tries", type=int, default=TRIES, help="spreads of fees tried for each attack and grade"
    )
    arguments = parser.parse_args()
    costs = costs_of_grades(arguments.tries)
    print(tables(costs, Decimal(Settings.model_fields["mark_min_fee"].default)))
    for one in sublinear(costs):
        print(f"A point of score is cheaper in `{one.grade}` than below it: {one.attack.name}.")


if __name__ == "__main__":
    main()
