"""State of this process for the service manager that started it: the protocol of sd_notify, one datagram for each state.

- Nothing is sent without NOTIFY_SOCKET. A manager that cannot be reached is no reason not to serve.
- With WATCHDOG_USEC the registry reports twice in that time that it answers requests; a manager restarts it when the reports end.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing

import structlog

from hansa.foundation.plumbing.settings import Settings

VARIABLE = "NOTIFY_SOCKET"
READY = "READY=1"
STOPPING = "STOPPING=1"
ALIVE = "WATCHDOG=1"
ANSWER_TIMEOUT_SECONDS = 5
MICROSECONDS = 1_000_000

_log = structlog.get_logger()


def report_ready(line: str) -> None:
    """Print the ready line, and report to the service manager that requests are accepted."""
    print(line, flush=True)  # noqa: T201
    notify(READY)


def notify(state: str) -> None:
    """Report a state of this process to its service manager, if it has one that waits for that."""
    address = os.environ.get(VARIABLE, "")
    # An abstract name begins with a zero byte, for which the variable has an @.
    place = f"\0{address[1:]}" if address.startswith("@") else address
    if not place.startswith(("/", "\0")):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
            manager.sendto(state.encode(), place)
    except OSError as error:
        _log.warning("the service manager cannot be notified", state=state, trouble=str(error))


@asynccontextmanager
async def reported_alive(settings: Settings) -> AsyncIterator[None]:
    """Report to the watchdog of the service manager meanwhile, if it has one, while the registry answers."""
    interval = watchdog_seconds(os.environ)
    if interval is None:
        yield
        return
    reporting = asyncio.create_task(_report_alive(settings, interval / 2))
    try:
        yield
    finally:
        reporting.cancel()
        await asyncio.wait([reporting])


async def answers(settings: Settings) -> bool:
    """Return whether a process of this registry answers a request."""
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
            reader, writer = await asyncio.open_connection(settings.host, settings.port)
            with closing(writer):
                writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = await reader.readline()
    except (OSError, TimeoutError):
        return False
    return b" 200 " in answer


def watchdog_seconds(environment: Mapping[str, str]) -> float | None:
    """The time within which the manager of this very process expects a report; None where it expects none."""
    given, pid = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", str(os.getpid()))
    is_meant = given.isdecimal() and int(given) > 0 and pid == str(os.getpid())
    return int(given) / MICROSECONDS if is_meant else None


async def _report_alive(settings: Settings, interval_seconds: float) -> None:
    while True:
        await asyncio.sleep(interval_seconds)
        if await answers(settings):
            notify(ALIVE)
