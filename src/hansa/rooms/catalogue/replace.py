"""Replace the document of a card: one function for its owner and for a pull of the card that the agent serves itself.

- Both are judged alike, both keep the document before as a version, and neither writes anything where nothing changes.
- The platform's members of the document stay; the listing, the status and whether the card is active are not touched.
- A pull counts when the agent's own card has changed since the last pull: an owner's word stands until then.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.values.canonical import digest

from .errors import CardRevoked, CardUnknown, HumanReadableIdTaken
from .form import require_card
from .reserved_names import require_free_name
from .rules import findable
from .versions import store
from .versions.records import Replaced, Source, StoredDocument
from .versions.rules import changed_keys, successor


async def replace_document(
    tx: Tx,
    card_id: int,
    document: Any,
    *,
    source: Source,
    stated: Mapping[str, Any] = MappingProxyType({}),
) -> Replaced | None:
    """Judge a document and make it the card's; None when nothing was written. `card_id` is the card's number.

    `stated` are members that the platform states from now on.

    The card stays locked until the transaction ends. After a refusal the transaction can go on.
    Raises: CardUnknown, CardRevoked, CardInvalid, HumanReadableIdTaken.
    """
    judged = require_card(document)
    stored = await store.lock_document(tx, card_id)
    if stored is None:
        raise CardUnknown
    if stored.status == "revoked":
        raise CardRevoked
    pulled_hash = digest(judged) if source == "pull" else None
    if pulled_hash is not None and pulled_hash == stored.pulled_hash:
        return None
    new = {**successor(stored.card_data, judged), **stated}
    changed = changed_keys(stored.card_data, new)
    if changed:
        return await _replace(tx, stored, new, changed, source=source, pulled_hash=pulled_hash)
    if pulled_hash is not None:
        await store.note_pulled(tx, card_id, pulled_hash)
    return None


async def _replace(
    tx: Tx,
    stored: StoredDocument,
    new: dict[str, Any],
    changed: tuple[str, ...],
    *,
    source: Source,
    pulled_hash: bytes | None,
) -> Replaced:
    old_hash = digest(stored.card_data)
    name = new["humanReadableId"]
    if name != stored.human_readable_id:
        await require_free_name(tx, name, stored.organization_id)
    version = await store.replace(
        tx,
        stored,
        old_hash=old_hash,
        content=findable(new),
        human_readable_id=name,
        source=source,
        pulled_hash=pulled_hash,
    )
    if version is None:
        raise HumanReadableIdTaken(context={"human_readable_id": name})
    new_hash = digest(new)
    await record_leaf(tx, "card", f"{stored.id}/{version}", new_hash)
    return Replaced(
        stored.id,
        stored.card_id,
        stored.did,
        version,
        changed,
        old_hash.hex(),
        new_hash.hex(),
    )
