"""The stock card and its parts, and the stock cards of peers."""

import json
from datetime import date, datetime
from typing import Any

import msgspec

from hansa.foundation.values.money import Minor


class Listed(msgspec.Struct, frozen=True):
    """A listing as the stock card states it."""

    ref: str
    treasury_did: str
    status: str
    total: int
    sold: int
    price: Minor
    revenue_bps: int
    term_months: int
    fee_bps: int
    ends_at: datetime | None
    digest: bytes


class Close(msgspec.Struct, frozen=True):
    """Price of a listing at the end of a day, and what was traded on it; before its first trade the price of its launch."""

    ref: str
    close: Minor
    volume: int
    notional: Minor
    trades: int


class StockCard(msgspec.Struct, frozen=True):
    """A stock card: `document` is the canonical JSON of which `digest` is the SHA-256."""

    day: date
    document: str
    digest: bytes
    made_at: datetime

    @property
    def digest_text(self) -> str:
        """The digest in the form of the registry card."""
        return f"sha256:{self.digest.hex()}"

    @property
    def content(self) -> dict[str, Any]:
        """The members that are signed."""
        content: dict[str, Any] = json.loads(self.document)
        return content


class VenueCard(msgspec.Struct, frozen=True):
    """Stock card of a peer, by its ledger id, as its registry card verified it."""

    ledger_id: str
    document: dict[str, Any]
    digest: bytes
    read_at: datetime
