"""Store the card of an agent: a full one, or a stub that waits for the card the agent serves itself."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.values.canonical import digest

from . import human_readable_id, rules, store
from .errors import CardExists, HumanReadableIdTaken
from .form import require_card
from .hosts import host_address
from .records import NewCard, StoredCard
from .reserved_names import public_name_of, require_free_name


async def publish_card(
    tx: Tx,
    *,
    did: str | None,
    developer_id: int,
    card_data: dict[str, Any],
    settings: Settings,
    stated: Mapping[str, Any] = MappingProxyType({}),
    organization_id: UUID | None = None,
) -> StoredCard:
    """Store the card that a developer wrote for the agent `did`, or for no agent, with members that the platform states.

    Raises: CardInvalid, CardExists, HumanReadableIdTaken.
    """
    return await _store(
        tx,
        did,
        developer_id,
        {**require_card(card_data), **stated},
        settings,
        host=None,
        organization_id=organization_id,
    )


async def publish_unlisted(
    tx: Tx,
    *,
    did: str,
    developer_id: int,
    card_data: dict[str, Any],
    settings: Settings,
    organization_id: UUID | None = None,
) -> StoredCard:
    """Store the card of an agent that offers nothing, outside of the listings. Raises: HumanReadableIdTaken."""
    stored = await _store(
        tx, did, developer_id, card_data, settings, host=None, organization_id=organization_id
    )
    await store.unlist(tx, stored.card_id)
    return stored


async def publish_imported(
    tx: Tx,
    *,
    did: str,
    developer_id: int,
    card_data: dict[str, Any],
    imported_from: Mapping[str, Any],
    settings: Settings,
    organization_id: UUID | None = None,
) -> StoredCard:
    """Store the card of a bundle with its origin, under a new humanReadableId and outside of the listings. Raises: CardInvalid, HumanReadableIdTaken."""
    judged = require_card({name: member for name, member in card_data.items() if name != "humanReadableId"})
    document = {**judged, "imported_from": dict(imported_from)}
    stored = await _store(
        tx, did, developer_id, document, settings, host=None, organization_id=organization_id
    )
    await store.unlist(tx, stored.card_id)
    return stored


async def publish_stub(
    tx: Tx,
    *,
    did: str,
    developer_id: int,
    host: str,
    settings: Settings,
    organization_id: UUID | None = None,
) -> StoredCard:
    """Store a card that only names the host until `<host>/.well-known/agent-card.json` has been read.

    Raises: HostRefused.
    """
    address = host_address(host, settings.outgoing_allow_user_hosts)
    stub = {"name": urlsplit(address).hostname or address}
    return await _store(tx, did, developer_id, stub, settings, host=address, organization_id=organization_id)


async def _store(
    tx: Tx,
    did: str | None,
    developer_id: int,
    card: dict[str, Any],
    settings: Settings,
    *,
    host: str | None,
    organization_id: UUID | None = None,
) -> StoredCard:
    unique = uuid4()
    hri = card.get("humanReadableId") or human_readable_id.generated(
        await public_name_of(tx, organization_id) or settings.registry_name, card["name"], unique
    )
    await require_free_name(tx, hri, organization_id)
    document = {**card, "humanReadableId": hri}
    new = NewCard(
        id=unique,
        did=did,
        developer_id=developer_id,
        organization_id=organization_id,
        human_readable_id=hri,
        host=host,
        settlement_currency=settings.settlement_currency,
        trust_domain=settings.trust_domain,
        content=rules.findable(document),
    )
    stored = await store.insert_native(tx, new)
    if stored is not None:
        await record_leaf(tx, "card", f"{stored.id}/1", digest(document))
        return stored
    if did is not None and await store.card_by_key(tx, did) is not None:
        raise CardExists
    raise HumanReadableIdTaken(context={"human_readable_id": hri})
