"""Visits to the hosts of agents: their requests and their results."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import msgspec

from hansa.rooms.catalogue.mcp_servers.tools import Tools

Errand = Literal["pull", "liveness", "namespace"]
PullReason = Literal["updated", "unchanged", "internal_host", "no_interface_url", "attempted_failed"]
LivenessReason = Literal["alive", "unreachable", "unknown"]


class Interface(msgspec.Struct, frozen=True):
    """One interface of an agent, as its card states it; the binding in capital letters."""

    url: str
    binding: str
    version: str


class Addresses(msgspec.Struct, frozen=True):
    """Addresses of an agent: the host that its owner named, if any, and the interfaces of its card."""

    host: str | None
    interfaces: tuple[Interface, ...]


class Remembered(msgspec.Struct, frozen=True):
    """State that a pull keeps of the last answer."""

    found_at: str | None
    etag: str | None
    served_hash: bytes | None
    served_members: frozenset[str]
    served_version: int | None


class Planned(msgspec.Struct, frozen=True):
    """Place of the next visit, and the present time of the database."""

    place: str | None
    now: datetime


class StoredCard(msgspec.Struct, frozen=True):
    """The card as it is stored while the end of a visit is written."""

    did: str | None
    developer_id: int | None
    addresses: Addresses
    version: int
    is_host_verified: bool
    """Whether that was noted a short while ago."""


@dataclass(frozen=True)
class Served:
    """Answer of an agent's host: its card, word for word and as judged, or (both None) that it has not changed.

    `is_signed`: a signature of the agent's own is to be noted on the card.
    """

    found_at: str
    etag: str | None
    document: dict[str, Any] | None = field(repr=False, default=None)
    card: dict[str, Any] | None = field(repr=False, default=None)
    is_signed: bool = False
    jws: tuple[bytes, tuple[Any, ...]] | None = field(repr=False, default=None)
    """Payload and signatures of the JWS that the card was served as; None for plain JSON."""


class Unserved(msgspec.Struct, frozen=True):
    """Why there is no card, in a word and a sentence; `was_attempted`: somebody was asked."""

    reason: PullReason
    sentence: str
    was_attempted: bool = True


class Sign(msgspec.Struct, frozen=True):
    """Liveness of an agent that a call to it shows; the state None: nothing."""

    state: LivenessReason | None
    sentence: str | None = None


class Probed(msgspec.Struct, frozen=True):
    """Results of one probe: the liveness, and the tools of an imported MCP server where they were read.

    `milliseconds`: until the answer. `was_sent`: the agent was called, and not only its address looked at.
    """

    sign: Sign
    tools: Tools | None = None
    milliseconds: float = 0.0
    was_sent: bool = True


class MirroredAgent(msgspec.Struct, frozen=True):
    """Agent of a peer, as its mirrored card has it."""

    did: str
    addresses: Addresses
    needs_credentials: bool


class Found(msgspec.Struct, frozen=True):
    """Result of a look for the proof of a namespace; `was_asked`: the domain was asked."""

    state: Literal["verified", "absent", "unanswered", "unprovable"]
    sentence: str | None = None
    was_asked: bool = True


class MadeVisit(msgspec.Struct, frozen=True):
    """Visit to the host of an agent that succeeded or failed; `sentence` says why it failed."""

    did: str
    errand: Errand
    outcome: str
    succeeded: bool
    sentence: str | None


class Failing(msgspec.Struct, frozen=True):
    """A card whose pull fails."""

    card_id: int
    did: str
    place: str | None
    reason: str
    failures: int
    trouble: str | None
    attempted_at: datetime | None
    due_at: datetime


class Cycle(msgspec.Struct, frozen=True):
    """The status of the pulls at one point in time."""

    as_of: datetime
    cards: int
    due: int
    under_way: int
    outcomes: dict[str, int]
    attempted: int
    succeeded: int
    changed: int
    liveness: dict[str, int]
    failing: list[Failing]
