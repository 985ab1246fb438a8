"""Result of the acceptance of an invitation: the peer, and whether it reaches this registry in turn."""

import msgspec
from pydantic import Field

from hansa.rooms.federation.peers import PeerOut, PeerRecord, PeerView


class Accepted(msgspec.Struct, frozen=True):
    """The registry that invited, and whether it reaches this one; None where it did not state that. `trouble`: why not."""

    peer: PeerRecord
    reaches_us: bool | None = None
    trouble: str | None = None


class AcceptedOut(PeerOut):
    """The registry that invited, as a peer."""

    reaches_us: bool | None = Field(
        description="Whether the peer has read this registry over mutual TLS; null where it did not state that."
    )
    trouble_of_peer: str | None = Field(
        description="Why it could not, or what it refused of the documents of this registry."
    )

    @classmethod
    def of_accepted(cls, view: PeerView, accepted: Accepted) -> "AcceptedOut":
        """The peer as it is shown, with the outcome."""
        shown = dict(PeerOut.of(view))
        return cls(**shown, reaches_us=accepted.reaches_us, trouble_of_peer=accepted.trouble)
