"""Shapes of claims, movements of points, and the invariant of the exchange."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import Minor, format_amount
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms.exchange.schemas import POINTS_MAX, REF_PATTERN, ListingStatus

from .records import MovedPoints, PointTransfer, Solvency

Verdict: TypeAlias = Literal["OK", "BREACH"]
SolvencyVerdict: TypeAlias = Literal["SOLVENT", "LOW", "BREACH"]
Ref = Annotated[str, Field(pattern=REF_PATTERN, description="Reference of the listing.")]


class ClaimDistributionsIn(RequestBody):
    """Listing whose distributions are claimed; without it those of all listings."""

    ref: Ref | None = None


class PaidOut(LazyModel):
    """Distributions that were paid to the agent now."""

    paid: str

    @classmethod
    def of(cls, paid: Minor) -> "PaidOut":
        return cls(paid=format_amount(paid))


class PointTransferIn(RequestBody):
    """Points that go to another agent of the same owner, or are given up."""

    to: Annotated[str, Field(min_length=1, max_length=DID_MAX_CHARACTERS)] | None = Field(
        description="DID of an agent of the same owner; null gives the points up for good."
    )
    ref: Ref
    qty: Annotated[int, Field(strict=True, ge=1, le=POINTS_MAX, description="Whole points.")]

    def transfer(self) -> PointTransfer:
        """The transfer that this request asks for."""
        return PointTransfer(self.ref, self.to, self.qty)


class MovedPointsOut(LazyModel):
    """Points that moved; `seq` is the number of the movement at the listing."""

    ref: str
    seq: int
    to: str | None = Field(description="Null where the points were given up.")
    qty: int

    @classmethod
    def of(cls, moved: MovedPoints) -> "MovedPointsOut":
        return cls(ref=moved.ref, seq=moved.seq, to=moved.to, qty=moved.qty)


class ListingSolvencyOut(LazyModel):
    """Units in the account of a listing beside what its holders are owed. `carried` could not be divided among the points yet."""

    ref: str
    status: ListingStatus
    held: int = Field(description="Points that were sold and not given up.")
    balance: str
    owed: str
    carried: str
    arrears: str
    solvency: SolvencyVerdict

    @classmethod
    def of(cls, found: Solvency) -> "ListingSolvencyOut":
        return cls.model_validate(
            {
                "ref": found.ref,
                "status": found.status,
                "held": found.held,
                "balance": format_amount(found.balance),
                "owed": format_amount(found.owed),
                "carried": format_amount(found.carried),
                "arrears": format_amount(found.arrears),
                "solvency": found.verdict,
            }
        )


class ExchangeInvariantOut(LazyModel):
    """Points beside their postings, distributions beside the units that pay them, holds beside their orders, as they are now."""

    shares: Verdict
    solvency: SolvencyVerdict = Field(
        description="The worst of all listings. LOW: an organization is in arrears."
    )
    escrow: Verdict
    listings: list[ListingSolvencyOut]
