"""Deadlines of the specification, on a machine with much else to do: they hold for the quickest of several attempts."""

import time
from collections.abc import Awaitable, Callable

ATTEMPTS_MAX = 20


async def assert_within(
    seconds: float, prepare_attempt: Callable[[], Awaitable[Callable[[], Awaitable[object]]]]
) -> None:
    """Attempt it until one attempt is quick enough.

    `prepare_attempt` does the unmeasured work, and returns the measured call.
    """
    taken: list[float] = []
    while len(taken) < ATTEMPTS_MAX and min(taken, default=seconds) >= seconds:
        attempt = await prepare_attempt()
        started = time.monotonic()
        await attempt()
        taken.append(time.monotonic() - started)
    assert min(taken) < seconds, taken
