"""`Prefer: wait=N` (RFC 7240): how long a client is ready to wait for the outcome."""

import re
from typing import Annotated

from fastapi import Depends, Header, Request

WAIT_MAX_SECONDS = 30

_WAIT = re.compile(r"(?:^|,)\s*wait\s*=\s*\"?([0-9]+)\"?\s*(?=[;,]|$)", re.ASCII | re.IGNORECASE)


async def _preferred(
    request: Request,
    _: Annotated[
        str | None,
        Header(
            alias="Prefer",
            description="`wait=N`: answer with the outcome, after up to N seconds; more than 30 count as 30.",
        ),
    ] = None,
) -> int | None:
    """The seconds to wait of all the Prefer headers of a request."""
    declared = request.headers.getlist("prefer")
    return wait_seconds(", ".join(declared)) if declared else None


WaitSeconds = Annotated[int | None, Depends(_preferred)]


def wait_seconds(preference: str) -> int | None:
    """The seconds that a Prefer header names; None where it names none."""
    found = _WAIT.search(preference)
    if found is None:
        return None
    # Three digits decide whether it is more than the maximum; an integer has no room for as many as a header has.
    return min(int(found.group(1).lstrip("0")[:3] or "0"), WAIT_MAX_SECONDS)


def applied(wait: int | None) -> list[tuple[bytes, bytes]]:
    """The header field of the answer to a Prefer header that named so many seconds."""
    return [] if wait is None else [(b"preference-applied", b"wait=%d" % wait)]
