"""Moments of the past, read from text."""

import re
from datetime import datetime

from .errors import MomentInvalid

_SEQUENCE = re.compile(r"[0-9]{1,18}", re.ASCII)

Moment = datetime | int


def parse_moment(text: str) -> Moment:
    """A time with its offset, or a sequence number. Raises: MomentInvalid."""
    if _SEQUENCE.fullmatch(text):
        return int(text)
    try:
        timestamp = datetime.fromisoformat(text)
    except ValueError:
        raise MomentInvalid(field="as_of") from None
    if timestamp.tzinfo is None:
        raise MomentInvalid("`as_of` lacks the offset of its time, such as Z or +02:00.", field="as_of")
    return timestamp
