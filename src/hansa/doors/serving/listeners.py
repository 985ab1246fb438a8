"""The sockets on which a registry listens."""

import socket

import msgspec

from hansa.foundation.plumbing.settings import Settings

# The system keeps fewer (net.core.somaxconn).
BACKLOG = 65_535
# Left to itself the system takes megabytes for a peer that does not read, and each of them is made and copied for nothing.
SEND_BUFFER_BYTES = 256 << 10


class CannotListen(Exception):
    """An address cannot be listened on; the message is one line that names the settings."""


class Listeners(msgspec.Struct, frozen=True):
    """The sockets of a registry: the public one, and that of mutual TLS where there is one."""

    public: socket.socket
    federation: socket.socket | None

    def descriptors(self) -> list[int]:
        """For a process that shares them."""
        return [listener.fileno() for listener in (self.public, self.federation) if listener is not None]


def open_listeners(settings: Settings) -> Listeners:
    """The sockets that the settings ask for. Raises: CannotListen."""
    public = _named(settings.host, settings.port, "PORT")
    if settings.federation_port is None:
        return Listeners(public, None)
    return Listeners(public, _named(settings.host, settings.federation_port, "FEDERATION_PORT"))


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises: OSError, UnicodeError when the host is no name."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # The connections of a listening socket have its buffers.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    try:
        listener.bind((host, port))
    except (OSError, UnicodeError):
        listener.close()
        raise
    listener.listen(BACKLOG)
    return listener


def ready_line(settings: Settings) -> str:
    """Return the line that is printed once requests are accepted."""
    return f"ready {address_of(settings)}"


def address_of(settings: Settings) -> str:
    """Return the address at which the registry listens."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def _named(host: str, port: int, variable: str) -> socket.socket:
    try:
        return listen(host, port)
    except (OSError, UnicodeError) as error:
        reason = (getattr(error, "strerror", None) or "not a host name").lower()
        raise CannotListen(f"HANSA_HOST={host!r}, {variable}={port}: cannot bind: {reason}") from None
