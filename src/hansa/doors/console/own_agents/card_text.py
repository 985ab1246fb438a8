"""A card as a person edits it: JSON text, its errors, and its differences from the card before.

The editor of the card of an own agent, and the check that the card was not changed meanwhile.

Review by the wizard before it creates anything: the card, its completions, its errors.
"""

import difflib
import json
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from hansa.doors.console.access import SignedIn
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.bodies import BodyInvalid, number_as_written, parse_json
from hansa.foundation.plumbing.web.entity_tags import PreconditionFailed
from hansa.foundation.values.errors import Invalid, Refused
from hansa.rooms import catalogue

FIELD = "card"
CHANGED = "The card was changed after you opened it: open the page again to see the change."


class CardUnreadable(Refused):
    """The text is not JSON; nothing was changed."""

    status = 422
    code = "CARD_UNREADABLE"
    sentence = "The card is not valid JSON."


class DiffLine(msgspec.Struct, frozen=True):
    """One line of a comparison."""

    kind: Literal["added", "removed", "kept"]
    text: str


def card_in(text: str) -> Any:
    """The card in a text. Raises: CardUnreadable."""
    try:
        return parse_json(text.encode(), number_as_written)
    except BodyInvalid as error:
        raise CardUnreadable(f"The card is not valid JSON: {error.detail}", field=FIELD) from None


def text_of(card: Any) -> str:
    """The card as it is shown and edited."""
    return json.dumps(card, ensure_ascii=False, indent=2)


def difference(before: Any, after: Any) -> list[DiffLine]:
    """The changed lines with three lines around each; empty where nothing differs but the order of members."""
    lines = difflib.unified_diff(_sorted_lines(before), _sorted_lines(after), lineterm="", n=3)
    kinds: dict[str, Literal["added", "removed", "kept"]] = {"+": "added", "-": "removed"}
    # The two names of the files come first.
    return [DiffLine(kinds.get(line[:1], "kept"), line) for line in list(lines)[2:]]


def _sorted_lines(card: Any) -> list[str]:
    return json.dumps(card, ensure_ascii=False, indent=2, sort_keys=True).split("\n")


def editor_of(person: SignedIn, did: str, settings: Settings, opened: str | None = None) -> catalogue.Editor:
    """The person as an editor of the agent's card; `opened` is the state of the card that the person has seen."""

    def require_unchanged(card: catalogue.Card) -> None:
        if opened is not None and card.state != opened:
            raise PreconditionFailed(CHANGED)

    policy = catalogue.SignaturePolicy.of(settings)
    return catalogue.Editor(person.developer.id, did, require_unchanged, policy)


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
