"""State of this process for the service manager that started it: the protocol of sd_notify, one datagram for each state.

Nothing is sent without NOTIFY_SOCKET. A manager that cannot be reached is no reason not to serve.
"""

import os
import socket

import structlog

VARIABLE = "NOTIFY_SOCKET"
READY = "READY=1"
STOPPING = "STOPPING=1"

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
