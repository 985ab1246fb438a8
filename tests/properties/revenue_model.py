"""A plain model of revenue: whole numbers for what moves, Fractions for what should have moved."""

from dataclasses import dataclass, field
from fractions import Fraction

DAILY_MIN = 10**6


@dataclass
class RevenueModel:
    """A listing of `total` points that share `bps` of the revenue; amounts in minor units."""

    total: int
    bps: int
    points: dict[str, int]
    owed: dict[str, int] = field(default_factory=dict)
    paid: dict[str, int] = field(default_factory=dict)
    pending: int = 0
    arrears: int = 0
    carried: int = 0
    taken: int = 0
    due: int = 0
    exact: Fraction = Fraction(0)

    @property
    def held(self) -> int:
        return sum(self.points.values())

    def move(self, one: str, other: str | None, qty: int) -> None:
        self.points[one] -= qty
        if other is not None:
            self.points[other] = self.points.get(other, 0) + qty

    def levy(self, available: int) -> tuple[int, int, int, int]:
        """Levy a day of an organization that has so many units: revenue, due, taken and arrears."""
        revenue, self.pending = self.pending, 0
        self.exact += Fraction(revenue * self.bps * self.held, self.total * 10_000)
        # The sum of everything that was due is the exact sum, rounded down.
        due = self.exact.numerator // self.exact.denominator - self.due
        self.due += due
        return revenue, due, self.take(due, available), self.arrears

    def take(self, due: int, available: int) -> int:
        """Take what is due and in arrears, and distribute it."""
        taken = min(self.arrears + due, available)
        self.arrears += due - taken
        self.taken += taken
        units = self.carried + taken
        per_point = units // self.held if self.held else 0
        self.carried = units - per_point * self.held
        for did, qty in self.points.items():
            self.owed[did] = self.owed.get(did, 0) + qty * per_point
        if per_point:
            for did in [did for did, owed in self.owed.items() if owed >= DAILY_MIN]:
                self.claim(did)
        return taken

    def claim(self, did: str) -> int:
        """Pay what an agent is owed."""
        paid, self.owed[did] = self.owed.get(did, 0), 0
        self.paid[did] = self.paid.get(did, 0) + paid
        return paid

    def require_conserved(self) -> None:
        """Everything that was taken was paid, is owed, or is carried, and what was due is the exact share rounded down."""
        assert self.taken == sum(self.paid.values()) + sum(self.owed.values()) + self.carried
        assert 0 <= self.exact - self.due < 1
        assert self.due == self.taken + self.arrears
