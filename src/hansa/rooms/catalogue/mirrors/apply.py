"""Apply a page of a peer's cards: in one transaction, a few statements for some hundred cards each.

- Nothing but mirrors of this peer is touched: neither native cards nor those mirrored from others.
- Items that cannot be applied are left out and counted, and never keep the rest from being applied.
- A card never goes back: an older version of it changes nothing, in any order of pages.
"""

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from uuid import uuid4

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue import human_readable_id
from hansa.rooms.catalogue.bonds import is_stated_bonded
from hansa.rooms.catalogue.form import check_peer_card, peers_part
from hansa.rooms.catalogue.rules import findable

from . import rules, store
from .plain import is_plain
from .records import Home, MirrorResult, PeerCard, PeerItem, StoredVersion

BATCH = 500
CARDS_PER_PEER_MAX = 250_000


async def mirror_cards(
    tx: Tx,
    *,
    source_registry: str,
    trust_domain: str,
    settlement_currency: str,
    items: Iterable[Any],
    quota: int = CARDS_PER_PEER_MAX,
    synced_from: str | None = None,
) -> MirrorResult:
    """Apply the items that the registry `source_registry` sent; `trust_domain` is the namespace proved for it.

    An item is {did, version, card_data?, listing? {unlisted}, is_active?, deleted_at?}; without card_data it hides the
    mirror. `quota` bounds how many cards of the peer there are, hidden ones included. `synced_from`: the relay that brought
    them, None where they come from the registry itself.
    """
    home = Home(source_registry, trust_domain, settlement_currency)
    result = MirrorResult()
    await store.lock_peer(tx, source_registry)
    sound = list(_sound_items(items, trust_domain, result))
    newest = rules.latest(sound)
    result.skipped["repeated"] += len(sound) - len(newest)
    stored = await store.stored_versions(tx, list(newest))
    due = [item for item in newest.values() if _is_due(item, stored.get(item.did), source_registry, result)]
    await _hide(tx, home, [item for item in due if item.document is None], result)
    known = {item.did for item in due if item.did in stored}
    room = quota - await store.count_mirrors(tx, source_registry)
    judged: list[PeerCard] = []
    # One batch is judged in a thread while the one before it is written.
    for batch in [*_batches(item for item in due if item.document is not None), []]:
        fresh = [card for card in judged if card.did not in known]
        result.skipped["quota_reached"] += max(0, len(fresh) - max(0, room))
        fresh = fresh[: max(0, room)]
        room -= len(fresh)
        changed = [card for card in judged if card.did in known]
        _, judged = await asyncio.gather(
            _write(tx, home, changed, fresh, result),
            asyncio.to_thread(_judge, batch, home, synced_from or source_registry),
        )
        _note_invalid(batch, judged, result)
    result.skipped = +result.skipped
    return result


def _sound_items(items: Iterable[Any], trust_domain: str, result: MirrorResult) -> Iterator[PeerItem]:
    for item in items:
        newest = rules.read_item(item, trust_domain)
        if isinstance(newest, PeerItem):
            yield newest
        else:
            result.skipped[newest] += 1


def _is_due(item: PeerItem, stored: StoredVersion | None, source_registry: str, result: MirrorResult) -> bool:
    reason = rules.held_back(item, stored, source_registry)
    if reason is not None:
        result.skipped[reason] += 1
    elif stored is not None and stored.version == item.version:
        result.unchanged += 1
    else:
        return True
    return False


async def _hide(tx: Tx, home: Home, tombstones: list[PeerItem], result: MirrorResult) -> None:
    hidden = await store.hide(tx, home, tombstones)
    result.hidden += hidden
    result.unchanged += len(tombstones) - hidden


async def _write(
    tx: Tx, home: Home, changed: list[PeerCard], fresh: list[PeerCard], result: MirrorResult
) -> None:
    same = await store.note_versions(tx, home, changed)
    written = await store.replace(tx, home, changed) + await store.insert(tx, home, fresh)
    result.unchanged += same
    result.written += written
    # Another peer of the same namespace was faster, or an own agent has the DID.
    result.skipped["did_held_elsewhere"] += len(changed) + len(fresh) - same - written


def _note_invalid(batch: list[PeerItem], judged: list[PeerCard], result: MirrorResult) -> None:
    sound = {card.did for card in judged}
    invalid = [item for item in batch if item.did not in sound]
    result.skipped["card_invalid"] += len(invalid)
    if invalid and result.refused_card is None:
        result.refused_card = f"{invalid[0].did} {invalid[0].version}"


def _judge(batch: list[PeerItem], home: Home, synced_from: str) -> list[PeerCard]:
    cards = []
    for item in batch:
        document = _judged(item.document or {})
        if document is not None:
            cards.append(_peer_card(item, document, home, synced_from))
    return cards


def _judged(document: dict[str, Any]) -> dict[str, Any] | None:
    card = peers_part(document)
    return card if is_plain(card) else check_peer_card(document).card


def _peer_card(item: PeerItem, document: dict[str, Any], home: Home, synced_from: str) -> PeerCard:
    name = document.get("humanReadableId") or human_readable_id.generated(
        home.source_registry, document["name"], uuid4()
    )
    synced = {"source_registry": home.source_registry, "first_synced_from": synced_from}
    content = findable({**document, "humanReadableId": name, "federation_metadata": synced})
    listed = (item.is_active, item.unlisted, is_stated_bonded(document))
    return PeerCard(item.did, item.version, name, *listed, content)


def _batches(items: Iterable[PeerItem]) -> Iterator[list[PeerItem]]:
    waiting = iter(items)
    while batch := list(islice(waiting, BATCH)):
        yield batch
