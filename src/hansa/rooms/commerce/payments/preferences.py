"""`Prefer: wait=N` (RFC 7240): how long a client is ready to wait for the outcome."""

import re
from typing import Annotated

from fastapi import Header

WAIT_MAX_SECONDS = 30
PREFER_MAX_CHARACTERS = 256

_WAIT = re.compile(r"(?:^|,)\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?=[;,]|$)", re.ASCII | re.IGNORECASE)

Preference = Annotated[
    str | None,
    Header(
        alias="Prefer",
        max_length=PREFER_MAX_CHARACTERS,
        description="`wait=N`: answer with the outcome, after up to N seconds; more than 30 count as 30.",
    ),
]


def wait_seconds(preference: str | None) -> int | None:
    """The seconds that a Prefer header names; None where it names none."""
    found = _WAIT.search(preference) if preference else None
    return min(int(found.group(1)), WAIT_MAX_SECONDS) if found else None


def applied(wait: int | None) -> list[tuple[bytes, bytes]]:
    """The header field of the answer to a Prefer header that named so many seconds."""
    return [] if wait is None else [(b"preference-applied", b"wait=%d" % wait)]
