"""Rules of tickets: their states, their limits, their texts."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from hansa.foundation.values.secret_forms import without_secrets

from .records import Status, Ticket

OPEN_MAX = 10
HOURLY_MAX = 20
THREAD_MAX = 200
CLOSE_DAYS, REOPEN_DAYS = 7, 14
SUBJECT_MIN, SUBJECT_MAX = 3, 150
BODY_MAX_BYTES = 8192
ANSWERS_SEALED_FOR = "answer with a ticket"
"""Purpose under which answers with texts of tickets are stored for a repeated request."""

LIVE: tuple[Status, ...] = ("open", "waiting_for_user")
"""States that count as open, and that take messages."""

BY_SUPPORT: Mapping[Status, tuple[Status, ...]] = {
    "open": ("waiting_for_user", "resolved"),
    "waiting_for_user": ("open", "resolved"),
    "resolved": ("open", "closed"),
    "closed": ("open",),
}
"""States that the support may lead to from each state."""


def clean_subject(text: str) -> str:
    """Return the subject as it is stored: one line without secrets, cut to its maximum."""
    # A cut before the search would break the form by which a secret is found.
    return " ".join(without_secrets(text).split())[:SUBJECT_MAX].rstrip()


def clean_body(text: str) -> str:
    """Return the text as it is stored: without secrets, cut to its maximum."""
    return without_secrets(text).encode()[:BODY_MAX_BYTES].decode(errors="ignore")


def is_live(ticket: Ticket) -> bool:
    """Return whether the ticket counts as open and takes messages."""
    return ticket.status in LIVE


def may_reopen(ticket: Ticket, now: datetime) -> bool:
    """Return whether a resolved or closed ticket may be open again at this moment."""
    if ticket.status == "closed":
        assert ticket.closed_at is not None
        return now <= ticket.closed_at + timedelta(days=REOPEN_DAYS)
    return ticket.status == "resolved"
