"""Serve a page of the cards, or of the acts of enforcement, of this registry to a peer, and the digests that pages are compared by.

Statements of this registry to peers about its agents: one signed item for each card.

- The signature covers everything that decides: DID, epoch, version, status, listing, the end of the agent, its registry and
  the hash of the card. A tombstone is signed like a card.
- A card that is unlisted, switched off or revoked travels as a tombstone, without name, text or address. A peer that names the
  DID gets the unlisted card whole: unlisting is no access control.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation
from hansa.rooms.catalogue.flares import MEMBER as FLARE
from hansa.rooms.catalogue.flares import flare_of
from hansa.rooms.catalogue.signatures.document import exported_document
from hansa.rooms.federation import SigningKey, detached_signature
from hansa_verify import canonical_json

from . import store
from .place import Place, decode, encode, moment_in
from .records import ExportedCard, FeedPage, Range

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


async def cards_page(runtime: Runtime, since: str | None, limit: int, prefix: str) -> bytes:
    """A page of cards changed since a time, or after the `next` of an earlier page, as JSON.

    `prefix` narrows it to DIDs whose SHA-256 begins with these hexadecimal digits. Raises: CursorInvalid, KeyDoesNotOpen.
    """
    asked = decode(since) if since and moment_in(since) is None else None
    if asked is not None and (empty := await _empty_page(runtime, asked, store.has_cards_after)) is not None:
        return empty

    async def read(tx: Tx) -> tuple[Place, datetime, FeedPage]:
        epoch, now = await store.epoch_and_time(tx)
        place = await _place_of_cards(tx, since, epoch)
        page = await store.cards_after(tx, place, limit, prefix)
        return place, now, await _confirmed(tx, page, runtime.settings)

    return await _page(runtime, *await runtime.database.read(read), with_card=True)


async def named_page(runtime: Runtime, dids: Sequence[str]) -> bytes:
    """A page of the cards with these DIDs, whole although unlisted, as JSON. Raises: KeyDoesNotOpen."""

    async def read(tx: Tx) -> tuple[Place, datetime, FeedPage]:
        epoch, now = await store.epoch_and_time(tx)
        cards = await store.cards_named(tx, dids)
        page = FeedPage(cards, more=False, last=cards[-1] if cards else None)
        return Place(epoch), now, await _confirmed(tx, page, runtime.settings)

    place, now, page = await runtime.database.read(read)
    return await _page(runtime, place, now, page, with_card=True, is_named=True)


async def acts_page(runtime: Runtime, since: str | None, limit: int) -> bytes:
    """A page of agents in the order in which their status changed, as JSON. Raises: CursorInvalid, KeyDoesNotOpen."""
    asked = decode(since) if since else None
    if asked is not None and (empty := await _empty_page(runtime, asked, store.has_acts_after)) is not None:
        return empty

    async def read(tx: Tx) -> tuple[Place, datetime, FeedPage]:
        epoch, now = await store.epoch_and_time(tx)
        place = Place(epoch) if asked is None else _in_epoch(asked, epoch)
        page = await store.acts_after(tx, place, limit)
        return place, now, await _confirmed(tx, page, runtime.settings)

    return await _page(runtime, *await runtime.database.read(read), with_card=False)


async def _empty_page(
    runtime: Runtime, asked: Place, has_news: Callable[[Tx, Place], Awaitable[tuple[bool, int, datetime]]]
) -> bytes | None:
    """Return the page where nothing is new after a place, as peers find at nearly every look, by one statement; else None."""
    is_new, epoch, now = await runtime.database.query(lambda tx: has_news(tx, asked))
    return None if is_new or asked.epoch != epoch else _written([], asked, now, more=False)


async def _confirmed(tx: Tx, page: FeedPage, settings: Settings) -> FeedPage:
    """The page as far as the frame has confirmed its DIDs: it ends before one that waits, one that was refused is left out."""
    if not settings.is_operator or not page.cards:
        return page
    states = await federation.unconfirmed(
        tx, [exported.card.did for exported in page.cards if exported.card.did]
    )
    if not states:
        return page
    looked_at: list[ExportedCard] = []
    for exported in page.cards:
        if states.get(exported.card.did or "") == "waiting":
            return _without(looked_at, states, more=False)
        looked_at.append(exported)
    return _without(looked_at, states, more=page.more)


def _without(looked_at: list[ExportedCard], refused: Mapping[str, str], *, more: bool) -> FeedPage:
    cards = [exported for exported in looked_at if exported.card.did not in refused]
    return FeedPage(cards, more, looked_at[-1] if looked_at else None)


async def newest_act(tx: Tx) -> str:
    """The place of the newest act, as the `next` of the page that has it."""
    epoch, _ = await store.epoch_and_time(tx)
    return encode(Place(epoch, *await store.last_act(tx)))


async def card_ranges(tx: Tx, prefix: str) -> tuple[int, datetime, list[Range]]:
    """The epoch, the time, and the ranges of the cards whose DIDs hash to a prefix."""
    epoch, now = await store.epoch_and_time(tx)
    return epoch, now, await store.ranges_of_own(tx, prefix)


async def _place_of_cards(tx: Tx, since: str | None, epoch: int) -> Place:
    if not since:
        return Place(epoch)
    timestamp = moment_in(since)
    if timestamp is None:
        return _in_epoch(decode(since), epoch)
    return Place(epoch, max(0, await store.position_since(tx, timestamp) - 1), 2**63 - 1)


def _in_epoch(place: Place, epoch: int) -> Place:
    return place if place.epoch == epoch else Place(epoch)


async def _page(
    runtime: Runtime, place: Place, now: datetime, page: FeedPage, *, with_card: bool, is_named: bool = False
) -> bytes:
    if not page.cards:
        reached = place if page.last is None else _place_after(page.last, place.epoch)
        return _written([], reached, now, more=page.more)
    signatory = federation.SIGNATORY.of(runtime)
    key = await signatory.present_key()
    settings = runtime.settings
    exporter = Exporter(key, settings.ledger_id, place.epoch, settings.extension_base)
    # Signing a page takes long enough for others to notice.
    return await asyncio.to_thread(_signed, exporter, now, page, with_card=with_card, is_named=is_named)


class Exporter(NamedTuple):
    """Exporting registry: the key that signs, the ledger id, the epoch and the base of extension URIs."""

    key: SigningKey
    ledger_id: str
    epoch: int
    extension_base: str


def _signed(exporter: Exporter, now: datetime, page: FeedPage, *, with_card: bool, is_named: bool) -> bytes:
    items = [item_of(card, exporter, with_card=with_card, is_named=is_named) for card in page.cards]
    assert page.last is not None
    return _written(items, _place_after(page.last, exporter.epoch), now, more=page.more)


def _place_after(exported: ExportedCard, epoch: int) -> Place:
    return Place(epoch, exported.position, exported.card.card_id)


def _written(items: list[dict[str, Any]], place: Place, now: datetime, *, more: bool) -> bytes:
    body: dict[str, Any] = {
        "items": items,
        "next": encode(place),
        "more": more,
        "as_of": now.isoformat(),
        "epoch": place.epoch,
        "export_version": EXPORT_VERSION,
        "digest": page_digest(items),
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def item_of(
    exported: ExportedCard, exporter: Exporter, *, with_card: bool, is_named: bool = False
) -> dict[str, Any]:
    """The item of a card; of the feed of enforcement without the card. One that a peer names by its DID may be unlisted."""
    card = exported.card
    is_shown = card.is_active and (is_named or not card.unlisted) and card.status != "revoked"
    document = None
    if with_card and is_shown:
        # The export of a card has no flare; the peers' copies do.
        document = {**exported_document(card, exporter.extension_base), FLARE: flare_of(card)}
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
