"""Statuses of an answer that are delivered work."""

SUCCESS_MAX = 399
# The call is to be sent to another address: nothing was done for it. A 303 names the result of work that was done.
SENT_ELSEWHERE = frozenset({301, 302, 307, 308})


def is_delivered(status: int) -> bool:
    """Return whether an answer with this status, and no other word on its outcome, is paid for."""
    return status <= SUCCESS_MAX and status not in SENT_ELSEWHERE
