"""A plain model of stakes and their rewards: whole units for what moves, Fractions for the interest that should have moved."""

from dataclasses import dataclass, field
from fractions import Fraction

DAY, YEAR = 24 * 3600, 365 * 24 * 3600
RATES = ((29, 2), (89, 3), (179, 5), (364, 7), (365, 10))
"""Last day of each tier of locks, and its percent a year."""


@dataclass
class Stake:
    """One position; times are seconds of the drawn clock."""

    number: int
    remaining: int
    lock_days: int
    staked_at: int
    counted_until: int
    grows: bool = False

    def is_unlocked(self, at: int) -> bool:
        return self.staked_at + self.lock_days * DAY <= at

    def interest(self, at: int) -> Fraction:
        """The interest since the last one that was counted."""
        percent = next(percent for last, percent in RATES if self.lock_days <= last)
        return Fraction(self.remaining * percent * (at - self.counted_until), 100 * YEAR)


@dataclass
class CompoundingModel:
    """One account, its positions by their numbers, the units that collect as fees, and the drawn clock."""

    liquid: int
    at: int
    fees: int = 0
    due: int = 0
    paid: int = 0
    stakes: list[Stake] = field(default_factory=list)
    countings: int = 0
    exact: Fraction = Fraction(0)

    @property
    def active(self) -> list[Stake]:
        return [one for one in self.stakes if one.remaining]

    @property
    def staked(self) -> int:
        return sum(one.remaining for one in self.stakes)

    def stake(self, number: int, amount: int, lock_days: int) -> None:
        self.liquid -= amount
        self.stakes.append(Stake(number, amount, lock_days, self.at, self.at))

    def releasable(self, only: Stake | None) -> int:
        chosen = self.active if only is None else [only]
        return sum(one.remaining for one in chosen if one.is_unlocked(self.at))

    def unstake(self, amount: int, only: Stake | None) -> None:
        """Release units that are unlocked, oldest first; the interest of each position that is drawn from is due."""
        self.liquid += amount
        for one in self.active if only is None else [only]:
            if amount and one.is_unlocked(self.at):
                drawn = min(amount, one.remaining)
                self.due += self.count(one)
                one.remaining -= drawn
                amount -= drawn
        assert not amount

    def count(self, one: Stake) -> int:
        """Count the interest of a position in whole units; less than one of them waits."""
        interest = one.interest(self.at)
        whole = interest.numerator // interest.denominator
        if whole:
            self.exact += interest
            self.countings += 1
            one.counted_until = self.at
        return whole

    def claim(self) -> int:
        for one in self.active:
            self.due += self.count(one)
        paid = min(self.due, self.fees)
        self.due -= paid
        self.liquid += paid
        self.take(paid)
        return paid

    def compound(self) -> int | None:
        """Add the interest of the positions that grow to them, in their order, while there are fees; None where there are none."""
        growing = [one for one in self.active if one.grows and one.interest(self.at) >= 1]
        if not growing:
            return 0
        if not self.fees:
            return None
        added = 0
        for one in growing:
            if added == self.fees:
                break
            whole = self.count(one)
            part = min(whole, self.fees - added)
            one.remaining += part
            self.due += whole - part
            added += part
        self.take(added)
        return added

    def take(self, units: int) -> None:
        self.fees -= units
        self.paid += units

    def slash(self, amount: int) -> int:
        """Destroy liquid units, as far as there are any: stakes are not slashed."""
        taken = min(amount, self.liquid)
        self.liquid -= taken
        return taken

    def require_exact(self, granted: int, slashed: int) -> None:
        """Every unit is where it should be, and rewards are the exact interest, of which each counting loses less than one unit."""
        assert self.liquid + self.staked == granted + self.paid - slashed
        lost = self.exact - (self.paid + self.due)
        assert 0 <= lost <= self.countings
        assert lost < self.countings or not self.countings
