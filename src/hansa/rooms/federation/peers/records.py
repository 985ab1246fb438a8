"""Peers as they are kept."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import msgspec

from hansa.foundation.plumbing.keys.trust_bundle import TrustBundle
from hansa.foundation.plumbing.outgoing import MutualEnd
from hansa.foundation.plumbing.settings import Settings

PeerType = Literal["direct_peer", "discovered", "cloud_operator", "frame"]
PeerStatus = Literal["active", "inactive"]
Approval = Literal["pending", "approved"]
TrustState = Literal["unmeasured", "ok", "warn", "restricted", "suspended"]
NET_IN_LIMIT_DEFAULT = 10_000 * 10**8
"""Minor units that a peer may bring in more than it takes out (Specification 6 W 13)."""


@dataclass(frozen=True)
class PeerRecord:
    """Another registry. Members that its card states are None until the card was verified.

    `net_in_limit` is in minor units, None: unlimited. `trust_weight` is its score in thousandths, 0 while it is unmeasured. `signed` holds the signed leaves of the verified card by their
    paths; nothing else of the card decides anything.
    """

    id: int
    spiffe_id: str | None
    ledger_id: str | None
    registry_name: str
    trust_domain: str
    registry_url: str
    federation_base_url: str | None
    peer_type: PeerType
    hop_distance: int
    status: PeerStatus
    approval: Approval
    paused_at: datetime | None
    removing: bool
    quarantined_at: datetime | None
    quarantine_reason: str | None
    settlement_currency: str | None
    did_namespace: str | None
    bundle: TrustBundle = field(repr=False)
    bundle_fetched_at: datetime
    card: dict[str, Any] | None = field(repr=False)
    card_etag: str | None
    card_kid: str | None
    card_fetched_at: datetime | None
    card_signed_at: datetime | None
    card_expires_at: datetime | None
    card_verdicts: list[dict[str, Any]] = field(repr=False)
    keys: dict[str, Any] | None = field(repr=False)
    net_in_limit: int | None
    auto_slash_enabled: bool
    auto_slash_max_avt: int
    trust_state: TrustState
    trust_weight: int
    total_interactions: int
    disputes_lost_with: int
    last_interaction_at: datetime | None
    last_synced_at: datetime | None
    trouble: str | None
    created_at: datetime
    approved_at: datetime | None
    read_at: datetime
    """When the row was read, by the clock of the database."""

    @property
    def name(self) -> str:
        """The NAME by which commands and routes address it, where no other peer has the same."""
        return self.registry_name

    def is_of_frame(self, settings: Settings) -> bool:
        """Return whether it is this registry's frame, or an operator of the same frame: one trust domain, one authority."""
        return self.trust_domain == settings.trust_domain

    @property
    def is_open(self) -> bool:
        """Return whether something new may be taken in from it or crossed with it."""
        return self.status == "active" and self.quarantined_at is None

    @property
    def is_member(self) -> bool:
        """Return whether it counts as a part of the federation: approved, and not being removed."""
        return self.approval == "approved" and not self.removing

    @property
    def is_read(self) -> bool:
        """Return whether its documents are read at intervals: it is neither paused nor being removed."""
        return self.paused_at is None and not self.removing

    @property
    def tier(self) -> str | None:
        """The tier that its card signs; None before the card was verified."""
        return self.signed.get("identity.tier")

    @property
    def signed(self) -> dict[str, Any]:
        """The signed leaves of its card by their paths; empty before the card was verified."""
        if self.card is None:
            return {}
        return {path: value_at(self.card, path) for path in self.card["signature"]["signed_canonical"]}

    @property
    def kids(self) -> list[str]:
        """The names of its keys, as its key set lists them; empty before the card was verified."""
        return [key["kid"] for key in (self.keys or {"keys": []})["keys"]]

    @property
    def end(self) -> MutualEnd | None:
        """Address and identity by which it is called over mutual TLS; None before its card was verified."""
        if self.federation_base_url is None or self.spiffe_id is None:
            return None
        return MutualEnd(self.federation_base_url, self.spiffe_id, self.bundle.pem)


class CountedRefusal(msgspec.Struct, frozen=True):
    """Number of times that something of a peer was refused for one reason, and the last time."""

    reason: str
    count: int
    last_at: datetime


@dataclass(frozen=True)
class VerifiedCard:
    """Members of a verified registry card: signed leaves, and the address that peers dial."""

    spiffe_id: str
    ledger_id: str
    registry_name: str
    trust_domain: str
    did_namespace: str | None
    settlement_currency: str
    federation_base_url: str
    text: str = field(repr=False)
    etag: str
    kid: str
    signed_at: datetime
    expires_at: datetime
    keys: dict[str, Any] = field(repr=False)
    verdicts: list[dict[str, Any]] = field(repr=False)


class NewPeer(msgspec.Struct, frozen=True):
    """A peer to be written: its bundle was read and compared; its card was verified, or is still to be read."""

    registry_url: str
    bundle: TrustBundle
    approval: Approval
    peer_type: PeerType = "direct_peer"
    net_in_limit: int | None = NET_IN_LIMIT_DEFAULT
    registry_name: str | None = None
    card: VerifiedCard | None = None


def value_at(card: Any, path: str) -> Any:
    """The value at a path of members joined by dots, or None."""
    for name in path.split("."):
        card = card.get(name) if isinstance(card, dict) else None
    return card
