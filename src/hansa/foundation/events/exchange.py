"""Facts of the exchange of points. All are public and always recorded. Prices are decimal strings, quantities whole points."""

from typing import ClassVar

from hansa.foundation.events.base import Event


class ListingEvent(Event, frozen=True):
    """A fact about one listing; it concerns the treasury of its organization."""

    aggregate_type: ClassVar[str] = "listing"
    is_always_recorded: ClassVar[bool] = True

    ref: str
    treasury_did: str

    @property
    def aggregate_id(self) -> str:
        return self.treasury_did


class ListingApproved(ListingEvent, frozen=True):
    """A listing was approved: `terms_sha256` is over the canonical JSON of its terms, which are final from now on."""

    terms_sha256: str
    fee_bps: int
    opens_at: str
    closes_at: str


class LaunchClosed(ListingEvent, frozen=True):
    """A launch has ended: `sold` points are allocated at `price`; none where it failed."""

    price: str
    sold: int


class ListingHalted(ListingEvent, frozen=True):
    """An administrator halted the trade of a listing: orders can only be cancelled."""

    reason: str


class ListingResumed(ListingEvent, frozen=True):
    """An administrator let the trade of a listing go on."""

    reason: str


class ListingDelisted(ListingEvent, frozen=True):
    """An administrator ended the trade of a listing for good."""

    reason: str


class ListingExpired(ListingEvent, frozen=True):
    """The term of a listing has ended: its points are void."""
