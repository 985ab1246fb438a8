"""Reputation of an agent on its card: its track record and its score, written by the room that computes them."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .records import Card

TRACK_RECORD = "/extensions/v1/reputation/track-record"


async def show_track_record(tx: Tx, did: str, verified_jobs: int, record: Mapping[str, Any]) -> None:
    """Let the card of an own agent show this track record, in searches and in its signed form."""
    await store.set_track_record(tx, did, verified_jobs, record)


async def show_scores(tx: Tx, scores: Mapping[str, int]) -> None:
    """Let the cards of own agents show these scores, by DID; searches sort by them."""
    await store.set_scores(tx, scores)


def with_track_record(card: Card, extension_base: str) -> Card:
    """The card with its document stating the agent's track record, if there is one."""
    if card.card_data is None or card.track_record is None:
        return card
    extension: dict[str, Any] = {
        "uri": extension_base + TRACK_RECORD,
        "description": "What the registry has recorded of the paid work and the disputes of this agent.",
        "required": False,
        "params": card.track_record,
    }
    written = card.card_data.get("extensions", [])
    return replace(card, card_data={**card.card_data, "extensions": [*written, extension]})
