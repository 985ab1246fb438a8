"""Which hosts may be pulled, judged by their text alone.

An address in any spelling (decimal, octal, hexadecimal, shortened) is read as the system resolver would read it.
This refuses early what can never be pulled; the pull itself checks the address connected to.
"""

import re
import socket
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import SplitResult, urlsplit

from .errors import HostRefused

URL_MAX_CHARACTERS = 2048
HOST_MAX_CHARACTERS = 253
DEFAULT_PORTS = {"http": 80, "https": 443}
PRIVATE_SUFFIXES = ("local", "invalid", "test", "example", "localhost", "internal", "onion", "home.arpa")

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x20\x7f\\]")

_CLOSED_IPV4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
# Only global unicast is open at all, so mapped, compatible, NAT64, unique local and link-local forms fall outside;
# of the rest Teredo and its like, documentation and 6to4 are closed.
_OPEN_IPV6 = IPv6Network("2000::/3")
_CLOSED_IPV6 = tuple(IPv6Network(block) for block in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))


def pullable_host(host: str, allowed: Collection[str] = ()) -> str:
    """The address to pull below, without a trailing slash. `allowed` holds `host:port` pairs that are let through.

    Raises: HostRefused.
    """
    parts = _parts(host.strip())
    try:
        port = parts.port or DEFAULT_PORTS[parts.scheme]
    except ValueError:
        raise HostRefused("The port of the host is not a number up to 65535.", field="agent_host") from None
    name = (parts.hostname or "").removesuffix(".")
    if f"{name}:{port}" not in allowed and not is_public(name):
        raise HostRefused(field="agent_host")
    return parts.geturl().rstrip("/")


def is_http_url(text: str) -> bool:
    """Whether the text is an absolute http or https URL without credentials."""
    try:
        parts = urlsplit(text)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        return False
    shape = parts.scheme in DEFAULT_PORTS and bool(parts.hostname) and "@" not in parts.netloc
    return shape and port_is_fine and not _CONTROL.search(text)


def is_public(name: str) -> bool:
    """Whether a host name or literal address may be pulled; `name` is lower-case and without brackets."""
    if ":" in name:
        return _is_public_ipv6(name)
    if not _NAME.fullmatch(name) or len(name) > HOST_MAX_CHARACTERS:
        return False
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _is_public_ipv4(name)
    return "." in name and not any(name.endswith("." + suffix) for suffix in PRIVATE_SUFFIXES)


def _parts(host: str) -> SplitResult:
    if len(host) > URL_MAX_CHARACTERS or not is_http_url(host):
        raise HostRefused("The host is not an http or https URL without credentials.", field="agent_host")
    parts = urlsplit(host)
    if parts.query or parts.fragment:
        raise HostRefused("The host carries a query or fragment.", field="agent_host")
    return parts


def _is_public_ipv4(text: str) -> bool:
    try:
        address = IPv4Address(socket.inet_aton(text))
    except OSError:
        return False
    return not any(address in block for block in _CLOSED_IPV4)


def _is_public_ipv6(text: str) -> bool:
    try:
        address = IPv6Address(text)
    except ValueError:
        return False
    return (
        address.scope_id is None
        and address in _OPEN_IPV6
        and not any(address in block for block in _CLOSED_IPV6)
    )
