"""Decisions about a peer's items that need no database: the form of an item, and the agents that a peer speaks for."""

import re
from collections.abc import Iterable
from typing import Any

from hansa.rooms.catalogue.rules import BIGINT_MAX, DID_MAX

from .records import PeerItem, SkipReason, StoredVersion

_DID = re.compile(r"did:[a-z0-9]{1,32}:([A-Za-z0-9._-]+):[A-Za-z0-9._-]+", re.ASCII)


def read_item(item: Any, trust_domain: str) -> PeerItem | SkipReason:
    """An item, or why it is left out. A peer speaks for the agents of the namespace proved and for nobody else."""
    if not isinstance(item, dict):
        return "item_invalid"
    did = item.get("did")
    issuer = _DID.fullmatch(did) if isinstance(did, str) and len(did) <= DID_MAX else None
    if issuer is None:
        return "did_invalid"
    if issuer[1] != trust_domain:
        return "did_namespace_mismatch"
    return _peer_item(issuer[0], item)


def _peer_item(did: str, item: dict[str, Any]) -> PeerItem | SkipReason:
    version, document, listing = item.get("version"), item.get("card_data"), item.get("listing") or {}
    unlisted = listing.get("unlisted", False) if isinstance(listing, dict) else None
    is_active = item.get("is_active", True)
    if type(version) is not int or not 0 <= version <= BIGINT_MAX:
        return "item_invalid"
    if not isinstance(unlisted, bool) or not isinstance(is_active, bool):
        return "item_invalid"
    if item.get("deleted_at") is not None:
        return PeerItem(did, version, None, is_active=False, unlisted=unlisted)
    # Without a document there is something to hide, but nothing to show.
    if document is None and is_active and not unlisted:
        return "card_absent"
    if document is not None and not isinstance(document, dict):
        return "item_invalid"
    return PeerItem(did, version, document, is_active, unlisted)


def latest(items: Iterable[PeerItem]) -> dict[str, PeerItem]:
    """The newest item of each agent, by DID, in the order of DIDs."""
    newest: dict[str, PeerItem] = {}
    for item in items:
        known = newest.get(item.did)
        if known is None or known.version < item.version:
            newest[item.did] = item
    return dict(sorted(newest.items()))


def held_back(item: PeerItem, stored: StoredVersion | None, source_registry: str) -> SkipReason | None:
    """Why an item may not be applied to the row that has its DID, if anything."""
    if stored is None:
        return "card_unknown" if item.document is None else None
    if stored.source_registry != source_registry:
        return "did_held_elsewhere"
    return "version_older" if item.version < stored.version else None
