"""Stock cards of peers: read over mutual TLS where the registry card of a peer signs another digest than that of the stored one.

- A stock card counts only if its digest is the one that the verified registry card of the peer signs. Another one is counted as refused.
- A card that its peer made since its registry card was read waits for the next registry card.
- The card of a registry that is no open peer, or whose card states no exchange, is not shown.
"""

import asyncio
from datetime import datetime
from typing import Any

import msgspec
from pydantic import ValidationError

from hansa.foundation.plumbing.jobs import scheduled
from hansa.foundation.plumbing.outgoing import CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.peer_caller import PeerClosed
from hansa.rooms import federation
from hansa_verify import NotCanonical, read_json, signed_stock_card

from . import store
from .records import VenueCard
from .schemas import SignedStockCard, VenueOut

EVERY_SECONDS = 60
AT_ONCE = 8
LIMITS = CallLimits(seconds=10.0, body_bytes=1024 * 1024)
PATH = "/api/v1/agora/stock-card"
OK = 200
REFUSED = "stock_card_invalid"
_ENABLED, _DIGEST = "fees.exchange.enabled", "fees.exchange.stock_card.digest"


class Venue(msgspec.Struct, frozen=True):
    """A peer with its last verified stock card."""

    peer: federation.PeerRecord
    card: VenueCard


async def read_venues(runtime: Runtime) -> None:
    """Read the stock card of each peer whose registry card signs another one than the stored. Never within a transaction."""
    peers = await runtime.database.query(federation.peers)
    known = {one.ledger_id: one.digest for one in await runtime.database.query(store.venues)}
    signed = {peer.id: digest for peer in peers if (digest := _signed_digest(peer)) is not None}
    turns = asyncio.Semaphore(AT_ONCE)

    async def follow(peer: federation.PeerRecord) -> None:
        async with turns:
            await _read(runtime, peer, signed[peer.id])

    changed = [peer for peer in peers if peer.id in signed and known.get(_id(peer)) != signed[peer.id]]
    await asyncio.gather(*(follow(peer) for peer in changed))
    members = [_id(peer) for peer in peers]
    if known.keys() - set(members):
        await runtime.database.transaction(lambda tx: store.forget_other_venues(tx, members))


async def _open_venues(tx: Tx) -> tuple[list[Venue], datetime]:
    """The stock cards of open peers whose registry cards state an exchange, and the time of the reading."""
    cards = {one.ledger_id: one for one in await store.venues(tx)}
    if not cards:
        return [], await clock.now(tx)
    peers = [peer for peer in await federation.peers(tx) if _signed_digest(peer) is not None]
    found = [Venue(peer, cards[_id(peer)]) for peer in peers if _id(peer) in cards]
    return sorted(found, key=lambda venue: venue.card.ledger_id), await clock.now(tx)


async def venues_shown(tx: Tx) -> list[VenueOut]:
    """The verified stock cards of peers as they are answered, by ledger id."""
    venues, now = await _open_venues(tx)
    return [_shown(venue, now) for venue in venues]


def _shown(venue: Venue, now: datetime) -> VenueOut:
    card, peer = SignedStockCard.model_validate(venue.card.document), venue.peer
    return VenueOut(
        registry_name=peer.registry_name,
        ledger_id=venue.card.ledger_id,
        registry_url=peer.registry_url,
        currency=card.currency,
        date=card.date,
        market_epoch=card.market_epoch,
        market_freshness=federation.market_freshness(card.as_of, now),
        as_of=card.as_of,
        digest=f"sha256:{venue.card.digest.hex()}",
        listings=card.listings,
        closes=card.closes,
    )


def _id(peer: federation.PeerRecord) -> str:
    return peer.ledger_id or ""


def _signed_digest(peer: federation.PeerRecord) -> bytes | None:
    """The digest that the card of an open peer signs; None without an exchange or a stock card."""
    signed = peer.signed if peer.is_open and peer.ledger_id is not None else {}
    digest = signed.get(_DIGEST) if signed.get(_ENABLED) is True else None
    return None if digest is None else bytes.fromhex(digest.removeprefix("sha256:"))


async def _read(runtime: Runtime, peer: federation.PeerRecord, digest: bytes) -> None:
    try:
        answer = await federation.call_peer(runtime, peer, "GET", PATH, limits=LIMITS)
    except (OutgoingTrouble, PeerClosed, federation.FederationOff):
        return
    if answer.status != OK or _states_another(answer.body, digest):
        return
    document = _verified(answer.body, peer)
    if document is None:
        await runtime.database.transaction(lambda tx: federation.count_refusal(tx, peer.id, REFUSED))
    else:
        await runtime.database.transaction(lambda tx: store.keep_venue(tx, _id(peer), document, digest))


def _states_another(body: bytes, digest: bytes) -> bool:
    """Return whether the answer names another digest: the registry card of the peer has changed meanwhile."""
    try:
        stated = read_json(body)
    except NotCanonical:
        return False
    return isinstance(stated, dict) and stated.get("digest") != f"sha256:{digest.hex()}"


def _verified(body: bytes, peer: federation.PeerRecord) -> dict[str, Any] | None:
    document = signed_stock_card(body, peer.signed)
    try:
        card = None if document is None else SignedStockCard.model_validate(document)
    except ValidationError:
        return None
    return None if card is None or card.registry.ledger_id != peer.ledger_id else _plain(card)


def _plain(card: SignedStockCard) -> dict[str, Any]:
    """The members that are known here, as JSON."""
    members: dict[str, Any] = card.model_dump(mode="json")
    return members


READ_VENUES = scheduled("exchange: stock cards of peers", EVERY_SECONDS, read_venues)
