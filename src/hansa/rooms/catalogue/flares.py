"""Flares of an agent on its card, beside the mark that it earned: what the registry states of them, and what peers state of theirs."""

from typing import Any

from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.flares import SLOTS, is_variant_name

from . import store
from .marks import GRADES, grade_of
from .records import Card, Flares, FlareShown

MEMBER = "flare"


async def show_flares(tx: Tx, did: str, flares: Flares) -> None:
    """Let the card of an own agent show these flares; searches find it as encircled while it has an encirclement."""
    await store.set_flares(tx, did, flares)


def flare_of(card: Card) -> dict[str, Any]:
    """The member `flare` of an own agent: the mark and grade by its verified jobs, whether some were foreign, and its flares."""
    earned = grade_of(card.verified_jobs)
    return {
        "mark": earned.mark,
        "grade": earned.grade,
        "foreign": bool((card.track_record or {}).get("jobs_foreign")),
        "corner": card.flare_corner,
        "encirclement": card.flare_encirclement,
        "overlay": card.flare_overlay,
    }


def with_flare(card: Card) -> Card:
    """The card of an own agent with its document stating mark and flares. Listings without an agent have none."""
    if card.card_data is None or card.did is None:
        return card
    return replace(card, card_data={**card.card_data, MEMBER: flare_of(card)})


def shown_flare(card: Card) -> FlareShown:
    """Return the mark and the flares of an agent of any registry; members of other forms count as absent."""
    written = flare_of(card) if card.source_registry is None else (card.card_data or {}).get(MEMBER)
    stated = written if isinstance(written, dict) else {}
    grade = stated.get("grade")
    known = grade if type(grade) is int and 1 <= grade <= len(GRADES) else 0
    slots = {slot: stated[slot] if is_variant_name(stated.get(slot)) else None for slot in SLOTS}
    return FlareShown(
        mark=GRADES[known - 1][1] if known else None,
        grade=known,
        is_foreign=known > 0 and stated.get("foreign") is True,
        flares=Flares(**slots),
    )


def is_stated_encircled(card_data: dict[str, Any]) -> bool:
    """Return whether a card that another registry signed states an encirclement of its agent."""
    stated = card_data.get(MEMBER)
    return isinstance(stated, dict) and is_variant_name(stated.get("encirclement"))
