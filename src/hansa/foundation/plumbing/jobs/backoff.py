"""Delay before a failed job is retried, and the text that is stored of its error. No I/O."""

import random

from .kinds import GiveUp, PutOff, Retries

# Jobs that failed together are not all retried at one moment.
JITTER = 0.1
DOUBLINGS_MAX = 30
ERROR_MAX_CHARACTERS = 500


def pause_after(retries: Retries, attempts: int, jitter: float) -> float:
    """Seconds until a job that has failed `attempts` times in a row is retried; `jitter` is from -1 to 1."""
    doublings = min(max(attempts, 1) - 1, DOUBLINGS_MAX)
    return min(retries.pause_seconds * 2.0**doublings, retries.pause_max_seconds) * (1 + JITTER * jitter)


def next_pause(retries: Retries, attempts: int, error: BaseException) -> float | None:
    """Seconds until the next attempt; None when there is none."""
    is_last = retries.attempts_max is not None and attempts >= retries.attempts_max
    if is_last or isinstance(error, GiveUp):
        return None
    return pause_after(retries, attempts, random.uniform(-1, 1))  # noqa: S311


def error_of(error: BaseException) -> str:
    """Return the error text for operators: the reason of an expected failure; of any other its class alone, which holds no values."""
    if isinstance(error, PutOff | GiveUp):
        return str(error)[:ERROR_MAX_CHARACTERS]
    return type(error).__name__
