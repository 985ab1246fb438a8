"""Values of the model of a treasury: rules, budgets, requests, what they count and make. Amounts are minor units, moments are hours."""

from dataclasses import dataclass, field
from typing import Any

VIEWER, MEMBER, ADMIN, OWNER = 1, 2, 3, 4
ROLES = {"admin": ADMIN, "owner": OWNER}
WEEK, DELAY, BIDDING, BINDING, DAY = 7 * 24, 24, 24, 14 * 24, 24
INVITATIONS_OF_ADDRESS_A_DAY = 5
UNIQUE = {"rules", "budget", "grant", "owners", "award"}
Demand = tuple[int, str]


class Refusal(Exception):
    """The status of an act that changes nothing."""


def require(condition: object, status: int) -> None:
    if not condition:
        raise Refusal(status)


def fee(amount: int) -> int:
    return amount * 5 // 1000


@dataclass(frozen=True)
class Rules:
    tiers: tuple[tuple[int, int, str], ...] = ()
    day_max: int | None = None
    unapproved_max: int | None = None
    allowed: frozenset[str] | None = None

    @property
    def unapproved(self) -> int | None:
        """Sum of a day above which payments need the lowest tier."""
        first = self.tiers[0][0] if self.tiers else None
        return first if self.unapproved_max is None else self.unapproved_max

    def demand(self, amount: int, *, is_beyond: bool) -> tuple[Demand, ...]:
        """The tier of an amount; beyond the sum without approvals at least the lowest one."""
        found = [(number, of) for over, number, of in self.tiers if amount > over]
        lowest = [(number, of) for _, number, of in self.tiers[:1] if is_beyond]
        return tuple((found or lowest)[-1:])

    def is_tighter(self, old: "Rules") -> bool:
        """Tighter or equal in every member."""
        for amount in {1} | {over + 1 for over, *_ in self.tiers + old.tiers}:
            for is_beyond in (False, True):
                now = self.demand(amount, is_beyond=is_beyond)
                for number, of in old.demand(amount, is_beyond=is_beyond):
                    same = {of, "owner"} if of == "admin" else {of}
                    if not any(one >= number and by in same for one, by in now):
                        return False
        sums = (self.day_max, old.day_max), (self.unapproved, old.unapproved)
        are_less = all(before is None or (now is not None and now <= before) for now, before in sums)
        return are_less and (
            old.allowed is None or (self.allowed is not None and self.allowed <= old.allowed)
        )


@dataclass(eq=False)
class Outlay:
    """Amount that the sums of a day have, and a budget in its period."""

    amount: int
    day: int
    unapproved: bool = False


@dataclass
class Budget:
    amount: int
    period: str
    # Its agent draws it; else the members of the team pay from it.
    agent: bool
    # In the present period.
    counted: list[Outlay] = field(default_factory=list)

    @property
    def spent(self) -> int:
        return sum(one.amount for one in self.counted)


@dataclass
class Order:
    amount: int
    at: int
    status: str = "OPEN"
    # Agent, price and status of each.
    bids: list[tuple[str, int, str]] = field(default_factory=list)


@dataclass
class Contract:
    """One that was proposed by a request, or that an award made."""

    amount: int
    provider: str
    status: str = "PROPOSED"


@dataclass
class Invitation:
    whom: int
    role: int
    with_team: bool
    by: int
    at: int
    # Others approved it.
    is_granted: bool
    status: str = "pending"


@dataclass
class Crossing:
    """Units under way to another registry, which decides."""

    amount: int
    outlay: Outlay
    status: str = "reserved"


@dataclass
class Asked:
    kind: str
    by: int
    at: int
    body: dict[str, Any]
    concerned: int | None = None
    demands: tuple[Demand, ...] = ()
    status: str = "PENDING"
    approved: set[int] = field(default_factory=set)
    due: int | None = None
    was_refused: bool = False
    crossing: Crossing | None = None
