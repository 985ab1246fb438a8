"""Sign the registry card whenever it differs from the signed version, or its signature has reached half of its window.

- Reading never signs: the card is signed at the start of a process, with each change, with each new key, and by a job.
- Each signed version is kept and becomes a leaf of the log.
- A new signature over the same content has the same entity tag.
- Peers are notified of each version.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.rooms.federation.jurisdiction import compliance_block
from hansa.rooms.federation.notices import notify_peers

from . import card_store
from .card_content import CardFacts, card_body
from .card_fx import SwapTerms
from .card_paths import UNTAGGED_BLOCKS
from .card_signature import RENEWAL, SignatureWindow, card_etag, signature_block
from .card_store import CardVersion
from .signatory import present_signing_key

LEAF = "registry_card"


async def publish_card(tx: Tx, settings: Settings, seal: Seal) -> CardVersion:
    """Sign the card that the settings and the operator's blocks give now, unless it stands signed. Raises: KeyDoesNotOpen."""
    await card_store.lock_card(tx)
    written = await card_store.written_card(tx)
    assert written.founded_at is not None
    facts = CardFacts(
        written.founded_at,
        written.editable,
        written.icon_digest,
        written.licence,
        await compliance_block(tx, settings),
        written.fx,
    )
    body = card_body(settings, facts)
    return await _sign_unless_signed(tx, body, seal)


async def publish_card_with_licence(
    tx: Tx, settings: Settings, seal: Seal, licence: Mapping[str, Any] | None
) -> CardVersion:
    """Publish the card, where the licence that the registry holds may have changed; None: it holds none. See `publish_card`."""
    await card_store.lock_card(tx)
    await card_store.write_licence(tx, licence)
    return await publish_card(tx, settings, seal)


async def publish_card_with_fx(
    tx: Tx, settings: Settings, seal: Seal, terms: SwapTerms | None
) -> CardVersion | None:
    """Publish the card, where the terms of swaps may have changed; None: there is no pool. Nothing is done where they have not."""
    fx = None if terms is None else terms.block(settings.settlement_currency)
    if (await card_store.written_card(tx)).fx == fx:
        return None
    await card_store.lock_card(tx)
    await card_store.write_fx(tx, fx)
    return await publish_card(tx, settings, seal)


async def sign_card_anew(tx: Tx, seal: Seal) -> None:
    """Sign the published card with the present key, its content as it is. Raises: KeyDoesNotOpen."""
    await card_store.lock_card(tx)
    newest = await card_store.newest_version(tx)
    if newest is not None:
        await _sign_unless_signed(tx, _body_of(newest), seal)


async def _sign_unless_signed(tx: Tx, body: Mapping[str, Any], seal: Seal) -> CardVersion:
    newest = await card_store.newest_version(tx)
    key = await present_signing_key(tx, seal)
    is_current = newest is not None and newest.kid == key.kid and key.now < newest.signed_at + RENEWAL
    if newest is not None and is_current and _body_of(newest) == body:
        return newest
    window = SignatureWindow.beginning(key.now)
    etag = card_etag(body)
    lifecycle = {"card_etag": etag, "generated_at": window.signed_at.isoformat(), "status": "active"}
    card = {**body, "lifecycle": lifecycle}
    document = json.dumps({**card, "signature": signature_block(card, key)}, ensure_ascii=False)
    number = newest.version + 1 if newest else 1
    signed = CardVersion(number, etag, key.kid, window.signed_at, window.expires_at, document)
    await card_store.add_version(tx, signed)
    await record_leaf(tx, LEAF, str(number), sha256(document.encode()).digest())
    await notify_peers(tx)
    return signed


def _body_of(version: CardVersion) -> dict[str, Any]:
    card = json.loads(version.document)
    return {name: block for name, block in card.items() if name not in UNTAGGED_BLOCKS}
