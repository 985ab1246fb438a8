"""The host of an agent, below which its card will be read.

A private host is accepted: the agent is created, its card is never read, and the pull status says `internal_host`.
Plain http is accepted as well; whether the registry calls it is the operator's decision.
"""

from collections.abc import Collection
from urllib.parse import urlsplit

from hansa.foundation.values.errors import HostRefused
from hansa.foundation.values.web_address import is_host, read_web_address, why_closed


def host_address(host: str, allowed: Collection[str] = ()) -> str:
    """The address to read below, without a trailing slash. `allowed` holds `host:port` pairs that may be called.

    Raises: HostRefused.
    """
    address = read_web_address(host.strip())
    if address is None or not is_host(address.host):
        raise HostRefused(
            "agent_host must be an http or https address without credentials or fragment.",
            field="agent_host",
        )
    if "?" in address.url:
        raise HostRefused("agent_host must not have a query.", field="agent_host")
    if why_closed(address, allowed) == "odd_port":
        raise HostRefused(
            f"Port {address.port} belongs to a protocol other than http; the registry does not call it.",
            field="agent_host",
        )
    return urlsplit(address.url).geturl().rstrip("/")
