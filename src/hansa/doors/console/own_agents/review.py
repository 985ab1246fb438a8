"""Review by the wizard before it creates anything: the card, its completions, its errors."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.values.errors import Invalid
from hansa.rooms import catalogue

from .card_text import text_of


class HostWithoutCard(Invalid):
    """The host serves no card that the registry would take."""

    code = "HOST_WITHOUT_CARD"
    sentence = "The host serves no valid agent card."
    remedy = "Serve the card at /.well-known/agent-card.json below the address, or enter the card instead."


class Note(msgspec.Struct, frozen=True):
    """A member of a card, by its JSON path, and a sentence on it."""

    field: str
    message: str


class Review(msgspec.Struct, frozen=True):
    """A card as text; `complete` is the card that would be stored. `host` is where it was fetched, if it was."""

    card: str
    complete: str = ""
    troubles: Sequence[Note] = ()
    completions: Sequence[Note] = ()
    host: str | None = None


def review_of_card(card: Any, host: str | None = None) -> Review:
    """The judgement on a card."""
    checked = catalogue.check_card(card)
    return Review(
        card=text_of(card),
        complete="" if checked.card is None else text_of(checked.card),
        troubles=notes_of(checked.troubles),
        completions=notes_of(checked.completions),
        host=host,
    )


async def review_of_host(runtime: Runtime, host: str) -> Review:
    """The judgement on the card that a host serves now. Raises: HostRefused, HostWithoutCard."""
    served = await catalogue.preview_host(runtime, host)
    if isinstance(served, catalogue.Unserved):
        raise HostWithoutCard(served.sentence, field="agent_host")
    return review_of_card(served, host)


def notes_of(found: Sequence[tuple[str, str]]) -> list[Note]:
    """The findings on a card as they are shown."""
    return [Note(field, message) for field, message in found]
