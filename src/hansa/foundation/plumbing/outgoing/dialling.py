"""Connections to other hosts: the address guard, where the connection is made.

A name is resolved once, every address that it has is checked, and a checked one is connected to. TLS and the Host header
go on speaking of the name, so that nothing is lost by it, and a second, different answer of DNS is never asked for.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv6Address, ip_address
from time import monotonic

import httpcore2

from hansa.foundation.values.web_address import is_odd_port, is_public_host, is_public_ip, place

from .errors import AddressRefused, HostUnreachable, NameUnknown

# A lookup goes on in its thread when its call is given up: hosts with slow name servers must not use them all up.
LOOKUP_THREADS = 64
ADDRESSES_TRIED = 4

Lookup = Callable[[str, int], Awaitable[list[str]]]
"""The internet addresses of a host name, in the order to try. Raises: OSError."""


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to public hosts, and to the `host:port` pairs that the operator lets through."""

    def __init__(self, allowed: Collection[str], lookup: Lookup | None = None) -> None:
        self._allowed = frozenset(allowed)
        self._lookup = lookup or SystemLookup()
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raises: AddressRefused, NameUnknown, HostUnreachable."""
        until = monotonic() + timeout if timeout is not None else None
        addresses = (await self._checked_addresses(host.lower(), port))[:ADDRESSES_TRIED]
        for position, address in enumerate(addresses):
            # A dead address leaves time for those after it.
            share = (until - monotonic()) / (len(addresses) - position) if until is not None else None
            try:
                return await self._network.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        raise HostUnreachable

    async def _checked_addresses(self, host: str, port: int) -> list[str]:
        bare = host.removesuffix(".")
        if place(bare, port) in self._allowed:
            return await self._addresses(bare, port)
        if not is_public_host(bare):
            raise AddressRefused("internal_host")
        if is_odd_port(port):
            raise AddressRefused("odd_port")
        literal = _literal(bare)
        # The dot at the end keeps the resolver from trying the name below the registry's own domain.
        found = [bare] if literal else await self._addresses(f"{bare}.", port)
        # One private address among public ones is a sign of what is tried here: none of them is connected to.
        if not all((address := _literal(text)) and is_public_ip(address) for text in found):
            raise AddressRefused("internal_host")
        return found

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            found = await self._lookup(host, port)
        except (OSError, UnicodeError):
            found = []
        if not found:
            raise NameUnknown
        return list(dict.fromkeys(found))


class SystemLookup:
    """The resolver of the system, in threads of its own: slow name servers hold up nothing but calls to others."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUP_THREADS, thread_name_prefix="lookup")

    async def __call__(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _resolve, host, port)
        return [str(entry[4][0]) for entry in found]


def _resolve(host: str, port: int) -> list[tuple[int, int, int, str, tuple[str | int, ...]]]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)  # type: ignore[return-value]


def _literal(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
