"""Place of a reader; opaque to clients. A token is good for the order, or the search, that issued it."""

import base64
import binascii
import json

from .errors import ArgumentInvalid

WHOLE_MAX = 2**63 - 1


def token_of(purpose: str, *place: int) -> str:
    """Return the token of a place, for the purpose of that name."""
    text = json.dumps([purpose, *place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place_in(token: str, purpose: str, members: int) -> tuple[int, ...]:
    """The place of a token for that purpose. Raises: ArgumentInvalid."""
    try:
        given, *place = json.loads(base64.urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4)))
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise _refusal() from None
    is_whole = all(type(member) is int and 0 <= member <= WHOLE_MAX for member in place)
    if given != purpose or len(place) != members or not is_whole or token_of(given, *place) != token:
        raise _refusal()
    return tuple(place)


def _refusal() -> ArgumentInvalid:
    return ArgumentInvalid("pageToken: this token was not given out for this request.", field="pageToken")
