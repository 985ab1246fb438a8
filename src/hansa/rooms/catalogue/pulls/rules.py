"""Places where an agent's card is looked for, the times of the next look, and the members of it that count.

- A host that the owner named is asked below its address. Without one the card's own A2A address is asked, and then the
  root of its host; a card found at the root is this agent's only when it names that address.
- Members that A2A has no word for (price, tags …) stay as the owner wrote them until the agent's own card has stated them.
"""

from collections.abc import Collection
from math import log
from typing import Any
from urllib.parse import urlsplit

from hansa.foundation.values.canonical import digest
from hansa.foundation.values.web_address import read_web_address, why_closed
from hansa.rooms.catalogue.mcp_servers.server_json import MCP

from .records import Addresses, Interface, Unserved

WELL_KNOWN = "/.well-known/agent-card.json"
WEEK_SECONDS = 7 * 24 * 3600
DAY_SECONDS = 24 * 3600
# Where nothing can be asked it is looked again now and then: the operator's settings may have changed.
LOOK_AGAIN_SECONDS = 3600
RECHECK_SECONDS = 60
HOUR_SECONDS = 3600
# One pause in 2,981 is cut, so that no agent is forgotten for hours.
PAUSE_MEANS_MAX = 8
DOUBLINGS_MAX = 40
OWNERS_MEMBERS = frozenset({"humanReadableId", "pricing", "tags", "endpoints", "extensions"})
SENTENCE_MAX = 300


def pull_pause(interval_seconds: int, failures: int) -> int:
    """Seconds until a card is pulled again that failed so often in a row."""
    return min(interval_seconds << min(failures, DOUBLINGS_MAX), WEEK_SECONDS)


def recheck_pause(interval_seconds: int, failures: int, most_seconds: int = HOUR_SECONDS) -> int:
    """Mean seconds until an agent is called again that failed so many health checks in a row.

    An hour at most: an agent that does not answer is measured about as often as one that does, so that its outage counts whole.
    """
    if not failures:
        return interval_seconds
    return min(RECHECK_SECONDS << min(failures - 1, DOUBLINGS_MAX), most_seconds)


def drawn(mean_seconds: float, uniform: float) -> float:
    """Return a pause of an exponential distribution, of a number drawn from [0, 1): the past calls say nothing about the next one."""
    return min(-log(1 - uniform), PAUSE_MEANS_MAX) * mean_seconds


def places_to_look(addresses: Addresses, allowed: Collection[str]) -> list[str] | Unserved:
    """Return the places that may serve the card, in the order to ask, or why nobody is asked. `allowed`: the operator's list."""
    bases = _bases(addresses)
    if not bases:
        return Unserved("no_interface_url", "The card names no web address.", was_attempted=False)
    address = read_web_address(bases[0])
    if address is None or why_closed(address, allowed) in {"internal_host", "odd_port"}:
        return Unserved("internal_host", "The host is never called: it is not public.", was_attempted=False)
    return [base + WELL_KNOWN for base in bases]


def is_at_the_root(url: str, addresses: Addresses) -> bool:
    """Return whether a card found there may be another agent's of the same host."""
    return addresses.host is None and url != _bases(addresses)[0] + WELL_KNOWN


def names(card: dict[str, Any], addresses: Addresses) -> bool:
    """Return whether a card states the address by which its agent was looked for."""
    own_urls = {_bare(one.url) for one in addresses.interfaces}
    return any(_bare(one["url"]) in own_urls for one in card["supportedInterfaces"])


def hash_of(document: dict[str, Any]) -> bytes:
    """Return the hash that distinguishes one served card from the next; an agent may sign the same card anew at each request."""
    return digest({name: value for name, value in document.items() if name != "signatures"})


def with_owners_members(
    served: dict[str, Any], stored: dict[str, Any], served_before: Collection[str]
) -> dict[str, Any]:
    """Return the served card with the members that its owner wrote and the agent has never stated itself."""
    kept = {name for name in OWNERS_MEMBERS & stored.keys() if name not in served_before}
    return {**{name: stored[name] for name in kept}, **served}


def says_the_same(stored: dict[str, Any], served_card: dict[str, Any]) -> bool:
    """Return whether the registry's document already holds the content of the served card."""
    return all(stored.get(name) == value for name, value in served_card.items())


def sentence_cut(text: str) -> str:
    """One line that can be kept."""
    return " ".join(text.split())[:SENTENCE_MAX]


def _bases(addresses: Addresses) -> list[str]:
    if addresses.host is not None:
        return [addresses.host]
    endpoint = _first_web_address(addresses.interfaces)
    if endpoint is None:
        return []
    parts = urlsplit(endpoint)
    return list(dict.fromkeys((_bare(endpoint), f"{parts.scheme}://{parts.netloc}")))


def _first_web_address(interfaces: tuple[Interface, ...]) -> str | None:
    """The address of an agent; below that of an MCP server no card is served."""
    return next((one.url for one in interfaces if one.binding != MCP and read_web_address(one.url)), None)


def _bare(url: str) -> str:
    """An address without query and final slash."""
    return url.partition("#")[0].partition("?")[0].rstrip("/")
