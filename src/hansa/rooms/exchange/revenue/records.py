"""Revenue of a listing and points that move. Amounts in minor units, quantities in whole points."""

from datetime import date
from uuid import UUID

import msgspec

from hansa.foundation.values.money import Minor


class Revenue(msgspec.Struct, frozen=True):
    """Revenue of a locked listing, as it was at the day `today` (UTC): `held` points share `revenue_bps` / `total` of it.

    `carried` is in the account of the listing and was not distributed yet, `remainder` the rest of the division of the last levy.
    """

    ref: str
    organization_id: UUID
    treasury_did: str
    total: int
    revenue_bps: int
    held: int
    arrears: Minor
    launched_on: date
    levied_on: date | None
    to_position: int | None
    is_over: bool
    remainder: int
    carried: Minor
    today: date


class Counting(msgspec.Struct, frozen=True):
    """A listing whose credits are counted: those of these accounts by transactions between two positions."""

    ref: str
    from_position: int
    to_position: int | None
    accounts: list[str]

    def counts(self, position: int) -> bool:
        """Return whether credits of a transaction at this position are revenue of the listing."""
        return self.from_position < position and (self.to_position is None or position < self.to_position)


class Levy(msgspec.Struct, frozen=True):
    """Levy of a day: `taken` was paid of what was due and of the arrears before, `arrears` are those after it."""

    revenue: int
    due: Minor
    taken: Minor
    arrears: Minor
    remainder: int


class LeviedDay(msgspec.Struct, frozen=True):
    """Levy of a day as it was written: `held` points shared `revenue`."""

    day: date
    revenue: int
    held: int
    due: Minor
    taken: Minor
    arrears: Minor


class Distribution(msgspec.Struct, frozen=True):
    """Units for each point, and the rest that is carried."""

    per_point: int
    carried: Minor


class PointTransfer(msgspec.Struct, frozen=True):
    """Points that an agent transfers to another agent of its owner, or gives up where `to` is None."""

    ref: str
    to: str | None
    qty: int


class MovedPoints(msgspec.Struct, frozen=True):
    """Movement of points of an agent, under its number at the listing."""

    ref: str
    seq: int
    to: str | None
    qty: int


class Solvency(msgspec.Struct, frozen=True):
    """Units in the account of a listing beside what its holders are owed and what is carried."""

    ref: str
    status: str
    held: int
    balance: Minor
    owed: Minor
    carried: Minor
    arrears: Minor

    @property
    def verdict(self) -> str:
        """BREACH: the account has less than is owed and carried; LOW: the organization is in arrears."""
        if self.balance < self.owed + self.carried:
            return "BREACH"
        return "LOW" if self.arrears else "SOLVENT"
