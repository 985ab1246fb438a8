"""Judge a page that a peer served: pure functions of its bytes, the keys of its verified card, and its namespace.

A page that cannot be read is refused as a whole and the cursor stays; an item that is refused is counted and left out.
"""

import json
from typing import Any

from hansa.rooms.catalogue.exports import ITEM_TYPE, digest_of_text, page_digest, signed_part
from hansa.rooms.catalogue.limits import CARD_MAX_BYTES
from hansa.rooms.catalogue.mirrors import PeerItem, read_item
from hansa.rooms.catalogue.rules import BIGINT_MAX
from hansa_verify import (
    BadEntry,
    DetachedSignature,
    NotAKey,
    NotCanonical,
    canonical_json,
    read_entry,
    read_keys,
)

from .records import JudgedPage, KeyUnknown, Origin, PageRefused

NEXT_MAX = 512
STATUSES = ("active", "suspended", "revoked")
EXPORT_VERSION_MAX = 2**31 - 1


def origin_of(ledger_id: str, namespace: str, keys: Any) -> Origin:
    """The peer with the keys of its verified card. Raises: PageRefused."""
    try:
        found = {key.kid: key.public_key for key in read_keys(keys)}
    except NotAKey:
        raise PageRefused("keys_unreadable") from None
    return Origin(ledger_id, namespace, found)


def judge_page(body: bytes, limit: int, origin: Origin) -> JudgedPage:
    """The page of at most `limit` items that these bytes are. Raises: PageRefused."""
    page = read_envelope(body, limit)
    items = page["items"]
    judged = JudgedPage(page["next"], page["more"], page["epoch"], page["export_version"], size=len(items))
    unknown: list[dict[str, Any]] = []
    for item in items:
        reason = why_refused(item, judged.epoch, origin)
        if reason is None:
            judged.items.append(item)
        else:
            if reason == "key_unknown":
                unknown.append(item)
            judged.refused[reason] += 1
            judged.refused_card = judged.refused_card or mark_of(item)
    # The keys of the peer changed: once its documents were read again, the same page is taken.
    if unknown:
        raise KeyUnknown(sorted({item["signature"]["protected"] for item in unknown}))
    return judged


def mark_of(item: Any) -> str:
    """Return the name of a card in the evidence on its registry: DID and version, as far as the item states them."""
    stated = item if isinstance(item, dict) else {}
    return f"{stated.get('did')} {stated.get('version')}"


def read_envelope(body: bytes, limit: int) -> dict[str, Any]:
    """The page with its members of the right kinds and the digest of its items, which are not judged. Raises: PageRefused."""
    try:
        page = json.loads(body)
    except (ValueError, RecursionError):
        raise PageRefused("page_unreadable") from None
    if not isinstance(page, dict) or not isinstance(page.get("items"), list):
        raise PageRefused("page_unreadable")
    place, epoch, export_version = page.get("next"), page.get("epoch"), page.get("export_version")
    if not isinstance(place, str) or not 0 < len(place) <= NEXT_MAX or not place.isprintable():
        raise PageRefused("page_unreadable")
    if type(page.get("more")) is not bool or not is_number(epoch, BIGINT_MAX):
        raise PageRefused("page_unreadable")
    if not is_number(export_version, EXPORT_VERSION_MAX) or not isinstance(page.get("digest"), str):
        raise PageRefused("page_unreadable")
    if len(page["items"]) > limit:
        raise PageRefused("page_too_long")
    try:
        is_whole = page_digest(page["items"]) == page["digest"]
    except NotCanonical:
        raise PageRefused("page_unreadable") from None
    if not is_whole:
        raise PageRefused("page_digest_mismatch")
    return page


def is_number(value: Any, most: int) -> bool:
    """Return whether a value is a whole number from 0 to `most`."""
    return type(value) is int and 0 <= value <= most


def why_refused(item: Any, epoch: int, origin: Origin) -> str | None:
    """Why an item is not one that its home signed in this epoch, or None."""
    read = read_item(item, origin.namespace)
    # An act of enforcement has no card, which a mirror cannot be written from; its envelope is judged all the same.
    if not isinstance(read, PeerItem) and read != "card_absent":
        return read
    if item.get("source_registry") != origin.ledger_id:
        return "source_mismatch"
    if item.get("epoch") != epoch:
        return "epoch_mismatch"
    if item.get("status") not in STATUSES:
        return "item_invalid"
    return _why_unsigned(item, origin)


def _why_unsigned(item: dict[str, Any], origin: Origin) -> str | None:
    document = item.get("card_data")
    try:
        canonical = None if document is None else canonical_json(document)
        if canonical is not None and _is_too_large(document, canonical):
            return "card_too_large"
        if item.get("digest") != (None if canonical is None else digest_of_text(canonical)):
            return "digest_mismatch"
        entry, said = read_entry(item.get("signature")), signed_part(item)
    except (NotCanonical, BadEntry, RecursionError):
        return "signature_invalid"
    return _why_not_by(entry, said, origin.keys)


def _is_too_large(document: Any, canonical: bytes) -> bool:
    """Return whether the document is too large. Its canonical text escapes characters beyond ASCII: the plain one is written only if that is too long."""
    return len(canonical) > CARD_MAX_BYTES and len(json.dumps(document, ensure_ascii=False)) > CARD_MAX_BYTES


def _why_not_by(entry: DetachedSignature, said: bytes, keys: dict[str, bytes]) -> str | None:
    if entry.header.get("typ") != ITEM_TYPE:
        return "signature_invalid"
    key = keys.get(entry.kid or "")
    if key is None:
        return "key_unknown"
    return None if entry.is_by(key, said) else "signature_invalid"
