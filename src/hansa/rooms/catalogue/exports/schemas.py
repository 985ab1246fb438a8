"""Shapes of the readings of own cards for peers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms.catalogue.schemas import Listing
from hansa.rooms.catalogue.signatures.schemas import CardSignature

from .records import Range, digest_of_ranges


class PeerItemOut(LazyModel):
    """An agent of this registry. Without `card_data` it is a tombstone, or an act of enforcement."""

    did: str
    epoch: int
    version: int = Field(description="Rises with every change of the item.")
    export_version: int
    status: str = Field(description="`active`, `suspended` or `revoked`.")
    is_active: bool
    listing: Listing
    deleted_at: datetime | None
    updated_at: datetime
    source_registry: str = Field(description="The ledger id of the home registry.")
    digest: str | None = Field(
        description="`sha256:` and the hash of the canonical card; null without a card."
    )
    card_data: dict[str, Any] | None
    signature: CardSignature = Field(
        description="Detached JWS of type agent-card-item+jws by the registry key, over did, epoch, version, status, is_active,"
        " listing, deleted_at, source_registry, digest and export_version."
    )


class PeerPageOut(LazyModel):
    """A page of a feed. Read on with `since` = `next`, also later; `more` says whether to do so at once."""

    items: list[PeerItemOut]
    next: str
    more: bool
    as_of: datetime
    epoch: int = Field(description="Grows when the database is restored; places of another epoch begin anew.")
    export_version: int
    digest: str


class RangeOut(LazyModel):
    """The cards whose DIDs hash to a prefix."""

    prefix: str
    cards: int
    digest: str


class RangesOut(LazyModel):
    """One level of the digest of the exported cards, by prefixes of the SHA-256 of their DIDs."""

    prefix: str
    cards: int
    digest: str
    epoch: int
    as_of: datetime
    ranges: list[RangeOut]

    @classmethod
    def of(cls, prefix: str, epoch: int, now: datetime, ranges: Sequence[Range]) -> "RangesOut":
        """The level below `prefix`."""
        return cls(
            prefix=prefix,
            cards=sum(part.cards for part in ranges),
            digest=digest_of_ranges(ranges),
            epoch=epoch,
            as_of=now,
            ranges=[RangeOut(**part._asdict()) for part in ranges],
        )
