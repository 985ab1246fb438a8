"""Web addresses that were given by users, and which of them the registry may dial.

- An address is judged twice by these rules: by its text when it is taken, and by the internet address connected to
  when it is dialled. The address of a name is known only then.
- A literal IPv4 address is taken in its one usual spelling. Resolvers read many more (`127.1`, `0x7f.1`,
  `2130706433`, circled digits), and no two programs agree on all of them.
- `allowed` holds the `host:port` pairs that the operator lets through, private and without TLS as they may be.
"""

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Literal
from urllib.parse import SplitResult, quote, urlsplit

import msgspec

from hansa.foundation.values.errors import HostRefused

URL_MAX_CHARACTERS = 2048
HOST_MAX_CHARACTERS = 253
DEFAULT_PORTS = {"http": 80, "https": 443}
PRIVATE_SUFFIXES = ("local", "invalid", "test", "example", "localhost", "internal", "onion", "home.arpa")
FIRST_PORT_FOR_ALL = 1024
# Above the ports that belong to the system stand those of databases, caches and mail relays, X11 and IRC.
# An answer there is never a web page, and a request may be read as a command.
OTHER_PROTOCOLS = frozenset(
    {1433, 1521, 1719, 1720, 1723, 2049, 2375, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5900, 6000}
    | {6379, 6566, *range(6665, 6670), 6697, 9042, 9200, 9300, 10080, 11211, 27017}
)

Closed = Literal["not_a_web_address", "internal_host", "odd_port", "plain_http"]
"""Why an address is not dialled."""

_SENTENCES: dict[Closed, str] = {
    "not_a_web_address": "This is not an http or https address without credentials and fragment.",
    "internal_host": "The host is not a public http or https address; the registry does not call it.",
    "odd_port": "The port belongs to a protocol other than http; the registry does not call it.",
    "plain_http": "Only https is called; plain http never is.",
}
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


class WebAddress(msgspec.Struct, frozen=True):
    """An absolute http or https address. `host` is lower-case, without brackets and final dot."""

    url: str
    scheme: str
    host: str
    port: int

    @property
    def place(self) -> str:
        """`host:port`, as it stands in `allowed`."""
        return place(self.host, self.port)


def read_web_address(text: str) -> WebAddress | None:
    """The address that a user wrote, or None: it is too long, or no address, or carries credentials or a fragment."""
    if len(text) > URL_MAX_CHARACTERS or not is_http_url(text) or "#" in text:
        return None
    parts = urlsplit(text)
    # Programs differ on what other letters in a host mean; names in other scripts come as xn--.
    if not parts.netloc.isascii():
        return None
    host = (parts.hostname or "").removesuffix(".")
    if "[" in parts.netloc and ":" not in host:
        return None
    return WebAddress(text, parts.scheme, host, parts.port or DEFAULT_PORTS[parts.scheme])


def why_closed(address: WebAddress, allowed: Collection[str]) -> Closed | None:
    """Why the address is not dialled, judged by its text alone; None: it may be."""
    if address.place in allowed:
        return None
    if not is_public_host(address.host):
        return "internal_host"
    if is_odd_port(address.port):
        return "odd_port"
    return "plain_http" if address.scheme == "http" else None


def require_callable(text: str, allowed: Collection[str], *, field: str) -> WebAddress:
    """The address in `text`, which may be dialled as far as its text shows.

    Raises: HostRefused, naming `field`.
    """
    address = read_web_address(text)
    closed = why_closed(address, allowed) if address else "not_a_web_address"
    if address is None or closed:
        raise HostRefused(_SENTENCES[closed or "not_a_web_address"], field=field)
    return address


def is_http_url(text: str) -> bool:
    """Return whether the text is an absolute http or https URL without credentials."""
    try:
        parts = urlsplit(text)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return _has_the_shape(parts) and port_is_fine and not _CONTROL.search(text)


def dialled(url: object) -> str | None:
    """An http or https address as it goes over the wire, ASCII all through; None: it is nothing to dial."""
    if not isinstance(url, str) or not is_http_url(url):
        return None
    parts = urlsplit(url)
    try:
        host = parts.netloc.encode("idna").decode() if not parts.netloc.isascii() else parts.netloc
    except UnicodeError:
        return None
    rest = "".join(
        sign + quote(part, safe="/?[]@!$&'()*+,;=:%~-._")
        for sign, part in (("", parts.path), ("?", parts.query), ("#", parts.fragment))
        if part
    )
    return f"{parts.scheme}://{host}{rest}"


def is_public_host(host: str) -> bool:
    """Return whether a host name or literal address is public by its text; lower-case, without brackets and final dot."""
    if ":" in host:
        try:
            return is_public_ip(IPv6Address(host))
        except ValueError:
            return False
    if not _NAME.fullmatch(host) or len(host) > HOST_MAX_CHARACTERS:
        return False
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        try:
            return is_public_ip(IPv4Address(host))
        except ValueError:
            return False
    return "." in host and not any(host.endswith("." + suffix) for suffix in PRIVATE_SUFFIXES)


def is_host(host: str) -> bool:
    """Return whether the text is a host name or a literal IPv6 address, public or not; without brackets and final dot."""
    if ":" in host:
        try:
            IPv6Address(host)
        except ValueError:
            return False
        return True
    return _NAME.fullmatch(host) is not None and len(host) <= HOST_MAX_CHARACTERS


def is_public_ip(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an internet address is one of a public host."""
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _CLOSED_IPV4)
    return (
        address.scope_id is None
        and address in _OPEN_IPV6
        and not any(address in block for block in _CLOSED_IPV6)
    )


def is_odd_port(port: int) -> bool:
    """Return whether the port is one where something else than a web server is to be expected."""
    return port in OTHER_PROTOCOLS or (port < FIRST_PORT_FOR_ALL and port not in DEFAULT_PORTS.values())


def place(host: str, port: int) -> str:
    """`host:port`, with brackets around a host that holds colons."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _has_the_shape(parts: SplitResult) -> bool:
    return parts.scheme in DEFAULT_PORTS and bool(parts.hostname) and "@" not in parts.netloc
