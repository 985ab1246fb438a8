"""Outcome of the paid work in a response. No I/O."""

from collections.abc import Mapping
from enum import Enum

from hansa_client.delivery import is_delivered

OUTCOME_HEADER = "x-payment-outcome"

PAYMENT_REQUIRED = 402
# What these statuses say is not about the work; the same request with the same token is repeated.
REPEATED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class Reading(Enum):
    """The outcome of a paid call."""

    DELIVERED = "delivered"
    FAILED = "failed"
    REFUSED = "refused"
    """The service did not accept the payment."""
    UNKNOWN = "unknown"
    """The work may have been done, or may still be under way; ask again with the same token."""


def read_outcome(status: int, headers: Mapping[str, str]) -> Reading:
    """Return the stated outcome where there is one; else the one that the status of an ordinary service means."""
    stated = headers.get(OUTCOME_HEADER)
    if status == PAYMENT_REQUIRED:
        return Reading.REFUSED
    if stated == "delivered":
        return Reading.DELIVERED
    if stated == "failed":
        return Reading.FAILED
    if status in REPEATED:
        return Reading.UNKNOWN
    return Reading.DELIVERED if is_delivered(status) else Reading.FAILED


def pause_before_repeat(headers: Mapping[str, str], attempt: int) -> float:
    """Seconds to wait, as the service asks or rising from a fifth of a second."""
    stated = headers.get("retry-after", "")
    if stated.isascii() and stated.isdecimal():
        return min(float(stated), 30.0)
    return min(0.2 * 2.0**attempt, 5.0)
