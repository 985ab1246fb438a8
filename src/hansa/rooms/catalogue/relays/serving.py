"""Serve a page of the signed items that this registry holds of others, and where their homes are."""

import json
from datetime import datetime

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Conflict
from hansa.rooms import federation
from hansa.rooms.catalogue.exports import EXPORT_VERSION, page_digest
from hansa.rooms.catalogue.exports.place import Place, decode, encode
from hansa.rooms.catalogue.exports.store import epoch_and_time

from . import store
from .records import HOPS_MAX, DeclaredHome, SignedItem, StoredHome


class RelayOff(Conflict):
    """The registry passes on no cards of others."""

    code = "RELAY_OFF"
    sentence = "This registry passes on no cards of other registries (RELAY_CARDS is false)."
    remedy = "Become a peer of the registry whose cards are wanted."


async def relayed_page(tx: Tx, reader: str, since: str | None, limit: int) -> bytes:
    """A page of the next items as JSON, oldest first, without those of the reader; `reader` is its ledger id. Raises: CursorInvalid."""
    epoch, now = await epoch_and_time(tx)
    place = decode(since) if since else Place(epoch)
    if place.epoch != epoch:
        place = Place(epoch)
    found, is_more = await store.page(tx, place.position, place.card, limit, reader)
    near = {home.ledger_id: home for home in await _homes(tx) if home.hop_distance < HOPS_MAX}
    return _written(found, near, place, now, is_more=is_more)


async def known_homes(tx: Tx) -> list[StoredHome]:
    """The registries that are known by a relay, by ledger id."""
    return await store.homes(tx)


async def discovered_registries(tx: Tx) -> list[federation.DiscoveredRegistry]:
    """The same registries, as the structure of the federation shows them."""
    return [
        federation.DiscoveredRegistry(
            home.ledger_id,
            home.registry_name,
            home.relay_ledger_id,
            home.hop_distance,
            home.settlement_currency,
            home.trouble is None,
        )
        for home in await known_homes(tx)
    ]


async def _homes(tx: Tx) -> list[DeclaredHome]:
    """Return the home of every kept item; a peer is nearer than a registry that is known by a relay."""
    relayed = [
        DeclaredHome(one.ledger_id, one.registry_url, one.hop_distance) for one in await known_homes(tx)
    ]
    direct = [
        DeclaredHome(peer.ledger_id, peer.registry_url, 1)
        for peer in await federation.peers(tx)
        if peer.ledger_id is not None and peer.is_member
    ]
    return relayed + direct


def _written(
    found: list[SignedItem], near: dict[str, DeclaredHome], place: Place, now: datetime, *, is_more: bool
) -> bytes:
    passed_on = [one for one in found if one.source_registry in near]
    items = [json.loads(one.item) for one in passed_on]
    named = sorted({one.source_registry for one in passed_on})
    if found:
        place = Place(place.epoch, found[-1].position, found[-1].id)
    body = {
        "items": items,
        "homes": [near[ledger_id]._asdict() for ledger_id in named],
        "next": encode(place),
        "more": is_more,
        "as_of": now.isoformat(),
        "epoch": place.epoch,
        "export_version": EXPORT_VERSION,
        "digest": page_digest(items),
    }
    return json.dumps(body, separators=(",", ":")).encode()
