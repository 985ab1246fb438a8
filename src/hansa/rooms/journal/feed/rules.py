"""Channels of the feed: their names, the followers allowed on each, and the channels on which an event is sent."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from hansa.foundation.events import (
    NOT_EMITTED_YET,
    AgentRevoked,
    AgentSuspended,
    ListingEvent,
    event_types,
)
from hansa.rooms.journal.parties import accounts_moved, parties_of

from .errors import ChannelNeedsCredential, ChannelRefused, ChannelUnknown, OriginRefused

EVERYTHING = "events:all"
BALANCES = "balance:updates"
OF_TYPE, OF_AGENT, OF_BALANCE, OF_LISTING = "events:", "agent:", "balance:", "listing:"

_STOPPING = frozenset({AgentRevoked.__name__, AgentSuspended.__name__})
_OF_LISTINGS = frozenset(kind.__name__ for kind in event_types() if issubclass(kind, ListingEvent))
_REF = re.compile(r"[A-Z0-9]{2,8}", re.ASCII)
_TYPES = NOT_EMITTED_YET | {kind.__name__ for kind in event_types()}


class Follower(msgspec.Struct, frozen=True):
    """Holder of a socket: whether it came with a credential, and the DID if that is an agent's.

    `owned` are a developer's own agents, of those whose channels are in question.
    """

    is_known: bool = False
    did: str | None = None
    owned: frozenset[str] = frozenset()

    def may_follow(self, did: str) -> bool:
        """Return whether the channel of this agent is the holder's: its own, or that of an agent it owns."""
        return did == self.did or did in self.owned


class Channel(msgspec.Struct, frozen=True):
    """Channel of the feed: `name` is its name for clients, `key` the key under which its events are filed."""

    name: str
    key: str


def is_private(name: str) -> bool:
    """Return whether a channel of this name would need a credential."""
    return name == BALANCES or name.startswith(OF_AGENT)


def has_no_replay(name: str) -> bool:
    """Return whether a channel begins with the next event: the book of its listing is read after the subscription."""
    return name.startswith(OF_LISTING)


def agents_named_by(names: Iterable[str]) -> list[str]:
    """The DIDs of the agents whose channels are among these; whether there are such agents is not checked here."""
    return [name.removeprefix(OF_AGENT) for name in names if name.startswith(OF_AGENT)]


def channel_for(follower: Follower, name: str) -> Channel:
    """The channel that `follower` means by `name`.

    Raises: ChannelUnknown, ChannelNeedsCredential, ChannelRefused.
    """
    if name == EVERYTHING or (name.startswith(OF_TYPE) and name.removeprefix(OF_TYPE) in _TYPES):
        return Channel(name, name)
    if has_no_replay(name) and _REF.fullmatch(name.removeprefix(OF_LISTING)):
        return Channel(name, name)
    if not is_private(name):
        raise ChannelUnknown
    if not follower.is_known:
        raise ChannelNeedsCredential
    if name == BALANCES and follower.did is not None:
        return Channel(name, OF_BALANCE + follower.did)
    if name == BALANCES or not follower.may_follow(name.removeprefix(OF_AGENT)):
        # The same for an agent of somebody else as for one that there is not.
        raise ChannelRefused
    return Channel(name, name)


def keys_of(event_type: str, aggregate_id: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys under which an event is filed: everything, its type, each agent it speaks of, each balance it moves, its listing."""
    return keys_under(event_type, parties_of(event_type, aggregate_id, data), data)


def keys_under(event_type: str, parties: Iterable[str], data: Mapping[str, Any]) -> tuple[str, ...]:
    """The same of an event whose parties are known."""
    return (
        EVERYTHING,
        OF_TYPE + event_type,
        *(OF_AGENT + did for did in parties),
        *(OF_BALANCE + did for did in accounts_moved(event_type, data)),
        *((OF_LISTING + data["ref"],) if event_type in _OF_LISTINGS and "ref" in data else ()),
    )


def agent_of(key: str) -> str | None:
    """The agent whose events are filed under this key; None for a key of the public."""
    for prefix in (OF_AGENT, OF_BALANCE):
        if key.startswith(prefix):
            return key.removeprefix(prefix)
    return None


def private_keys_stopped_by(event_type: str, did: str) -> tuple[str, ...]:
    """The keys under which the agent that the event is about may follow nothing any more; its owner may."""
    return (OF_AGENT + did, OF_BALANCE + did) if event_type in _STOPPING else ()


def require_own_origin(origin: str | None, *, host: str, base_url: str) -> None:
    """Browsers name the origin of the page; only pages of the registry itself get in. Raises: OriginRefused.

    Nothing but the token in the query admits, so a foreign page could borrow no rights. It could borrow the place in
    the network that its reader's browser has, and the plain reads of the registry are closed to it as well.
    """
    if origin is None:
        return
    own = urlsplit(base_url)
    if origin != f"{own.scheme}://{own.netloc}" and origin.partition("://")[2] != host:
        raise OriginRefused
