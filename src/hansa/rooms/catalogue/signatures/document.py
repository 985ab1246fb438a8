"""Members of a card that the registry signs."""

from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from hansa.rooms.catalogue.enforcement import with_enforcement
from hansa.rooms.catalogue.records import Card
from hansa.rooms.catalogue.shown import shown

from .records import ExportedState

TOMBSTONE_TIME = timedelta(days=30)
SIGNED_ANEW_SECONDS = 3600
# Whole numbers beyond this are not the same number to every reader.
EXACT_MAX = 2**53

_NOT_EXPORTED = frozenset({"federation_metadata", "federationMetadata", "flare", "signatures"})


def is_forgotten(state: ExportedState, now: datetime) -> bool:
    """Return whether the card's agent was revoked so long ago that not even its tombstone is returned."""
    return state.revoked_at is not None and now > state.revoked_at + TOMBSTONE_TIME


def signing_moment(state: ExportedState, key_since: datetime, now: datetime) -> int:
    """The moment that a signature names, in epoch seconds: this hour, or since when this card and this key stand.

    The same card signed with the same key in the same hour gives the same bytes.
    """
    hour = int(now.timestamp()) // SIGNED_ANEW_SECONDS * SIGNED_ANEW_SECONDS
    return max(hour, int(state.updated_at.timestamp()), int(key_since.timestamp()))


def exported_document(card: Card, extension_base: str) -> dict[str, Any]:
    """The document before it is signed: the card with its DID, or of a revoked agent the tombstone."""
    if card.status == "revoked":
        seen = with_enforcement(replace(card, card_data=_tombstone(card)), extension_base)
    else:
        seen = shown(card, extension_base)
    document = {name: value for name, value in (seen.card_data or {}).items() if name not in _NOT_EXPORTED}
    exported: dict[str, Any] = _with_whole_numbers({**document, "did": card.did})
    return exported


def _tombstone(card: Card) -> dict[str, Any]:
    """Return the tombstone of a card, without the owner's words: neither an address to call nor a price to pay."""
    return {"name": card.did, "description": "This agent has been revoked."}


def _with_whole_numbers(value: Any) -> Any:
    """Numbers as every reader writes them: 1.0 is 1, so that a reader of another language signs the same text."""
    kind = type(value)
    if kind is dict:
        # Most members are texts: they are passed over here, where a call for each takes half of the time of an export.
        return {
            name: member if type(member) is str else _with_whole_numbers(member)
            for name, member in value.items()
        }
    if kind is list:
        return [item if type(item) is str else _with_whole_numbers(item) for item in value]
    if kind is float and value.is_integer() and abs(value) < EXACT_MAX:
        return int(value)
    return value
