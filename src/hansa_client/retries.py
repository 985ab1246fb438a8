"""When a request may be sent again.

- A request that never reached the registry, and one that a rate limit refused (429), is always safe to repeat.
- After a lost answer, or a 502, 503 or 504, only a repeatable request is: a reading, a call that states a final state,
  or one with an Idempotency-Key, which is made once per intent and is the same in every attempt.
"""

import random
from dataclasses import dataclass

import httpx2

from .errors import KeyInProgress, Refusal

TOO_MANY_REQUESTS = 429
UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
OF_THE_SERVER = 500
"""From this status on an answer does not decide: the server, or a proxy before it, failed before, while or after it acted."""
OF_A_GATEWAY = frozenset({502, 503, 504})


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently; `attempts` counts the first one, 1 means no retry."""

    attempts: int = 5
    first_pause_seconds: float = 0.2
    pause_seconds_max: float = 15.0

    def pause(self, failed_attempts: int, retry_after_seconds: float | None = None) -> float | None:
        """The pause before the next attempt; None when there is none, or when the registry asks for a longer wait."""
        if failed_attempts >= self.attempts:
            return None
        if retry_after_seconds is not None:
            return retry_after_seconds if retry_after_seconds <= self.pause_seconds_max else None
        longest = self.first_pause_seconds * 2.0 ** (failed_attempts - 1)
        # Clients that failed together do not return together.
        bound: float = min(longest, self.pause_seconds_max)
        return bound * random.uniform(0.5, 1)  # noqa: S311


def may_repeat(refusal: Refusal, *, is_repeatable: bool) -> bool:
    """Return whether the same request may be sent again after this refusal."""
    if refusal.status == TOO_MANY_REQUESTS:
        return True
    return is_repeatable and (refusal.status in OF_A_GATEWAY or isinstance(refusal, KeyInProgress))
