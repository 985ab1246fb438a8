"""A card as a person edits it: JSON text, its errors, and its differences from the card before."""

import difflib
import json
from typing import Any, Literal

import msgspec

from hansa.foundation.plumbing.web.bodies import BodyInvalid, number_as_written, parse_json
from hansa.foundation.values.errors import Refused

FIELD = "card"


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
