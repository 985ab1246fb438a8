"""Statements of this registry to peers about its agents: one signed item for each card.

- The signature covers everything that decides: DID, epoch, version, status, listing, the end of the agent, its registry and
  the hash of the card. A tombstone is signed like a card.
- A card that is unlisted, switched off or revoked travels as a tombstone, without name, text or address. A peer that names the
  DID gets the unlisted card whole: unlisting is no access control.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from hansa.rooms.catalogue.signatures.document import exported_document
from hansa.rooms.federation import SigningKey, detached_signature
from hansa_verify import canonical_json

from .records import ExportedCard

EXPORT_VERSION = 1
"""Grows when the shape of exported items changes: a peer then reads everything anew."""

ITEM_TYPE = "agent-card-item+jws"
SIGNED = (
    "did",
    "epoch",
    "version",
    "status",
    "is_active",
    "listing",
    "deleted_at",
    "source_registry",
    "digest",
    "export_version",
)


class Exporter(NamedTuple):
    """Exporting registry: the key that signs, the ledger id, the epoch and the base of extension URIs."""

    key: SigningKey
    ledger_id: str
    epoch: int
    extension_base: str


def item_of(
    exported: ExportedCard, exporter: Exporter, *, with_card: bool, is_named: bool = False
) -> dict[str, Any]:
    """The item of a card; of the feed of enforcement without the card. One that a peer names by its DID may be unlisted."""
    card = exported.card
    is_shown = card.is_active and (is_named or not card.unlisted) and card.status != "revoked"
    document = exported_document(card, exporter.extension_base) if with_card and is_shown else None
    deleted_at = card.hidden_since if card.status == "revoked" else None
    item = {
        "did": card.did,
        "epoch": exporter.epoch,
        "version": exported.version,
        "export_version": EXPORT_VERSION,
        "status": card.status,
        "is_active": card.is_active,
        "listing": {"unlisted": card.unlisted},
        "deleted_at": deleted_at.isoformat() if deleted_at else None,
        "updated_at": card.updated_at.isoformat(),
        "source_registry": exporter.ledger_id,
        "digest": None if document is None else digest_of(document),
        "card_data": document,
    }
    signature = detached_signature(exporter.key, signed_part(item), {"typ": ITEM_TYPE})
    return {**item, "signature": signature}


def signed_part(item: Mapping[str, Any]) -> bytes:
    """The bytes of an item that its signature covers. Raises: NotCanonical."""
    return canonical_json({name: item.get(name) for name in SIGNED})


def digest_of(document: Any) -> str:
    """The hash of a card as an item states it. Raises: NotCanonical."""
    return digest_of_text(canonical_json(document))


def digest_of_text(canonical: bytes) -> str:
    """The same hash, of the canonical text of the card."""
    return f"sha256:{sha256(canonical).hexdigest()}"


def page_digest(items: Iterable[Any]) -> str:
    """Return the hash of the items of a page: DID, version and card hash of each, in order. Raises: NotCanonical."""
    said = [
        [item.get(name) for name in ("did", "version", "digest")] if isinstance(item, dict) else None
        for item in items
    ]
    return digest_of(said)
