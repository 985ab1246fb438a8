"""Proxies of the operator, whose forwarded addresses and certificates count: the addresses and networks of TRUSTED_PROXIES."""

from collections.abc import Collection
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

ADDRESSES_REMEMBERED = 4096


def is_proxy(address: str, proxies: Collection[str]) -> bool:
    """Return whether an address is one of these, or lies in one of these networks."""
    if address in proxies:
        return True
    networks = tuple(one for one in proxies if "/" in one)
    return bool(networks) and _lies_in(address, networks)


@lru_cache(maxsize=ADDRESSES_REMEMBERED)
def _lies_in(address: str, networks: tuple[str, ...]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return any(parsed in ip_network(network) for network in networks)
